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

from gomea_bn import DiscretizedBayesNet, Shape
from gomea_bn.network.conditionals import (
    Conditionals,
    CutTable,
    FamilyCounts,
    FamilyEffects,
    FamilyLogit,
    FamilyMixture,
    FamilyOdds,
    FamilyTable,
    Fitted,
    FixedValue,
    Functions,
    Stack,
    TableSet,
    Terms,
)
from gomea_bn.network.conditionals.family_odds import CellOdds
from gomea_bn.network.tables import table_of_counts

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

    Without a kind it is a sum of effects, or nothing. Columns are on probability scales or in own units. The shape of
    "y" may have point masses, which are then those of its scale; otherwise its scale may be transformed. Of a kind for
    discrete columns "y" has three levels.
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
    if kind is FamilyCounts:
        of_y = of_whole_numbers(of_y, rng)
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
        fitted = random_effects(rng, around)
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


def random_functions(rng: np.random.Generator, name: str, *, in_units: bool) -> Functions:
    """Return B-splines of degree 1 or 3 of a continuous parent, or sums of them, that end inside its range or not."""
    degree = int(rng.choice([1, 3]))
    inner = np.sort(rng.uniform(-2.5, 2.5, rng.integers(2, 6)))
    knots = np.concatenate([inner[:1]] * degree + [inner] + [inner[-1:]] * degree)
    n_splines = len(knots) - degree - 1
    plain = np.eye(n_splines)
    return Functions(
        (name,),
        knots,
        plain if rng.integers(2) else rng.normal(size=(n_splines, rng.integers(1, 4))),
        in_units,
    )


def random_amounts(rng: np.random.Generator) -> Functions:
    """Return indicators of the levels of "g", or sums of them."""
    return Functions(
        ("g",), np.empty(0), np.eye(3) if rng.integers(2) else rng.normal(size=(3, rng.integers(1, 3)))
    )


def random_terms(rng: np.random.Generator, in_units: bool | None = None) -> Terms:
    """Return functions of the parents of "y", and some of their products.

    A parent is in its own units or not, by default at random.
    """

    def of_parent(name: str) -> Functions:
        if name == "g":
            return random_amounts(rng)
        return random_functions(rng, name, in_units=bool(rng.integers(2)) if in_units is None else in_units)

    functions = tuple(of_parent(name) for name in PARENTS if rng.integers(4))
    factors = tuple(map(of_parent, PARENTS))
    # two curves, a level and a curve in either order, and a square
    possible = [(0, 1), (2, 0), (1, 2), (0, 0)]
    return Terms(functions, factors, tuple(pair for pair in possible if not rng.integers(3)))


def random_effects(rng: np.random.Generator, around: Around) -> FamilyEffects:
    """Return a sum of effects on "y" with one scale or three, and widths that follow the parents or not.

    Its scale may be transformed where it may move.
    """
    terms = random_terms(rng)
    widths = random_terms(rng) if rng.integers(2) else Terms(())
    n_scales = int(rng.choice([1, 3]))
    return FamilyEffects(
        ("x", "w"),
        ("g",),
        terms,
        rng.normal(size=terms.n_terms + 1) / 2,
        rng.uniform(0.2, 1.0, n_scales),
        rng.uniform(2.0, 30.0, n_scales),
        float(rng.choice([0.0, 0.05])),
        around.in_units,
        None if not around.may_move or rng.integers(2) else random_transform(rng),
        widths,
        rng.normal(size=widths.n_terms + 1) / 8,
    )


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
    terms = random_terms(rng)
    return FamilyLogit(
        ("x", "w"),
        ("g",),
        terms,
        rng.normal(size=terms.n_terms + 1) / 2,
        rng.normal(size=3),
        np.array([0.0, rng.uniform(0.2, 0.8), 1.0]),
    )


