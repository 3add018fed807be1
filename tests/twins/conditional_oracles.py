"""Networks with random conditionals, and slow densities of a column given its parents."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from network_examples import slow_code
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.stats import norm
from scipy.stats import t as student
from shape_oracles import random_shape, slow_distribution, slow_log_density, slow_mass

from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals import (
    Conditionals,
    FamilyLine,
    FamilyLogit,
    FamilyMixture,
    FamilyTable,
    FixedValue,
    Stack,
    TableSet,
)
from gomea_bn.network.conditionals.basis import LineTerms
from gomea_bn.network.conditionals.family_line import LineSums
from gomea_bn.network.conditionals.family_table import CutTable
from gomea_bn.network.conditionals.kind import Fitted
from gomea_bn.network.tables import table_of_counts
from gomea_bn.problems.cuts.shape import Shape

Floats: TypeAlias = NDArray[np.float64]

PARENTS = ("x", "w", "g")
"""Parents of "y" in a random network: two continuous columns, the first with a shape, and a discrete one."""


SMOOTHING = 1.0
"""Pseudo-count of the tables of random networks."""


@dataclass(frozen=True)
class Around:
    """What a random conditional of "y" must fit.

    Columns are in own units or not, a scale may be transformed or not, `support` is the range of "y" or None, and
    `tables` returns random tables of all columns over one set of cuts.
    """

    in_units: bool
    may_move: bool
    support: tuple[float, float] | None
    tables: Callable[[], TableSet]


def random_conditionals_network(
    seed: int, kind: type[Fitted] | None = None, *, alone: bool = False
) -> DiscretizedBayesNet:
    """Return a network whose column "y" has random sets of tables, and may also follow a kind, or this kind alone.

    Without a kind it is a line, or nothing. A line is on probability scales or in own units, with knots or products or
    both or neither, in one group per level of "g". The shape of "y" may have point masses, which are then those of its
    scale; otherwise its scale may be transformed. Of a kind for discrete columns "y" has three levels.
    """
    rng = np.random.default_rng(seed)
    names = (*PARENTS, "y")
    shapes = {"x": random_shape(seed)}
    in_units = bool(rng.integers(2))
    has_shape = bool(rng.integers(2))
    if in_units or not has_shape:
        # points have no density that a line in own units could be mixed with
        free = random_shape(seed + 1)
        total = float(np.average((free.left + free.right) / 2, weights=np.diff(free.edges)))
        of_y = Shape(free.edges, free.left / total, free.right / total)
    else:
        of_y = random_shape(seed + 1)
    of_levels = kind is not None and bool(rng.integers(2) if kind.of_levels is None else kind.of_levels)
    support = {"x": (shapes["x"].low, shapes["x"].high), "w": (-2.0, 5.0)}
    levels: dict[str, tuple[str, ...]] = {"g": ("k", "l", "m")}
    if of_levels:
        levels["y"] = ("s", "t", "u")
    else:
        support["y"] = (of_y.low, of_y.high)
        if has_shape:
            shapes["y"] = of_y
    parents: dict[str, tuple[str, ...]] = {"x": (), "w": (), "g": (), "y": PARENTS}

    def tables() -> TableSet:
        cuts = {
            name: np.sort(rng.uniform(low, high, rng.integers(1, 4))) for name, (low, high) in support.items()
        }
        cards = {name: len(cuts[name]) + 1 if name in cuts else 3 for name in names}
        # one parent less in some tables
        of_y = tuple(p for p in PARENTS if p != rng.choice(["w", "none"]))
        of_copy = {**parents, "y": of_y}
        counts = {
            n: rng.integers(0, 9, (*(cards[p] for p in of_copy[n]), cards[n])).astype(np.float64)
            for n in names
        }
        probabilities = {n: table_of_counts(of_n, SMOOTHING) for n, of_n in counts.items()}
        return TableSet(cuts, of_copy, probabilities, counts)

    around = Around(in_units, not of_y.points, support.get("y"), tables)
    fitted = None
    if kind is not None:
        fitted = RANDOM_KINDS[kind](rng, around)
    elif rng.integers(4):
        fitted = random_line(rng, around)
    shown = tables()
    copies = [tables() for _ in range(rng.integers(1, 4))]
    scales = {"x": shapes["x"], "w": Shape([-2.0, 1.0, 5.0], [1.5, 1.2], [0.9, 0.5]), "y": of_y}
    units = {"x": (shapes["x"].low, 2.0), "w": (0.5, 1.5), "y": (of_y.low, (of_y.high - of_y.low) / 2)}
    known = Conditionals.of_tables(
        copies,
        scales={name: scale for name, scale in scales.items() if name in support},
        units={name: unit for name, unit in units.items() if name in support},
        n_rows=50,
    )
    of_tables = known.stacks["y"]
    if fitted is None:
        stack = of_tables
    elif alone or fitted.fixed_value is not None:
        stack = Stack.of(fitted)
    else:
        stack = Stack.of(of_tables.members[0][1], fitted, float(rng.uniform(0.1, 0.9)))
    conditionals = known.changed(stacks={**known.stacks, "y": stack})
    cards = {name: len(shown.cut_points[name]) + 1 if name in support else 3 for name in names}
    return DiscretizedBayesNet(
        names,
        [(parent, "y") for parent in PARENTS],
        cut_points=shown.cut_points,
        support=support,
        levels=levels,
        tables={n: rng.dirichlet(np.ones(cards[n]), tuple(cards[p] for p in parents[n])) for n in names},
        shapes=shapes,
        conditionals=conditionals,
        pseudo_count=SMOOTHING,
    )


def _random_knots(rng: np.random.Generator) -> tuple[tuple[Floats, ...], bool, tuple[Floats, ...]]:
    """Return knots, whether there are products, and knots of these, for two parents."""
    knots = tuple(rng.normal(size=rng.integers(0, 3)) for _ in range(2))
    has_products = bool(rng.integers(2))
    curved = has_products and bool(rng.integers(2))
    return knots, has_products, tuple(rng.normal(size=rng.integers(0, 3)) for _ in range(2 * curved))


def random_line(rng: np.random.Generator, around: Around) -> FamilyLine:
    """Return a line of "y" with three groups; its scale may be transformed where it may move."""
    knots, has_products, product_knots = _random_knots(rng)
    n_terms = LineTerms(knots, has_products, product_knots).n_terms
    return FamilyLine(
        ("x", "w"),
        ("g",),
        rng.normal(size=(3, n_terms + 1)) / 2,
        rng.uniform(0.2, 1.0, 3),
        rng.uniform(2.0, 30.0, 3),
        knots,
        has_products,
        around.in_units,
        product_knots=product_knots,
        transform=None if not around.may_move or rng.integers(2) else random_transform(rng),
    )


def random_fitted_line(rng: np.random.Generator, around: Around) -> FamilyLine:
    """Return a line as `random_line` does that holds sums over random rows, by one or by three regressions."""
    line = random_line(rng, around)
    n_rows = 120
    terms, groups = line.terms.of_rows(rng.normal(size=(n_rows, 2))), np.repeat(np.arange(3), 40)
    z = line.coefficients[groups, 0] + (terms * line.coefficients[groups, 1:]).sum(axis=1)
    z += line.scales[groups] * rng.normal(size=n_rows)
    n_regressions = int(rng.choice([1, 3]))
    ratios = np.ones(3) if n_regressions > 1 else rng.uniform(0.5, 2.0, 3)
    tails = np.where(rng.integers(2, size=n_regressions), rng.uniform(2.0, 30.0, n_regressions), 0.0)
    return line.of_sums(LineSums.of_rows(z, terms, groups, ratios, tails, np.ones(n_regressions), 0.05))


def random_mixture(rng: np.random.Generator, around: Around) -> FamilyMixture:
    """Return a mixture of one to three lines of "y" with three groups, from sums over random rows."""
    n_components = int(rng.integers(1, 4))
    moments, counts = [], []
    for _ in range(n_components):
        n_rows = int(rng.integers(8, 40))
        rows = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, 3)) / 2 + rng.normal(size=3)
        columns = np.column_stack([np.ones(n_rows), rows])
        moments.append(columns.T @ columns)
        counts.append(rng.multinomial(n_rows, np.full(3, 1 / 3)))
    return FamilyMixture(
        ("x", "w"),
        ("g",),
        np.array(moments),
        np.array(counts, np.float64),
        rng.uniform(0.05, 0.3, n_components),
        around.in_units,
    )


def random_logit(rng: np.random.Generator, around: Around) -> FamilyLogit:
    """Return a logit of "y", whose three levels have positions on a line."""
    knots, has_products, product_knots = _random_knots(rng)
    n_terms = LineTerms(knots, has_products, product_knots).n_terms
    n = 3 + n_terms + 3
    rows = rng.normal(size=(2 * n, n))
    return FamilyLogit(
        ("x", "w"),
        ("g",),
        rng.normal(size=n_terms) / 2,
        (rng.normal(size=3),),
        rng.normal(size=3),
        np.array([0.0, rng.uniform(0.2, 0.8), 1.0]),
        rows.T @ rows,
        knots,
        has_products,
        product_knots,
    )


def random_table(rng: np.random.Generator, around: Around) -> FamilyTable:
    """Return tables of "y" over one to three sets of cuts."""
    return FamilyTable(tuple(around.tables().of_column("y") for _ in range(rng.integers(1, 4))))


def random_fixed_value(rng: np.random.Generator, around: Around) -> FixedValue:
    """Return a value of "y"."""
    return FixedValue(
        float(rng.integers(3)) if around.support is None else float(rng.uniform(*around.support))
    )


RANDOM_KINDS: dict[type[Fitted], Callable[[np.random.Generator, Around], Fitted]] = {
    FamilyTable: random_table,
    FixedValue: random_fixed_value,
    FamilyLine: random_fitted_line,
    FamilyMixture: random_mixture,
    FamilyLogit: random_logit,
}
"""Functions that return a random conditional of "y" by kind."""


def random_rows(network: DiscretizedBayesNet, n: int, seed: int) -> dict[str, NDArray[Any]]:
    """Return rows of a random network with point masses, ends of ranges and other values of every column."""
    rng = np.random.default_rng(seed)
    rows: dict[str, NDArray[Any]] = {
        name: rng.integers(0, len(levels), n).astype(np.int32) for name, levels in network.levels.items()
    }
    for name, (low, high) in network.support.items():
        points = network.shapes[name].point_values if name in network.shapes else np.empty(0)
        special = np.concatenate([points, [low, high], *([network.cut_points[name]])])
        rows[name] = np.where(rng.random(n) < 0.3, rng.choice(special, n), rng.uniform(low, high, n))
    return rows


def with_levels(network: DiscretizedBayesNet, rows: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return rows as dictionaries of numbers and levels."""
    return [
        {
            name: network.levels[name][rows[name][k]] if name in network.levels else rows[name][k].item()
            for name in network.names
        }
        for k in range(len(rows["y"]))
    ]


