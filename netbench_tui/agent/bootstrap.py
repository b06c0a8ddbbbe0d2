"""Runs first on the host: turns the received {module: source} into the importable package `netbench_agent`.

hosts/payload.py starts `python3 -I -S -c STAGE0 SIZE`, which reads SIZE bytes of compressed JSON from standard input
into the name `payload` and executes this module's source. Tracebacks show our lines, since linecache is fed. Every
connect pays for what is imported here: importlib.abc and importlib.util bring dozens of modules that we do not need.
"""

import importlib
import importlib.machinery
import linecache
import sys

PACKAGE = "netbench_agent"


class MemoryImporter(object):
    """Finds and loads modules of PACKAGE from a dict of sources by dotted name; a package's own is `name.__init__`."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        inner = self._inner(name)
        if inner is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=inner.endswith("__init__"))

    def _inner(self, name):
        """The key of a module's source; None if it is none of ours."""
        if name != PACKAGE and not name.startswith(PACKAGE + "."):
            return None
        inner = name[len(PACKAGE) + 1 :]
        package = (inner + ".__init__").lstrip(".")
        return next((key for key in (inner, package) if key in self.sources), None)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = self._inner(module.__name__)
        source = self.sources[name]
        path = "<%s/%s.py>" % (PACKAGE, name.replace(".", "/"))
        linecache.cache[path] = (len(source), None, source.splitlines(True), path)
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - our own text, sent by the workbench


def start(sources):
    sys.meta_path.insert(0, MemoryImporter(sources))
    importlib.import_module(PACKAGE + ".main").main()


if "payload" in globals():
    start(globals()["payload"])
