"""Transactions on a driver on paper, and their guardian: trials, reports, and sequences of chance."""

import errno
import random
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from driver_on_paper import DEFAULT_CPUS, Bench

from netbench_tui.agent.changes import guard, guardian, reports

# Seconds of a trial that ends in the midst of other changes, and of one that does not.
SHORT_AND_LONG = (0.004, 10.0)


def test_a_trial_that_ends_while_the_agent_is_busy_makes_it_plan_anew(bench: Bench) -> None:
    bench.apply("feature.tso=off", kind="trial", seconds=0.05)
    deadline = time.monotonic() + 5
    while bench.driver.wanted["tso"] == "off":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    outcome = bench.outcomes("feature.tso=off")["feature.tso"]
    assert (outcome["old"], outcome["now"]) == ("on", "off")
    assert [event["why"] for event in bench.events] == ["the trial ended"]
    assert bench.transactions.held({})["entries"][0]["kind"] == "lease"


def test_trials_end_each_at_its_own_time(bench: Bench) -> None:
    bench.apply("ring.rx=512", kind="trial", seconds=30)
    bench.apply("feature.tso=off", kind="trial", seconds=0.05)
    bench.turn(lambda: bench.events)
    assert [entry["key"] for entry in bench.events[0]["entries"]] == ["feature.tso"]
    assert "ring.rx" in bench.held() and "feature.tso" not in bench.held()
    assert bench.driver.ring == "512"


def test_a_trial_of_the_channels_ends_as_a_whole(bench: Bench) -> None:
    bench.apply("queue.rx-0.irq_affinity=2")
    bench.apply("channels.combined=2", kind="trial", seconds=0.05)
    bench.turn(lambda: bench.events)
    assert bench.driver.cpus == {0: "2", 1: "1", 2: "2", 3: "3"}
    assert bench.held() == {"queue.rx-0.irq_affinity": ("0", "2")}


def test_the_end_of_the_agent_is_put_into_a_report(bench: Bench, guardians: list[threading.Thread]) -> None:
    bench.apply("channels.combined=2", "feature.sg=off")
    bench.transactions.guard._let_go()
    guardians[0].join(5)
    assert bench.driver.state() == bench.found
    (report,) = bench.transactions.reports({})["reports"]
    assert report["why"] == "the agent ended"
    assert {entry["state"] for entry in report["entries"]} == {"restored"}
    assert bench.transactions.reports({})["reports"] == []


def test_nothing_is_written_without_a_guardian(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*_: Any) -> None:
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(guardian, "fork", no_process)
    with pytest.raises(OSError):
        bench.apply("feature.tso=off")
    assert bench.driver.log == []


