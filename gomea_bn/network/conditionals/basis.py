"""Functions of the parents of a column, their sums, and the prior of their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_SPREAD = 2.0
"""Width of cells, in scales, below which sums over their middles are right within 2 %."""

PRECISION = 0.1
"""Precision of the normal prior of intercepts and slopes, in rows of a standard normal column."""
PRIOR_ROWS = 1.0
"""Weight of the inverse-gamma prior of the scale, in rows."""
PRIOR_VARIANCE = 0.02
"""Variance of the inverse-gamma prior."""


def scale_of(squares: NDArray[np.float64] | float, n_rows: float) -> NDArray[np.float64]:
    """Return the scale of residuals from their sum of squares."""
    return np.sqrt((np.asarray(squares) + PRIOR_ROWS * PRIOR_VARIANCE) / (n_rows + PRIOR_ROWS))


def design_of(terms: NDArray[np.float64], groups: NDArray[np.int64], n_groups: int) -> NDArray[np.float64]:
    """Return the design of a regression with equal slopes: 1, the terms, and indicators of several groups."""
    indicators = np.eye(n_groups)[groups] if n_groups > 1 else np.empty((len(terms), 0))
    return np.column_stack([np.ones(len(terms)), terms, indicators])


def joint_groups(codes: Sequence[NDArray[Any]], n_levels: Sequence[int], n_rows: int) -> NDArray[np.int64]:
    """Return the configuration of discrete columns in every row, int64 (n_rows,), with the last column fastest."""
    groups = np.zeros(n_rows, np.int64)
    for of_column, n in zip(codes, n_levels, strict=True):
        groups = groups * n + of_column
    return groups


@dataclass(frozen=True, eq=False)
class LineTerms:
    """The functions of continuous parents whose sum, with coefficients, is the centre of a column.

    They are the positions of the parents themselves; then for every knot of a parent max(position - knot, 0), so that
    the parent has a curve that is linear between its knots; then the products of all pairs of parents, with squares;
    then all further products of a factor of one parent and a factor of another. The factors of a parent are its
    position and max(position - knot, 0) for each of its knots of products. Both sorts of knots are by parent, and empty
    for lines and for products of positions.
    """

    knots: tuple[NDArray[np.float64], ...]
    has_products: bool = False
    product_knots: tuple[NDArray[np.float64], ...] = ()

    @property
    def n_terms(self) -> int:
        """Number of functions."""
        return len(self.knots) + sum(map(len, self.knots)) + len(self.products)

    @property
    def products(self) -> list[tuple[int, int, int, int]]:
        """Parent and factor, and another parent and its factor, of every product."""
        if not self.has_products:
            return []
        plain = combinations_with_replacement(range(len(self.knots)), 2)
        n_factors = [1 + len(knots) for knots in self.product_knots]
        return [(i, 0, j, 0) for i, j in plain] + [
            (i, a, j, b)
            for i, j in combinations(range(len(n_factors)), 2)
            for a, b in product(range(n_factors[i]), range(n_factors[j]))
            if a or b
        ]

    def factors(self, parent: int, positions: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the factors of a parent at positions of any shape, each float64 of this shape."""
        knots = self.product_knots[parent] if self.product_knots else np.empty(0)
        return [positions, *(np.maximum(positions - knot, 0.0) for knot in knots.tolist())]

    @property
    def kind(self) -> str:
        """What the sum of the terms is: "line", "curve" or "surface"."""
        if self.has_products:
            return "surface"
        return "curve" if any(map(len, self.knots)) else "line"

    @property
    def words(self) -> str:
        """The kind with its article, for a sentence."""
        return {"line": "a line", "curve": "curves", "surface": "a surface"}[self.kind]

    def of_rows(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the functions of positions (n, n_parents) on the scales of the parents, float64 (n, n_terms)."""
        terms = [positions]
        terms += [
            np.maximum(column[:, None] - knots, 0.0)
            for column, knots in zip(positions.T, self.knots, strict=True)
            if len(knots)
        ]
        factors = [self.factors(parent, column) for parent, column in enumerate(positions.T)]
        terms += [factors[i][a] * factors[j][b] for i, a, j, b in self.products]
        return np.column_stack(terms)


def sum_of_terms(
    terms: LineTerms, coefficients: NDArray[np.float64], groups: Any, positions: list[NDArray[np.float64]]
) -> Any:
    """Return intercepts plus the sums of terms times their coefficients, of the shape that all values broadcast to.

    `coefficients` are (n_groups, n_terms + 1), of which every value takes those of its group, and `positions` those of
    every parent on its scale.
    """
    sums: Any = coefficients[groups, 0]
    place = 1
    first_knot = 1 + len(positions)
    for z, knots in zip(positions, terms.knots, strict=True):
        of_parent = [(place, z)]
        of_parent += [(first_knot + j, np.maximum(z - knot, 0.0)) for j, knot in enumerate(knots.tolist())]
        if len(coefficients) == 1:
            sums = sums + sum(coefficients[0, at] * term for at, term in of_parent)
        else:
            # one sum per group, of which every row takes its own
            columns = np.stack([term for _, term in of_parent], axis=-1)
            of_groups = columns @ coefficients[:, [at for at, _ in of_parent]].T
            flat = of_groups.reshape(-1, len(coefficients))
            sums = sums + flat[np.arange(len(flat)).reshape(z.shape), groups]
        place += 1
        first_knot += len(knots)
    factors = [terms.factors(parent, z) for parent, z in enumerate(positions)]
    for at, (i, a, j, b) in enumerate(terms.products, start=first_knot):
        sums = sums + coefficients[groups, at] * (factors[i][a] * factors[j][b])
    return sums