def random_transform(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return increasing points of a transformation, which do not cover the whole range."""
    return np.cumsum(rng.uniform(0.2, 0.8, (2, 5)), axis=1) - 1.0


def slow_transform(points: NDArray[np.float64], place: float) -> tuple[float, float]:
    """Return where a transformation moves a place, and its slope there, by one line between two of 257 points."""
    curve = PchipInterpolator(points[0], points[1])
    first, step = float(points[0, 0]), float(points[0, -1] - points[0, 0]) / 256
    part = min(max(math.floor((place - first) / step), 0), 255)
    low, high = (float(curve(first + (part + k) * step)) for k in (0, 1))
    slope = (high - low) / step
    return low + (place - first - part * step) * slope, slope


def slow_density(network: DiscretizedBayesNet, name: str, row: Mapping[Any, Any]) -> float:
    """Return the density, or the probability of a point or a level, of a column given its parents in a row."""
    known = network.conditionals
    assert known is not None
    total = 0.0
    for weight, fitted in known.stacks[name].members:
        if isinstance(fitted, FamilyTable):
            parts = [_of_table(network, table, name, row) for table in fitted.tables]
            total += weight * math.fsum(parts) / len(parts)
        else:
            assert isinstance(fitted, FamilyLine)
            total += weight * _of_line(network, known, fitted, name, row)
    return total


def _of_table(network: DiscretizedBayesNet, table: CutTable, name: str, row: Mapping[Any, Any]) -> float:
    codes = []
    for member in (*table.parents, name):
        cuts = table.cuts if member == name else table.cuts_of_parents.get(member)
        if cuts is None:
            codes.append(slow_code(network, member, row[member]))
        else:
            codes.append(sum(cut < row[member] for cut in cuts.tolist()))
    probability = float(table.table[tuple(codes)])
    if table.cuts is None:
        return probability
    edges = [network.support[name][0], *table.cuts.tolist(), network.support[name][1]]
    low, high = edges[codes[-1]], edges[codes[-1] + 1]
    if name not in network.shapes:
        return probability / (high - low)
    shape = network.shapes[name]
    return probability * math.exp(slow_log_density(shape, row[name])) / slow_mass(shape, low, high)


def _position(share: float, n_rows: int) -> float:
    return float(norm.ppf((n_rows * share + 0.5) / (n_rows + 1)))


def slow_place(shape: Shape, value: float, n_rows: int) -> float:
    """Return the place of a value on the probability scale of a column."""
    return _position(slow_distribution(shape, value) - shape.points.get(value, 0.0) / 2, n_rows)


def _of_line(
    network: DiscretizedBayesNet, known: Conditionals, line: FamilyLine, name: str, row: Mapping[Any, Any]
) -> float:
    n, group = known.n_rows, 0
    for member in line.groups:
        group = group * len(network.levels[member]) + slow_code(network, member, row[member])
    places = {}
    for member in (*line.parents, name):
        if line.in_units:
            centre, spread = known.units[member]
            places[member] = (row[member] - centre) / spread
        else:
            places[member] = slow_place(known.scales[member], row[member], n)
    terms = [1.0, *(places[parent] for parent in line.parents)]
    for parent, knots in zip(line.parents, line.knots, strict=True):
        terms += [max(places[parent] - knot, 0.0) for knot in knots.tolist()]
    if line.has_products:
        for i, first in enumerate(line.parents):
            terms += [places[first] * places[second] for second in line.parents[i:]]
    if line.product_knots:
        factors = [
            [places[parent], *(max(places[parent] - knot, 0.0) for knot in knots.tolist())]
            for parent, knots in zip(line.parents, line.product_knots, strict=True)
        ]
        for i, of_first in enumerate(factors):
            for of_second in factors[i + 1 :]:
                terms += [a * b for a in of_first for b in of_second][1:]
    mean = math.fsum(c * term for c, term in zip(line.coefficients[group].tolist(), terms, strict=True))
    if line.in_units:
        centre, spread = known.units[name]
        low, high = ((end - centre) / spread for end in network.support[name])
    else:
        low, high = _position(0.0, n), _position(1.0, n)
    slope, place = 1.0, places[name]
    if line.transform is not None:
        places[name], slope = slow_transform(line.transform, places[name])
        low, high = (slow_transform(line.transform, end)[0] for end in (low, high))
    law = student(line.freedom[group], min(max(mean, low), high), line.scales[group])
    of_range = law.cdf(high) - law.cdf(low)
    if line.in_units:
        return float(law.pdf(places[name]) / of_range / known.units[name][1] * slope)
    shape, value = known.scales[name], row[name]
    if value in shape.points:
        share = slow_distribution(shape, value)
        below = _position(share - shape.points[value], n)
        return float((law.cdf(_position(share, n)) - law.cdf(below)) / of_range)
    slope *= n / (n + 1) * math.exp(slow_log_density(shape, value)) / norm.pdf(place)
    return float(law.pdf(places[name]) / of_range * slope)
