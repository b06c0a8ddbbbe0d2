"""Transactions on a driver on paper: order, side effects, resets, refusals, and the way back."""

import errno
import threading

import pytest
from driver_on_paper import DEFAULT_CPUS, NIC, Bench, Row


def test_an_outcome_tells_old_asked_and_now(bench: Bench) -> None:
    answer = bench.apply("feature.tso=off")
    expected = {"scope": NIC, "key": "feature.tso", "old": "on", "asked": "off", "now": "off"}
    assert answer == {"outcomes": [expected], "undone": False}
    assert bench.held() == {"feature.tso": ("on", "off")}


def test_what_resets_is_written_first_and_the_answer_keeps_the_asked_order(bench: Bench) -> None:
    answer = bench.apply("queue.rx-1.irq_affinity=3", "feature.tso=off", "ring.rx=512")
    assert bench.driver.log == ["ring.rx=512", "feature.tso=off", "queue.rx-1.irq_affinity=3"]
    asked = [row["key"] for row in answer["outcomes"] if row["asked"] is not None]
    assert asked == ["queue.rx-1.irq_affinity", "feature.tso", "ring.rx"]


def test_a_cascade_is_told_but_needs_no_undo(bench: Bench) -> None:
    outcomes = bench.outcomes("feature.sg=off")
    moved = {"scope": NIC, "key": "feature.tso", "old": "on", "asked": None, "now": "on", "active": "off"}
    assert outcomes["feature.tso"] == moved
    assert list(bench.held()) == ["feature.sg"]
    assert bench.outcomes("feature.sg=on")["feature.tso"]["was_active"] == "off"
    assert bench.held() == {}


def test_a_reset_is_told_and_what_we_had_set_is_set_again(bench: Bench) -> None:
    bench.apply("queue.rx-0.irq_affinity=2")
    outcomes = bench.outcomes("channels.combined=2")
    assert bench.driver.cpus == {0: "2", 1: DEFAULT_CPUS}
    assert "queue.rx-0.irq_affinity" not in outcomes
    moved = {key: (row["old"], row["now"]) for key, row in outcomes.items() if row["asked"] is None}
    assert moved == {
        "queue.rx-1.irq_affinity": ("1", DEFAULT_CPUS),
        "queue.rx-2.irq_affinity": ("2", None),
        "queue.rx-3.irq_affinity": ("3", None),
        "rss.weights": ("1 1 1 1", "1 1"),
    }
    assert bench.held()["queue.rx-3.irq_affinity"] == ("3", None)
    assert bench.held()["queue.rx-0.irq_affinity"] == ("0", "2")
    assert set(bench.restore().values()) == {"restored"}
    assert bench.driver.state() == bench.found
    assert bench.held() == {}


def test_undoing_the_channels_alone_brings_back_what_they_moved_and_leaves_what_was_asked(bench: Bench) -> None:
    bench.apply("queue.rx-0.irq_affinity=2", "feature.tso=off")
    bench.apply("channels.combined=2")
    assert set(bench.restore("channels.combined").values()) == {"restored"}
    assert bench.driver.cpus == {0: "2", 1: "1", 2: "2", 3: "3"}
    assert bench.held() == {"queue.rx-0.irq_affinity": ("0", "2"), "feature.tso": ("on", "off")}


def test_a_queue_that_a_change_brought_goes_with_it(bench: Bench) -> None:
    outcomes = bench.outcomes("queue.rx-5.irq_affinity=1", "channels.combined=6")
    assert (outcomes["queue.rx-5.irq_affinity"]["old"], outcomes["queue.rx-5.irq_affinity"]["now"]) == (None, "1")
    assert outcomes["queue.rx-4.irq_affinity"]["asked"] is None
    bench.apply("queue.rx-4.irq_affinity=0")
    assert set(bench.restore().values()) == {"restored"}
    assert bench.driver.state() == bench.found


def test_features_that_need_one_another_come_back_in_any_order(bench: Bench) -> None:
    bench.apply("feature.sg=off")
    bench.apply("feature.tso=off")
    assert bench.restore() == {"feature.sg": "restored", "feature.tso": "restored"}
    assert bench.driver.log.count("feature.tso=on") == 2
    assert bench.driver.state() == bench.found


def test_a_refusal_stands_beside_its_item_and_the_rest_applies(bench: Bench) -> None:
    bench.driver.refuse["ring.rx"] = errno.EBUSY
    outcomes = bench.outcomes("ring.rx=512", "feature.tso=off", "feature.nonsense=on", "nonsense.key=1")
    assert (outcomes["ring.rx"]["code"], outcomes["ring.rx"]["error"]) == ("EBUSY", "the driver says no")
    assert outcomes["feature.tso"]["now"] == "off"
    assert outcomes["feature.nonsense"]["code"] == outcomes["nonsense.key"]["code"] == "ENOENT"
    assert bench.held() == {"feature.tso": ("on", "off")}


def test_a_fixed_setting_is_not_tried(bench: Bench) -> None:
    outcome = bench.outcomes("feature.loopback=on")["feature.loopback"]
    assert (outcome["code"], outcome["error"]) == ("EOPNOTSUPP", "fixed by the driver")
    assert bench.driver.log == []
    assert "code" not in bench.outcomes("feature.loopback=off")["feature.loopback"]


