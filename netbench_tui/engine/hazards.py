"""What a person should know before a change is made. Pure; used by the preview and by `set`."""

from collections.abc import Iterable, Iterator, Mapping

from netbench_tui.model.change import Change
from netbench_tui.model.host import Role
from netbench_tui.model.session import HostView

# Below it the kernel ends IPv6 on a NIC (IPV6_MIN_MTU).
LEAST_IPV6_MTU = 1280


def warnings(changes: Iterable[Change], views: Mapping[Role, HostView]) -> tuple[str, ...]:
    """One sentence for each NIC that shall be changed and carries the SSH connection to its host."""
    return tuple(dict.fromkeys(_warnings(changes, views)))


def _warnings(changes: Iterable[Change], views: Mapping[Role, HostView]) -> Iterator[str]:
    for change in changes:
        view = views.get(change.role)
        if view is None or not view.management_nic:
            continue
        if change.scope == view.management_nic:
            yield f"{view.name}: {change.scope} carries the SSH connection"
        elif change.scope in view.facts.below(view.management_nic):
            yield f"{view.name}: {change.scope} carries the SSH connection, below {view.management_nic}"


def losses(changes: Iterable[Change], views: Mapping[Role, HostView]) -> tuple[str, ...]:
    """One sentence for each NIC that would lose what putting the settings back does not bring back."""
    return tuple(dict.fromkeys(_losses(changes, views)))


def _losses(changes: Iterable[Change], views: Mapping[Role, HostView]) -> Iterator[str]:
    for change in changes:
        view = views.get(change.role)
        if view is None or change.key != "mtu" or not change.value.isdecimal() or int(change.value) >= LEAST_IPV6_MTU:
            continue
        for nic in view.facts.nics:
            stands_on = nic.name == change.scope or change.scope in view.facts.below(nic.name)
            lost = [address.text for address in nic.addresses if address.family == 6 and address.scope != "link"]
            if stands_on and lost:
                yield (
                    f"{view.name}: below an MTU of {LEAST_IPV6_MTU} the kernel takes {', '.join(lost)} from {nic.name}"
                    " for good"
                )
