"""What counts as taken, from what a host read back."""

import pytest

from netbench_tui.model.change import Outcome
from netbench_tui.model.host import Role


def outcome(key: str, asked: str | None, now: str, active: str = "", code: str = "") -> Outcome:
    return Outcome(Role.SENDER, "nic0", key, "0-3", asked, now, active=active, code=code)


@pytest.mark.parametrize(
    "asked, now, active, took, later",
    [
        ("2", "2", "", True, False),
        ("2-3", "2-3", "3", True, False),
        ("2", "2", "0", True, True),
        ("2", "2", "0-3", True, True),
        ("1,9", "1", "1", True, False),
        ("2", "0-3", "0", False, False),
        (None, "2", "0", True, False),
    ],
    ids=["there", "one of several", "lazy", "lazy from all", "offline one left out", "not taken", "moved along"],
)
def test_an_interrupt_that_moves_when_it_comes_next_took(
    asked: str | None, now: str, active: str, took: bool, later: bool
) -> None:
    found = outcome("queue.rx-0.irq_affinity", asked, now, active)
    assert (found.took, found.moves_later) == (took, later)


def test_a_feature_that_is_wanted_and_not_in_force_did_not_take() -> None:
    found = outcome("feature.rx-lro", "on", "on", active="off")
    assert not found.took and not found.moves_later


def test_what_was_refused_did_not_take() -> None:
    found = outcome("irq.config.irq_affinity", "2", "0-3", active="0", code="EIO")
    assert not found.took and not found.moves_later
