"""Paired changes, against published tables, an independent way to the exact test, and figures of scipy 1.16."""

import itertools
import math
import random

import pytest

from netbench_tui.analysis.statistics import (
    location,
    paired_change,
    signed_rank_order,
    t_probability,
    t_quantile,
    walsh_averages,
)


@pytest.mark.parametrize(("n", "k"), [(6, 1), (8, 4), (10, 9), (12, 14), (15, 26), (20, 53), (25, 90)])
def test_order_statistic_of_the_published_table(n: int, k: int) -> None:
    assert signed_rank_order(n) == k


def test_order_statistic_of_large_and_of_hopeless_samples() -> None:
    assert [signed_rank_order(n) for n in (40, 60, 200)] == [265, 649, 8445]
    assert signed_rank_order(5) == 0
    assert signed_rank_order(8, 0.999) == 0
    # The looks of a sequential design: alpha 0.0294 and 0.0158.
    assert signed_rank_order(8, 1 - 0.0294) == 3
    assert signed_rank_order(20, 1 - 0.0158) == 42


# By degrees of freedom, at 0.975, as scipy gives them.
T_QUANTILES = {
    1: 12.706204736174694,
    2: 4.302652729749462,
    3: 3.1824463052837078,
    4: 2.7764451051977934,
    5: 2.5705818356363146,
    6: 2.4469118511449786,
    19: 2.0930240544083087,
}


@pytest.mark.parametrize(("freedom", "t"), T_QUANTILES.items())
def test_students_t(freedom: int, t: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(t, rel=1e-12)
    assert t_probability(t, freedom) == pytest.approx(0.975, abs=1e-14)
    assert t_probability(-t, freedom) == pytest.approx(0.025, abs=1e-14)


def test_below_eight_pairs_the_interval_is_students() -> None:
    change = paired_change([20.1, 19.4, 21.3, 18.8, 20.6], [18.2, 18.0, 19.9, 16.9, 18.1])
    assert change.n == 5
    assert change.estimate_ratio == pytest.approx(0.9088076156859906, rel=1e-12)
    assert change.low == pytest.approx(0.8812203177255892, rel=1e-12)
    assert change.high == pytest.approx(0.9372585557951797, rel=1e-12)
    assert change.percent == pytest.approx(-9.11923843140094, rel=1e-9)


def test_walsh_averages_by_hand() -> None:
    assert walsh_averages([3.0, 1.0, 2.0]) == [1.0, 1.5, 2.0, 2.0, 2.5, 3.0]


def test_eight_pairs_by_hand() -> None:
    """Of the 36 averages of 1..8 the 4th is 2 (1, 1.5, 2, 2) and the 4th from the end is 7."""
    assert location([1, 2, 3, 4, 5, 6, 7, 8]) == (4.5, 2.0, 7.0)


def exact_p(differences: list[float]) -> float:
    """Two-sided signed-rank p by going through all signs: a way to it that shares nothing with the code."""
    order = sorted(map(abs, differences))
    ranks = [order.index(abs(d)) + 1 for d in differences]
    middle = sum(ranks) / 2
    seen = abs(sum(r for r, d in zip(ranks, differences, strict=True) if d > 0) - middle)
    signs = itertools.product((0, 1), repeat=len(ranks))
    sums = [abs(sum(itertools.compress(ranks, chosen)) - middle) for chosen in signs]
    return sum(s >= seen for s in sums) / len(sums)


@pytest.mark.parametrize("n", [8, 9, 11])
def test_the_interval_excludes_no_change_exactly_when_the_test_rejects(n: int) -> None:
    random.seed(n)
    verdicts = set()
    for _ in range(30):
        differences = [random.gauss(0.6, 1.0) for _ in range(n)]
        _, low, high = location(differences)
        excludes = low > 0 or high < 0
        assert excludes == (exact_p(differences) <= 0.05)
        verdicts.add(excludes)
    assert verdicts == {True, False}


def test_ratio_is_of_b_to_a_and_inverts() -> None:
    random.seed(2)
    a = [random.uniform(9, 11) for _ in range(20)]
    b = [1.2 * value * random.uniform(0.95, 1.05) for value in a]
    there, back = paired_change(a, b), paired_change(b, a)
    assert there.low < 1.2 < there.high
    assert there.estimate_ratio == pytest.approx(1 / back.estimate_ratio)
    assert (there.low, there.high) == (pytest.approx(1 / back.high), pytest.approx(1 / back.low))


def test_no_interval_where_the_pairs_allow_none() -> None:
    change = paired_change([1.0] * 8, [2.0] * 8, level=0.999)
    assert change.estimate_ratio == pytest.approx(2.0)
    assert (change.low, change.high) == (0.0, math.inf)


@pytest.mark.parametrize(
    ("a", "b", "level", "words"),
    [
        ([1.0, 2.0], [1.0], 0.95, "no pairs"),
        ([1.0], [1.0], 0.95, "spread"),
        ([1.0, 0.0], [1.0, 1.0], 0.95, "positive"),
        ([1.0, math.nan], [1.0, 1.0], 0.95, "positive"),
        ([1.0, 2.0], [1.0, 2.0], 1.0, "level"),
    ],
)
def test_what_has_no_answer_is_refused(a: list[float], b: list[float], level: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        paired_change(a, b, level)
