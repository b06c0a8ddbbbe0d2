"""All generators, and the choice among them. Used by engine/runner.py and by the screens' lists."""

from netbench_tui.errors import TrafficImpossible
from netbench_tui.model.host import HostFacts
from netbench_tui.model.run import TrafficTest
from netbench_tui.traffic.base import Generator
from netbench_tui.traffic.builtin import Builtin
from netbench_tui.traffic.iperf3 import Iperf3

# In the order in which `auto` prefers them: the built-in one stands in where nothing else is.
GENERATORS: tuple[Generator, ...] = (Iperf3(), Builtin())


def choose(test: TrafficTest, sender: HostFacts, receiver: HostFacts) -> Generator:
    """The generator that `test` names, or the first that can run it. Raises TrafficImpossible with every reason."""
    named = [g for g in GENERATORS if test.generator in ("auto", g.name)]
    if not named:
        known = ", ".join(g.name for g in GENERATORS)
        raise TrafficImpossible(f"there is no generator {test.generator!r}", f"generators: auto, {known}")
    reasons = []
    for generator in named:
        reason = generator.refusal(test, sender, receiver)
        if not reason:
            return generator
        reasons.append(reason)
    raise TrafficImpossible("; ".join(reasons), "choose another generator, or install what is missing")
