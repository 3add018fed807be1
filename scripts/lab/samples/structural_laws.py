"""Rows of random graphs: linear, smooth or post-nonlinear equations, pairs, widths, counts, levels, or several.

Every law draws its graph and its equations from one generator and its rows from another, so that the same seed gives
the same graph for every number of rows. `SALT` makes these generators differ from those of other benchmarks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SALT = 41_977
N_COLUMNS = 10
N_DISCRETE = 4
"""Number of discrete columns of the law "mixed"."""
EDGES = (10, 13)
"""Smallest and largest number of edges of ten columns."""
LINEAR = 100
"""Number of the law "linear" of no columns; the number of columns is added."""
PRODUCTS = 200
"""Number of the law "products"."""
POST_NONLINEAR = 300
"""Number of the law "post-nonlinear"."""
COUNTS, WIDTHS, LEVELS = 400, 500, 600
"""Numbers of the laws "counts", "widths" and "levels"."""
SIGNS, SWITCHES = 700, 800
"""Numbers of the laws "signs" and "switches"."""
N_OTHERS = 5
"""Number of columns that are counts, or levels, of the laws of these names."""
MAX_PARENTS = 3
THRESHOLD_NOISE = 0.3
"""Standard deviation of the noise on a value before its level is read, in standard deviations of the value."""

Values = NDArray[np.float64]
Curve = Callable[[Values], Values]

CURVES: tuple[Curve, ...] = (lambda x: np.tanh(2.0 * x), lambda x: np.sin(2.0 * x), np.square, np.abs)
"""Functions of a standardised parent."""
OUTER: tuple[Curve, ...] = (lambda v: v, lambda v: np.exp(v / 2), lambda v: v + v**3 / 3, np.tanh)
"""Increasing functions of a column before it is observed, in the law "post-nonlinear"."""
TAIL = 3
"""Degrees of freedom of the noise of the law "post-nonlinear"."""


@dataclass(frozen=True)
class Sample:
    """Rows of one random graph: floats and categories of texts, "discrete" or "continuous" by column, true edges."""

    frame: pd.DataFrame
    kinds: dict[str, str]
    edges: list[tuple[str, str]]


def random_graph(
    generator: np.random.Generator, n_columns: int = N_COLUMNS, n_edges: int | None = None
) -> list[tuple[int, int]]:
    """Return the edges (parent, child) of a random graph in which parents have smaller numbers than children.

    Pairs are taken in random order while the child has fewer than three parents, up to `n_edges`, by default 10 to 13.
    """
    if n_edges is None:
        n_edges = int(generator.integers(EDGES[0], EDGES[1] + 1))
    pairs = [(parent, child) for child in range(n_columns) for parent in range(child)]
    n_parents = [0] * n_columns
    edges = []
    for position in generator.permutation(len(pairs)):
        parent, child = pairs[position]
        if n_parents[child] < MAX_PARENTS and len(edges) < n_edges:
            n_parents[child] += 1
            edges.append((parent, child))
    return sorted(edges)


def linear(n_rows: int, seed: int, n_columns: int = N_COLUMNS) -> Sample:
    """Return rows of linear Gaussian equations with as many edges as columns, that is with a mean degree of 2.

    A column is the sum of every standardised parent times a coefficient of .5 to 1.5 of either sign, plus normal noise
    of .5 to 1 standard deviations. A column without parents is standard normal.
    """
    law, rows = _generators(seed, LINEAR + n_columns)
    edges = random_graph(law, n_columns, n_columns)
    columns: list[Values] = []
    for child in range(n_columns):
        parents = [parent for parent, other in edges if other == child]
        coefficients = law.uniform(0.5, 1.5, len(parents)) * law.choice([-1.0, 1.0], len(parents))
        noise = float(law.uniform(0.5, 1.0)) if parents else 1.0
        values = noise * rows.normal(size=n_rows)
        for parent, coefficient in zip(parents, coefficients.tolist(), strict=True):
            values = values + coefficient * _standardised(columns[parent])
        columns.append(values)
    return _sample(columns, set(), edges, law)


def nonlinear(n_rows: int, seed: int) -> Sample:
    """Return rows of smooth equations with additive noise.

    A column is the standardised sum of one random curve of every parent, plus normal noise of 0.4 to 0.8 standard
    deviations. A column without parents is normal.
    """
    return _by_equations(n_rows, seed, 0)


def mixed(n_rows: int, seed: int) -> Sample:
    """Return rows of equations as in `nonlinear`, with four columns that are discrete and have 2 to 4 levels.

    The level of a discrete column is the interval of its value plus noise. Its children depend on the level alone,
    which adds one amount per level.
    """
    return _by_equations(n_rows, seed, N_DISCRETE)


def products(n_rows: int, seed: int) -> Sample:
    """Return rows in which the first two parents of a column act by their product, and neither of them alone.

    A single parent and a third one act by a curve, as in `nonlinear`, and the noise is that of `nonlinear`.
    """
    return _by_pairs(n_rows, seed, PRODUCTS, np.multiply)


def signs(n_rows: int, seed: int) -> Sample:
    """Return rows as in `products`, in which the sign of the product of the first two parents acts in its place."""
    return _by_pairs(n_rows, seed, SIGNS, lambda a, b: np.sign(a * b))


def switches(n_rows: int, seed: int) -> Sample:
    """Return rows as in `products`, in which the first parent decides the sign with which the second one acts."""
    return _by_pairs(n_rows, seed, SWITCHES, lambda a, b: np.where(a > 0, b, -b))


def post_nonlinear(n_rows: int, seed: int) -> Sample:
    """Return rows of increasing functions of a sum of curves and heavy-tailed noise.

    The sum is as in `nonlinear`, with noise of Student's t with three degrees of freedom and 0.4 to 0.8 standard
    deviations. A parent acts by the value before its function, not beyond four standard deviations.
    """
    law, rows = _generators(seed, POST_NONLINEAR)
    edges = random_graph(law)
    hidden: list[Values] = []
    columns: list[Values] = []
    for _child, parents in _families(edges):
        terms = [_term(hidden[parent], False, law) for parent in parents]
        noise, outer = float(law.uniform(0.4, 0.8)), OUTER[int(law.integers(len(OUTER)))]
        values = rows.standard_t(TAIL, size=n_rows) / np.sqrt(TAIL / (TAIL - 2))
        values = _standardised(np.sum(terms, axis=0)) + noise * values if terms else values
        hidden.append(np.clip(values, -4, 4))
        columns.append(outer(values))
    return _sample(columns, set(), edges, law)


def counts(n_rows: int, seed: int) -> Sample:
    """Return rows of linear equations in which five columns are Poisson counts, the logarithms of whose means are sums.

    The sum of a count has a standard deviation of .6 and a mean of .3 to 1.5. Other columns are sums of standardised
    parents, each times 1 or -1, and normal noise of 0.4 to 0.8 standard deviations.
    """
    law, rows = _generators(seed, COUNTS)
    edges = random_graph(law)
    of_counts = set(law.permutation(N_COLUMNS)[:N_OTHERS].tolist())
    columns: list[Values] = []
    for child, parents in _families(edges):
        terms = [float(law.choice([-1.0, 1.0])) * _standardised(columns[parent]) for parent in parents]
        index = _sum(terms, n_rows)
        mean, noise = float(law.uniform(0.3, 1.5)), float(law.uniform(0.4, 0.8))
        if child in of_counts:
            columns.append(rows.poisson(np.exp(mean + 0.6 * index)).astype(np.float64))
        else:
            columns.append(index + (noise if terms else 1.0) * rows.normal(size=n_rows))
    return _sample(columns, set(), edges, law)


def widths(n_rows: int, seed: int) -> Sample:
    """Return rows of normal noise whose logarithmic width is a sum over the parents, which move nothing else.

    The sum has one curve per parent, as in `nonlinear` but monotonic, and a standard deviation of .7.
    """
    law, rows = _generators(seed, WIDTHS)
    edges = random_graph(law)
    columns: list[Values] = []
    for _child, parents in _families(edges):
        terms = [
            float(law.choice([-1.0, 1.0])) * _standardised(np.tanh(_standardised(columns[parent])))
            for parent in parents
        ]
        columns.append(np.exp(0.7 * _sum(terms, n_rows)) * rows.normal(size=n_rows))
    return _sample(columns, set(), edges, law)


def levels(n_rows: int, seed: int) -> Sample:
    """Return rows of smooth equations in which five columns have 3 to 5 levels, without any order.

    A level is chosen by the largest of as many sums, each with curves of its own and the noise of a multinomial logit;
    the curves of a sum have together a standard deviation of 2. Other columns are as in `nonlinear`.
    """
    law, rows = _generators(seed, LEVELS)
    edges = random_graph(law)
    discrete = set(law.permutation(N_COLUMNS)[:N_OTHERS].tolist())
    columns: list[Values] = []
    for child, parents in _families(edges):
        n_sums = int(law.integers(3, 6)) if child in discrete else 1
        terms = [[_term(columns[p], p in discrete, law) for p in parents] for _ in range(n_sums)]
        sums = np.column_stack([_sum(of_sum, n_rows) for of_sum in terms])
        noise = float(law.uniform(0.4, 0.8))
        if child in discrete:
            columns.append(np.argmax(2 * sums + rows.gumbel(size=sums.shape), axis=1).astype(np.float64))
        else:
            columns.append(sums[:, 0] + (noise if parents else 1.0) * rows.normal(size=n_rows))
    return _sample(columns, discrete, edges, law)


def _by_pairs(n_rows: int, seed: int, number: int, joint: Callable[[Values, Values], Values]) -> Sample:
    """Return rows in which the first two parents of a column act by a function of both, standardised before it."""
    law, rows = _generators(seed, number)
    edges = random_graph(law)
    columns: list[Values] = []
    for _child, parents in _families(edges):
        pairs = [parents[:2]] if len(parents) > 1 else []
        terms = [_standardised(joint(_standardised(columns[p]), _standardised(columns[q]))) for p, q in pairs]
        terms += [_term(columns[parent], False, law) for parent in parents[2 * len(terms) :]]
        noise = float(law.uniform(0.4, 0.8))
        values = noise * rows.normal(size=n_rows)
        columns.append(_standardised(np.sum(terms, axis=0)) + values if terms else values)
    return _sample(columns, set(), edges, law)


def _by_equations(n_rows: int, seed: int, n_discrete: int) -> Sample:
    """Return rows of equations of which some columns are cut into levels."""
    law, rows = _generators(seed, n_discrete)
    edges = random_graph(law)
    discrete = set(law.permutation(N_COLUMNS)[:n_discrete].tolist())
    columns: list[Values] = []
    for child, parents in _families(edges):
        terms = [_term(columns[parent], parent in discrete, law) for parent in parents]
        noise = float(law.uniform(0.4, 0.8))
        values = rows.normal(size=n_rows)
        if terms:
            values = _standardised(np.sum(terms, axis=0)) + noise * values
        columns.append(_levels(values, law, rows) if child in discrete else values)
    return _sample(columns, discrete, edges, law)


def _families(edges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    """Give every column with its parents."""
    for child in range(N_COLUMNS):
        yield child, [parent for parent, other in edges if other == child]


def _sum(terms: Sequence[Values], n_rows: int) -> Values:
    """Return the standardised sum of terms, 0 without any."""
    return _standardised(np.sum(terms, axis=0)) if len(terms) else np.zeros(n_rows)


def _term(parent: Values, is_discrete: bool, law: np.random.Generator) -> Values:
    """Return the standardised contribution of a parent: a curve of its values, or one amount per level."""
    if is_discrete:
        # distinct amounts, because a curve may have the same value for two levels
        amounts = law.permutation(int(parent.max()) + 1).astype(np.float64)
        return _standardised(amounts[parent.astype(np.int64)])
    curve = CURVES[int(law.integers(len(CURVES)))]
    shift = float(law.uniform(-0.5, 0.5))
    return _standardised(curve(_standardised(parent) + shift))


def _levels(values: Values, law: np.random.Generator, rows: np.random.Generator) -> Values:
    """Return the numbers of the 2 to 4 levels that noisy thresholds make of values."""
    n_levels = int(law.integers(2, 5))
    shares = (np.arange(1, n_levels) + law.uniform(-0.25, 0.25, n_levels - 1)) / n_levels
    noisy = _standardised(values) + THRESHOLD_NOISE * rows.normal(size=len(values))
    return np.searchsorted(np.quantile(noisy, shares), noisy).astype(np.float64)


def _standardised(values: Values) -> Values:
    return np.asarray((values - values.mean()) / values.std())


def bells(n_rows: int, seed: int) -> Sample:
    """Return rows of hidden levels: every value is normal around the centre of its level.

    A column has 2 to 6 levels. Every row of its table given the levels of its parents is Dirichlet(1/2). Neighbouring
    centres are 0.7 to 1.3 apart. The deviation is 0.15 to 0.35 by column, so that neighbouring bells overlap.
    """
    law, rows = _generators(seed, N_COLUMNS + 1)
    edges = random_graph(law)
    n_levels = law.integers(2, 7, size=N_COLUMNS)
    levels: list[NDArray[np.int64]] = []
    columns: list[Values] = []
    for child, parents in _families(edges):
        configuration = np.zeros(n_rows, np.int64)
        for parent in parents:
            configuration = configuration * n_levels[parent] + levels[parent]
        n_configurations = int(np.prod(n_levels[parents])) if parents else 1
        table = law.dirichlet(np.full(n_levels[child], 0.5), size=n_configurations)
        below = np.cumsum(table, axis=1)[configuration, :-1]
        levels.append((rows.random(n_rows)[:, None] >= below).sum(axis=1))
        centres = np.cumsum(law.uniform(0.7, 1.3, n_levels[child]))
        deviation = float(law.uniform(0.15, 0.35))
        columns.append(centres[levels[child]] + deviation * rows.normal(size=n_rows))
    return _sample(columns, set(), edges, law)


def _generators(seed: int, law: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Return the generator of the graph and the equations, and that of the rows, for the number of a law."""
    return np.random.default_rng([SALT, seed, law, 0]), np.random.default_rng([SALT, seed, law, 1])