def of_whole_numbers(shape: Shape, rng: np.random.Generator) -> Shape:
    """Return a shape that is moved so that its range begins near 0 and has several whole numbers."""
    low, width = float(rng.choice([0.0, 2.0, rng.uniform(0, 3)])), float(rng.uniform(2, 12))

    def moved(value: Any) -> Any:
        return low + (value - shape.low) / (shape.high - shape.low) * width

    points = {moved(value): mass for value, mass in shape.points.items()}
    return Shape(moved(shape.edges), shape.left, shape.right, points)


def random_counts(rng: np.random.Generator, around: Around) -> FamilyCounts:
    """Return counts of "y", of a Poisson distribution or not."""
    terms = random_terms(rng)
    coefficients = rng.normal(size=terms.n_terms + 1) / 2
    return FamilyCounts(("x", "w"), ("g",), terms, coefficients, float(rng.choice([0.0, 0.3, 2.0])))


def random_table(rng: np.random.Generator, around: Around) -> FamilyTable:
    """Return tables of "y" over one to three sets of cuts."""
    return FamilyTable(tuple(around.tables().of_column("y") for _ in range(rng.integers(1, 4))))


def random_fixed_value(rng: np.random.Generator, around: Around) -> FixedValue:
    """Return a value of "y"."""
    return FixedValue(
        float(rng.integers(3)) if around.support is None else float(rng.uniform(*around.support))
    )


def random_odds(rng: np.random.Generator, around: Around) -> FamilyOdds:
    """Return a random conditional of another kind, with odds by "w", by "g", or by both."""
    if around.support is None:
        base: Fitted = random_logit(rng, around)
        cuts = None
    else:
        base = random_effects(rng, around) if rng.integers(2) else random_table(rng, around)
        cuts = np.sort(rng.uniform(*around.support, rng.integers(1, 4)))
    n_cells = 3 if cuts is None else len(cuts) + 1
    by_w = CellOdds("w", np.array([-0.5, 2.5]), rng.normal(size=(3, n_cells)))
    by_g = CellOdds("g", None, rng.normal(size=(3, n_cells)))
    return FamilyOdds(Stack.of(base), cuts, ((by_w, by_g), (by_w,), (by_g,))[rng.integers(3)])


