"""The areas by their keys. Modules are imported when their area is first seen. Used by the app."""

from collections.abc import Callable

from netbench_tui.tui.widgets.arranged import Area


def area_of(key: str, connected: bool) -> tuple[str, Callable[[], Area]]:
    """The widget id of an area, and what makes it. `hosts` is Connect until a pair is there."""
    if key == "features":
        from netbench_tui.tui.screens.features import FeaturesArea

        return "area-features", lambda: FeaturesArea(id="area-features")
    if key == "queues":
        from netbench_tui.tui.screens.queues import QueuesArea

        return "area-queues", lambda: QueuesArea(id="area-queues")
    if key == "topology":
        from netbench_tui.tui.screens.topology import TopologyArea

        return "area-topology", lambda: TopologyArea(id="area-topology")
    if key == "run":
        from netbench_tui.tui.screens.run import RunArea

        return "area-run", lambda: RunArea(id="area-run")
    if key == "history":
        from netbench_tui.tui.screens.history import HistoryArea

        return "area-history", lambda: HistoryArea(id="area-history")
    if connected:
        from netbench_tui.tui.screens.overview import OverviewArea

        return "area-overview", lambda: OverviewArea(id="area-overview")
    from netbench_tui.tui.screens.connect import ConnectArea

    return "area-connect", lambda: ConnectArea(id="area-connect")
