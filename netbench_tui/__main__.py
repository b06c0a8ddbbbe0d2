"""`python -m netbench_tui`, and the installed command `netbench-tui`."""

import gc
import sys


def main() -> int:
    # Imports make no garbage, and looking for it during the start costs a tenth of it. The workbench turns it on after
    # its first paint, a headless run when it begins; the short verbs end before it would matter.
    gc.disable()
    from netbench_tui.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