def _sample(
    columns: Sequence[Values], discrete: set[int], edges: list[tuple[int, int]], law: np.random.Generator
) -> Sample:
    """Return the columns in random order, so that the order does not show the direction of edges."""
    order = law.permutation(len(columns))
    names = {int(column): f"X{position + 1}" for position, column in enumerate(order)}
    frame = pd.DataFrame({names[int(column)]: columns[column] for column in order})
    kinds = {names[int(column)]: "discrete" if column in discrete else "continuous" for column in order}
    for name in (name for name, kind in kinds.items() if kind == "discrete"):
        texts = [f"v{int(level) + 1}" for level in np.unique(frame[name])]
        codes = frame[name].to_numpy().astype(np.int64)
        frame[name] = pd.Categorical.from_codes(codes, pd.Index(texts, dtype=object))
    return Sample(frame, kinds, [(names[parent], names[child]) for parent, child in edges])


LAWS: dict[str, Callable[[int, int], Sample]] = {
    "linear": linear,
    "linear of 20": partial(linear, n_columns=20),
    "nonlinear": nonlinear,
    "bells": bells,
    "mixed": mixed,
    "products": products,
    "signs": signs,
    "switches": switches,
    "post-nonlinear": post_nonlinear,
    "counts": counts,
    "widths": widths,
    "levels": levels,
}
"""Functions of the number of rows and the seed, by the name of the law."""