def test_a_refusal_undoes_everything_where_that_is_wished(bench: Bench) -> None:
    bench.apply("feature.tso=off")
    before, held = bench.driver.state(), bench.held()
    bench.driver.refuse["rss.weights"] = errno.EINVAL
    wishes = ("channels.combined=2", "feature.sg=off", "rss.weights=1 2", "queue.rx-0.irq_affinity=3")
    answer = bench.apply(*wishes, on_refusal="undo", kind="trial")
    assert answer["undone"]
    assert bench.driver.state() == (*before[:4], before[4])
    assert bench.held() == held
    outcomes = {row["key"]: row for row in answer["outcomes"]}
    assert outcomes["rss.weights"]["code"] == "EINVAL"
    assert (outcomes["channels.combined"]["asked"], outcomes["channels.combined"]["now"]) == ("2", "4")
    assert "queue.rx-0.irq_affinity=3" not in bench.driver.log
    assert {entry["kind"] for entry in bench.transactions.held({})["entries"]} == {"lease"}


def test_what_cannot_be_found_undoes_before_anything_is_written(bench: Bench) -> None:
    assert bench.apply("feature.tso=off", "nonsense.key=1", on_refusal="undo")["undone"]
    assert bench.driver.log == []


def test_a_value_in_other_words_is_the_same_wish(bench: Bench) -> None:
    outcome = bench.outcomes("queue.rx-0.irq_affinity=2,0-1")["queue.rx-0.irq_affinity"]
    assert outcome["asked"] == outcome["now"] == "0-2"


def test_the_first_value_is_what_counts_as_found(bench: Bench) -> None:
    bench.apply("ring.rx=512")
    bench.apply("ring.rx=1024")
    assert bench.held()["ring.rx"] == ("256", "1024")
    bench.apply("ring.rx=256")
    assert "ring.rx" not in bench.held()


def test_restore_leaves_alone_what_someone_else_changed(bench: Bench) -> None:
    bench.apply("rss.weights=4 3 2 1", "feature.tso=off")
    bench.driver.weights = "9 9 9 9"
    assert bench.restore() == {"rss.weights": "changed by someone else", "feature.tso": "restored"}
    assert bench.driver.weights == "9 9 9 9"
    assert bench.held() == {}


def test_what_is_refused_on_the_way_back_stays_held(bench: Bench) -> None:
    bench.apply("rss.weights=4 3 2 1")
    bench.driver.refuse["rss.weights"] = errno.EBUSY
    (entry,) = bench.transactions.restore({})["entries"]
    assert (entry["state"], entry["note"]) == ("refused", "the driver says no")
    del bench.driver.refuse["rss.weights"]
    assert bench.restore() == {"rss.weights": "restored"}
    assert bench.driver.state() == bench.found


def test_a_kind_that_cannot_be_read_after_a_change_has_not_vanished(bench: Bench) -> None:
    bench.apply("ring.rx=512")
    original = bench.driver._write_limit

    def write_and_hide(key: str, value: str) -> None:
        original(key, value)
        bench.driver.unreadable = True

    bench.driver.kinds[1].write = lambda _context, _scope, key, value: write_and_hide(key, value)
    assert "rss.weights" not in bench.outcomes("ring.rx=1024")
    assert "rss.weights" not in bench.held()


def test_a_permanent_change_is_forgotten(bench: Bench, guardians: list[threading.Thread]) -> None:
    bench.apply("feature.tso=off")
    bench.apply("feature.tso=off", "ring.rx=512", kind="permanent")
    assert bench.held() == {}
    guardians[0].join(5)
    assert not guardians[0].is_alive()
    assert bench.driver.ring == "512"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "forever"},
        {"on_refusal": "shrug"},
        {"kind": "trial", "seconds": 0},
        {"kind": "trial", "seconds": float("nan")},
        {"changes": [{"scope": NIC, "key": "ring.rx", "value": 3}]},
        {"changes": [{"scope": NIC, "key": "ring.rx", "value": "1\n2"}]},
        {"changes": [{"scope": NIC, "key": "ring.rx", "value": value} for value in "12"]},
    ],
)
def test_a_request_that_is_off_writes_nothing(bench: Bench, wrong: Row) -> None:
    right = {"changes": [], "kind": "lease", "seconds": 10, "on_refusal": "rest"}
    with pytest.raises(ValueError):
        bench.transactions.apply({**right, **wrong})
    assert bench.driver.log == []


def test_a_permanent_change_leaves_what_else_is_held(bench: Bench) -> None:
    bench.apply("queue.rx-0.irq_affinity=2", "queue.rx-3.irq_affinity=1")
    bench.driver.refuse["queue.rx-0.irq_affinity"] = errno.EIO
    outcomes = bench.outcomes("channels.combined=2", kind="permanent")
    assert outcomes["queue.rx-0.irq_affinity"]["error"] == "the driver says no"
    assert bench.held() == {"queue.rx-0.irq_affinity": ("0", DEFAULT_CPUS)}
    bench.driver.refuse.clear()
    assert bench.restore() == {"queue.rx-0.irq_affinity": "restored"}
    assert bench.driver.cpus == {0: "0", 1: DEFAULT_CPUS}
