"""Slow plain-Python twins of shapes, and random shapes to run them on."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from oracles import slow_family_score

from gomea_bn import Shape
from gomea_bn.problems import ScoredFamily, ScoredVariable
from gomea_bn.problems.cuts import Policy


def random_shape(seed: int, *, scale: float = 1.0) -> Shape:
    """Return a shape of up to eight pieces with jumps, and up to three points, some of them at edges."""
    rng = np.random.default_rng(seed)
    n_pieces = int(rng.integers(1, 9))
    edges = scale * (rng.normal() * 10 + np.cumsum(np.exp(2 * rng.normal(size=n_pieces + 1))))
    left, right = np.exp(rng.normal(size=(2, n_pieces)))
    values = [
        *edges[[0, -1, int(rng.integers(n_pieces + 1))]].tolist(),
        float(rng.uniform(edges[0], edges[-1])),
    ]
    chosen = rng.permutation(values)[: rng.integers(0, 4)].tolist()
    shares = rng.dirichlet(np.ones(len(chosen) + 1))
    total = float(np.sum(np.diff(edges) * (left + right) / 2) / (edges[-1] - edges[0]) / shares[0])
    points: Counter[float] = Counter()
    for value, share in zip(chosen, shares[1:].tolist()):
        points[value] += share
    return Shape(edges, left / total, right / total, points)


def slow_mass(shape: Shape, low: float, high: float) -> float:
    """Return the probability of the interval (low, high], which includes the minimum if it begins there."""
    pieces = zip(shape.edges.tolist(), shape.edges[1:].tolist(), shape.left.tolist(), shape.right.tolist())
    parts = []
    for start, end, left, right in pieces:
        a, b = max(start, low), min(end, high)
        if a < b:
            at_a, at_b = (left + (right - left) * (x - start) / (end - start) for x in (a, b))
            parts.append((b - a) / (shape.high - shape.low) * (at_a + at_b) / 2)
    for value, mass in shape.points.items():
        if low < value <= high or (value == low == shape.low):
            parts.append(mass)
    return math.fsum(parts)


def slow_distribution(shape: Shape, value: float) -> float:
    """Return the probability of values up to and including the given one."""
    return slow_mass(shape, shape.low, max(value, shape.low))


def slow_quantile(shape: Shape, probability: float) -> float:
    """Return the smallest value with at least that probability up to it, by bisection."""
    low, high = shape.low, shape.high
    if slow_distribution(shape, low) >= probability:
        return low
    for _ in range(200):
        middle = low + (high - low) / 2
        if slow_distribution(shape, middle) >= probability:
            high = middle
        else:
            low = middle
    return high


def slow_log_density(shape: Shape, value: float) -> float:
    """Return the log density of one value, or the logarithm of its probability."""
    if value in shape.points:
        return math.log(shape.points[value])
    value = min(max(value, shape.low), shape.high)
    edges = shape.edges.tolist()
    piece = next(k for k in range(len(edges) - 1) if value <= edges[k + 1])
    share = (value - edges[piece]) / (edges[piece + 1] - edges[piece])
    left, right = float(shape.left[piece]), float(shape.right[piece])
    return math.log(left + share * (right - left)) - math.log(shape.high - shape.low)


def slow_kernel_left_out(
    scaled: Sequence[float], counts: Sequence[int], bandwidth: float, low: float = 0.0, high: float = 1.0
) -> list[float]:
    """Return the reflected Gaussian kernel density at every value without one row of that value."""
    n = sum(counts)
    densities = []
    for i, x in enumerate(scaled):
        kernels = [
            (counts[j] - (i == j)) * math.exp(-((x - centre) ** 2) / (2 * bandwidth**2))
            for j, y in enumerate(scaled)
            for centre in (y, 2 * low - y, 2 * high - y)
        ]
        densities.append(math.fsum(kernels) / (bandwidth * math.sqrt(2 * math.pi) * (n - 1)))
    return densities


def slow_histogram_left_out(
    scaled: Sequence[float], counts: Sequence[int], cuts: Sequence[float]
) -> list[float]:
    """Return the density of the bin of every value without one row of that value, and with one more row per bin."""
    edges = [0.0, *cuts, 1.0]
    densities = []
    for x in scaled:
        k = next(b for b in range(len(edges) - 1) if x <= edges[b + 1])
        inside = [c for y, c in zip(scaled, counts) if edges[k] < y <= edges[k + 1] or (k == 0 and y == 0)]
        share = (sum(inside) - 1 + 1) / (sum(counts) - 1 + len(edges) - 1)
        densities.append(share / (edges[k + 1] - edges[k]))
    return densities


def quadrature(shape: Shape, breaks: NDArray[np.float64], n: int = 200) -> NDArray[np.float64]:
    """Return the integral of the density between neighbouring breaks by mid-points, without points, float64 (k,)."""
    integrals = []
    ends = np.union1d(breaks, shape.edges)
    for a, b in itertools.pairwise(breaks):
        total = 0.0
        inner = ends[(ends >= a) & (ends <= b)]
        for c, d in itertools.pairwise(inner):
            grid = c + (d - c) * (np.arange(n) + 0.5) / n
            total += float(np.exp(shape.log_density(grid)).mean() * (d - c))
        integrals.append(total)
    return np.array(integrals)


# ---------------------------------------------------------------- scores of shaped bins


def slow_is_too_narrow(
    values: Sequence[float], cuts: Sequence[float], resolution: float, min_width: float = 0.0
) -> bool:
    """Return whether a bin is too narrow, with a least width for all and one for more than two rows per value."""
    edges = [min(values), *cuts, max(values)]
    for k, (a, b) in enumerate(itertools.pairwise(edges)):
        inside = [v for v in values if a < v <= b or (k == 0 and v == a)]
        if len(cuts) and b - a < (
            max(resolution, min_width) if len(inside) > 2 * len(set(inside)) else min_width
        ):
            return True
    return False


def slow_score(
    variables: Sequence[ScoredVariable],
    family: ScoredFamily,
    method: str,
    *,
    penalty: str | float = "bic",
    shaped: bool | None = None,
    centred: bool = False,
) -> float:
    """Return the score of a family whose child may have a shape, in nats, as searches compare it.

    The log likelihood of the shape counts where bins may also be uniform. Otherwise all networks have it.

    Parameters
    ----------
    shaped : bool, optional
        Whether the child's bins are shaped inside; by default the better measure that its shape allows.
    """
    child = variables[family.child[0]]
    uniform = slow_family_score(variables, family, method, penalty=penalty, centred=centred)
    if child.shape is None:
        return uniform
    root = slow_family_score(variables, ScoredFamily(family.child), method, penalty=penalty, cut_cost=0.0)
    likelihood = 0.0 if child.shape.measures == (True,) else child.shape.log_likelihood
    of_measure = {False: uniform, True: uniform - root + likelihood}
    if shaped is not None:
        return of_measure[shaped]
    allowed = set(child.shape.measures)
    cuts = child.policies[family.child[1]].cut_points.tolist()
    limits = child.shape.resolution, child.shape.min_uniform_width
    if len(allowed) > 1 and slow_is_too_narrow(child.values.tolist(), cuts, *limits):
        allowed.discard(False)
    return max(of_measure[measure] for measure in allowed)


def with_cuts(variable: ScoredVariable, *cuts: float, chosen: bool = True) -> ScoredVariable:
    """Return a continuous variable whose only policy has these cuts."""
    return replace(variable, policies=(Policy(np.array(cuts, np.float64), chosen),))
