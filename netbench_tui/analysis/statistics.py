"""How much a paired measurement changed, and how sure that is. Pure; used by comparisons and by benchmarks/.

Pairs are compared by the logarithm of their ratio: from 8 pairs on the Hodges-Lehmann estimate with the interval of the
exact signed-rank test, below that Student's t, since 7 pairs leave the signed-rank interval next to no choice.
Sources: Hollander & Wolfe, Nonparametric Statistical Methods, 3.1-3.3; Abramowitz & Stegun 26.7.3-4.
"""

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# The smallest n at which the exact 95 % interval may discard more than two Walsh averages at each end.
FEWEST_FOR_RANKS = 8
# Bisection halves the bracket each time: 200 steps exhaust the precision of a float from any bracket.
_BISECTIONS = 200


@dataclass(frozen=True, slots=True)
class Change:
    """`estimate_ratio` is b / a, 1.0 for no change; `low` and `high` bound it. `n` is the number of pairs.

    `low` is 0 and `high` infinite where so few pairs allow no interval of the asked level.
    """

    estimate_ratio: float
    low: float
    high: float
    n: int

    @property
    def percent(self) -> float:
        """The change of the estimate in per cent, e.g. -12.0."""
        return 100.0 * (self.estimate_ratio - 1.0)


def paired_change(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Change:
    """The change from `a` to `b`, whose items i were measured in the same block. All values are > 0, of any one unit.

    ValueError for fewer than two pairs, unequal lengths, values that are not positive, or a level outside (0, 1).
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values are no pairs")
    if any(not (value > 0 and math.isfinite(value)) for value in (*a, *b)):
        raise ValueError("only positive values have a ratio")
    differences = [math.log(after / before) for before, after in zip(a, b, strict=True)]
    estimate, low, high = location(differences, level)
    return Change(math.exp(estimate), math.exp(low), math.exp(high), len(differences))


def location(differences: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Where differences lie: (estimate, low, high). Hodges-Lehmann with signed ranks, or below 8 the mean with t."""
    n = len(differences)
    if n < 2:
        raise ValueError(f"{n} difference says nothing about its own spread")
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1")
    if n < FEWEST_FOR_RANKS:
        mean = statistics.fmean(differences)
        margin = t_quantile((1 + level) / 2, n - 1) * statistics.stdev(differences) / math.sqrt(n)
        return mean, mean - margin, mean + margin
    averages = walsh_averages(differences)
    k = signed_rank_order(n, level)
    low, high = (averages[k - 1], averages[-k]) if k else (-math.inf, math.inf)
    return statistics.median(averages), low, high


def walsh_averages(values: Sequence[float]) -> list[float]:
    """All n(n+1)/2 averages (x_i + x_j) / 2 with i <= j, in order."""
    return sorted((x + y) / 2 for i, x in enumerate(values) for y in values[i:])


@functools.cache
def signed_rank_order(n: int, level: float = 0.95) -> int:
    """The k for which [w_(k), w_(M+1-k)] of the ordered Walsh averages covers with at least `level`; 0 if none does.

    It is the largest k with P(T+ <= k - 1) <= (1 - level) / 2, from the exact distribution of the signed-rank sum T+.
    """
    allowed = (1 - level) / 2
    k = seen = 0
    for ways in _rank_sum_ways(n):
        seen += ways
        # True division of integers is correctly rounded, however long they are.
        if seen / 2**n > allowed:
            break
        k += 1
    return k


@functools.cache
def _rank_sum_ways(n: int) -> tuple[int, ...]:
    """For each sum the number of subsets of 1..n that have it: each rank is positive or not, with equal chance."""
    ways = [1] + [0] * (n * (n + 1) // 2)
    top = 0
    for rank in range(1, n + 1):
        top += rank
        for total in range(top, rank - 1, -1):
            ways[total] += ways[total - rank]
    return tuple(ways)


def t_probability(t: float, freedom: int) -> float:
    """P(T <= t) of Student's t with `freedom` whole degrees of freedom, by its finite series."""
    theta = math.atan2(t, math.sqrt(freedom))
    cosine, sine = math.cos(theta), math.sin(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for j in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (j - 1) / j
        total += term
    middle = 2 / math.pi * (theta + sine * total) if odd else sine * total
    return (1 + middle) / 2


@functools.cache
def t_quantile(probability: float, freedom: int) -> float:
    """The t with P(T <= t) = `probability`, for probabilities of 0.5 and more."""
    if not 0.5 <= probability < 1:
        raise ValueError(f"probability {probability} is not in 0.5..1")
    if freedom < 1:
        raise ValueError(f"{freedom} degrees of freedom are less than 1")
    low, high = 0.0, 1.0
    while t_probability(high, freedom) < probability:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if t_probability(middle, freedom) < probability else (low, middle)
    return (low + high) / 2
