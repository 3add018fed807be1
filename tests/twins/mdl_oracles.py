"""Parts of the description length of equation 14, in plain Python."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any


def slow_information(first: Sequence[Any], second: Sequence[Any]) -> float:
    """n times the mutual information, from the definition."""
    n = len(first)
    a, b, both = Counter(first), Counter(second), Counter(zip(first, second))
    return math.fsum(count * math.log(count * n / (a[x] * b[y])) for (x, y), count in both.items())


def slow_partition(m: int, k: int) -> float:
    if m < 2 or k in (1, m):
        return 0.0
    p = (k - 1) / (m - 1)
    return -(m - 1) * (p * math.log(p) + (1 - p) * math.log(1 - p))