def test_a_guardian_that_does_not_answer_means_that_nothing_is_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = []
    monkeypatch.setattr(guard, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(guardian, "fork", lambda link, *_: links.append(link.dup()))
    with pytest.raises(OSError, match="does not answer"):
        bench.apply("feature.tso=off")
    assert bench.driver.log == []
    links[0].close()


def test_a_report_is_not_written_through_a_link_or_into_anothers_folder(tmp_path: Any) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    for name in ("link", "open"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reports, "folders", lambda name=name: [str(tmp_path / name)])
            with pytest.raises(OSError):
                reports.write("why", [])
            assert reports.take() == []
    assert not list((tmp_path / "elsewhere").iterdir()) and not list((tmp_path / "open").iterdir())


def test_old_reports_make_room_and_broken_ones_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(reports, "folders", lambda: [str(tmp_path / "r")])
    monkeypatch.setattr(reports, "MOST_REPORTS", 2)
    moments = iter([1.0e9 + second for second in range(9)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "time", SimpleNamespace(time=lambda: next(moments)))
        for number in range(3):
            reports.write(f"report {number}", [])
    (tmp_path / "r" / "restored-1-1.json").write_text('{"time": "never"')
    assert [report["why"] for report in reports.take()] == ["report 1", "report 2"]
    assert not (tmp_path / "r").exists()


def test_a_trial_that_ends_while_nothing_can_be_written_is_not_taken_for_our_doing(bench: Bench) -> None:
    """The guardian holds no plan then, so that it need not wait for us."""
    bench.apply("channels.combined=2")
    bench.apply("queue.rx-1.irq_affinity=1-2")
    bench.apply("queue.rx-1.irq_affinity=0", kind="trial", seconds=10)
    begin = bench.transactions._may_begin

    def begin_and_let_the_trial_end(entries: list[dict[str, Any]]) -> bool:
        begun = begin([dict(entry, **({"deadline": 0.0} if "deadline" in entry else {})) for entry in entries])
        deadline = time.monotonic() + 5
        while bench.driver.cpus[1] != "1-2" and time.monotonic() < deadline:
            time.sleep(0.001)
        return begun

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.transactions, "_may_begin", begin_and_let_the_trial_end)
        answer = bench.apply("queue.rx-4.irq_affinity=1-2", on_refusal="undo")
    assert [(row["key"], row["code"]) for row in answer["outcomes"]] == [("queue.rx-4.irq_affinity", "ENOENT")]
    assert bench.driver.cpus[1] == "1-2" and bench.held()["queue.rx-1.irq_affinity"] == ("1", "1-2")
    bench.restore()
    assert bench.driver.state() == bench.found


def test_what_a_trials_end_moves_goes_back_even_if_the_agent_ends_before_it_hears_of_it(
    bench: Bench, guardians: list[threading.Thread]
) -> None:
    bench.apply("channels.combined=2")
    bench.apply("channels.combined=6", kind="trial", seconds=10)
    bench.restore("queue.rx-2.irq_affinity", "queue.rx-3.irq_affinity")
    assert "queue.rx-2.irq_affinity" not in bench.held()
    entries = bench.transactions.undo.all()
    bench.transactions.guard.hold(
        [dict(entry, **({"deadline": 0.0} if "deadline" in entry else {})) for entry in entries]
    )
    deadline = time.monotonic() + 5
    while bench.driver.channels != 2:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    bench.transactions.guard._let_go()
    guardians[0].join(5)
    assert bench.driver.state() == bench.found
    (report,) = bench.transactions.reports({})["reports"]
    assert {entry["state"] for entry in report["entries"]} == {"restored"}


def test_a_queue_that_comes_back_is_not_given_the_value_of_its_absence(bench: Bench) -> None:
    bench.apply("queue.rx-3.irq_affinity=1-2")
    bench.apply("channels.combined=2")
    bench.apply("channels.combined=4")
    assert bench.driver.cpus[3] == DEFAULT_CPUS and not [line for line in bench.driver.log if line.endswith("=None")]
    bench.restore()
    assert bench.driver.state() == bench.found


@pytest.mark.parametrize("seed", range(40))
def test_whatever_was_done_it_comes_back_to_how_it_was(
    bench: Bench, guardians: list[threading.Thread], seed: int
) -> None:
    """Sequences of chance: changes of every kind, refusals, undos of single places, trials that end or are kept."""
    chance, driver = random.Random(seed), bench.driver
    wishes = {
        "channels.combined": ["1", "2", "4", "6"],
        "ring.rx": ["256", "512"],
        "feature.sg": ["on", "off"],
        "feature.tso": ["on", "off"],
        "rss.weights": ["1 1 1 1", "4 3 2 1"],
        **{f"queue.rx-{index}.irq_affinity": ["0", "1-2", DEFAULT_CPUS] for index in range(6)},
    }
    for _ in range(12):
        keys = chance.sample(sorted(wishes), chance.randint(1, 4))
        driver.refuse = dict.fromkeys(chance.sample(sorted(wishes), chance.randint(0, 2)), errno.EBUSY)
        step = chance.random()
        if step < 0.7:
            changes = [f"{key}={chance.choice(wishes[key])}" for key in keys]
            kind, on_refusal = chance.choice(["trial", "lease"]), chance.choice(["rest", "undo"])
            bench.apply(*changes, kind=kind, seconds=chance.choice(SHORT_AND_LONG), on_refusal=on_refusal)
        elif step < 0.9:
            bench.restore(*keys)
        else:
            bench.transactions.keep({"kind": "lease"})
    driver.refuse = {}
    if chance.random() < 0.5:
        bench.transactions.guard._let_go()
        for thread in guardians:
            thread.join(5)
    else:
        told = bench.transactions.restore({})["entries"]
        assert {entry["state"] for entry in told} <= {"restored"}, told
        assert bench.held() == {}
    assert driver.state() == bench.found


def test_a_guardian_that_understands_nothing_puts_back_what_it_holds(
    bench: Bench, guardians: list[threading.Thread]
) -> None:
    bench.apply("channels.combined=2", "feature.sg=off")
    bench.transactions.guard.link.sendall(b"no words\n")
    guardians[0].join(5)
    assert bench.driver.state() == bench.found
    bench.turn(lambda: bench.events)
    assert bench.events[0]["why"].startswith("the guardian failed: ") and bench.held() == {}
    bench.transactions.reports({})