RANDOM_KINDS: dict[type[Fitted], Callable[[np.random.Generator, Around], Fitted]] = {
    FamilyTable: random_table,
    FixedValue: random_fixed_value,
    FamilyEffects: random_effects,
    FamilyMixture: random_mixture,
    FamilyLogit: random_logit,
    FamilyCounts: random_counts,
    FamilyOdds: random_odds,
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
        elif isinstance(fitted, FamilyLogit):
            total += weight * _of_logit(network, known, fitted, name, row)
        else:
            assert isinstance(fitted, FamilyEffects)
            total += weight * _of_effects(network, known, fitted, name, row)
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


def slow_splines(knots: list[float], degree: int, place: float) -> list[float]:
    """Return all B-splines at a place by the recursion of de Boor; beyond the knots they stay as at the outer ones."""
    place = min(max(place, knots[0]), knots[-1])
    starts = [i for i in range(len(knots) - 1) if knots[i] < knots[i + 1] and knots[i] <= place]
    values = [float(i == starts[-1]) for i in range(len(knots) - 1)]
    for d in range(1, degree + 1):
        before, values = values, []
        for i in range(len(before) - 1):
            up, down = knots[i + d] - knots[i], knots[i + d + 1] - knots[i + 1]
            rising = (place - knots[i]) / up * before[i] if up else 0.0
            falling = (knots[i + d + 1] - place) / down * before[i + 1] if down else 0.0
            values.append(rising + falling)
    return values


def _slow_position(known: Conditionals, name: str, value: float, in_units: bool) -> float:
    """Return the place of a value in own units, or on the probability scale."""
    if in_units:
        centre, spread = known.units[name]
        return float((value - centre) / spread)
    return slow_place(known.scales[name], value, known.n_rows)


def _slow_code(network: DiscretizedBayesNet, names: tuple[str, ...], row: Mapping[Any, Any]) -> int:
    code = 0
    for name in names:
        code = code * len(network.levels[name]) + slow_code(network, name, row[name])
    return code


def slow_sum(
    network: DiscretizedBayesNet,
    known: Conditionals,
    terms: Terms,
    coefficients: NDArray[np.float64],
    row: Mapping[Any, Any],
) -> float:
    """Return the sum of terms with their coefficients in a row."""

    def at(functions: Functions) -> list[float]:
        if functions.of_levels:
            return [float(number) for number in functions.matrix[_slow_code(network, functions.of, row)]]
        [name] = functions.of
        place = _slow_position(known, name, row[name], functions.in_units)
        splines = slow_splines(functions.knots.tolist(), functions.degree, place)
        return [
            math.fsum(a * b for a, b in zip(splines, column, strict=True))
            for column in functions.matrix.T.tolist()
        ]

    numbers = [1.0, *(number for functions in terms.functions for number in at(functions))]
    for i, j in terms.products:
        numbers += [a * b for a in at(terms.factors[i]) for b in at(terms.factors[j])]
    return math.fsum(c * number for c, number in zip(coefficients.tolist(), numbers, strict=True))


def _of_logit(
    network: DiscretizedBayesNet, known: Conditionals, logit: FamilyLogit, name: str, row: Mapping[Any, Any]
) -> float:
    index = slow_sum(network, known, logit.terms, logit.coefficients[0], row)
    odds = [
        math.exp(a + b * index)
        for a, b in zip(logit.constants.tolist(), logit.positions[0].tolist(), strict=True)
    ]
    return odds[slow_code(network, name, row[name])] / math.fsum(odds)


def _of_effects(
    network: DiscretizedBayesNet,
    known: Conditionals,
    effects: FamilyEffects,
    name: str,
    row: Mapping[Any, Any],
) -> float:
    group = _slow_code(network, effects.groups, row) if len(effects.scales) > 1 else 0
    mean = slow_sum(network, known, effects.terms, effects.coefficients, row)
    scale = float(effects.scales[group])
    if effects.width_terms.n_terms:
        log_width = slow_sum(network, known, effects.width_terms, effects.width_coefficients, row)
        scale = max(scale * math.exp(log_width), effects.least_scale)
    noise = scale, float(effects.freedom[group])
    return slow_noise(network, known, name, row[name], mean, *noise, effects.in_units, effects.transform)


def slow_noise(
    network: DiscretizedBayesNet,
    known: Conditionals,
    name: str,
    value: float,
    mean: float,
    width: float,
    freedom: float,
    in_units: bool,
    transform: NDArray[np.float64] | None,
) -> float:
    """Return the density of a value of a column under Student's t noise in its range, or the probability of a point."""
    n = known.n_rows
    if in_units:
        centre, spread = known.units[name]
        low, high = ((end - centre) / spread for end in network.support[name])
    else:
        low, high = _position(0.0, n), _position(1.0, n)
    before = place = _slow_position(known, name, value, in_units)
    slope = 1.0
    if transform is not None:
        place, slope = slow_transform(transform, place)
        low, high = (slow_transform(transform, end)[0] for end in (low, high))
    law = student(freedom, min(max(mean, low), high), width)
    of_range = law.cdf(high) - law.cdf(low)
    if in_units:
        return float(law.pdf(place) / of_range / known.units[name][1] * slope)
    shape = known.scales[name]
    if value in shape.points:
        share = slow_distribution(shape, value)
        below = _position(share - shape.points[value], n)
        return float((law.cdf(_position(share, n)) - law.cdf(below)) / of_range)
    slope *= n / (n + 1) * math.exp(slow_log_density(shape, value)) / norm.pdf(before)
    return float(law.pdf(place) / of_range * slope)
