"""Effects of the parents of a column, whose sum is its centre or its log odds, and the climb that fits them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.scales import Columns, LineScale
from gomea_bn.network.parts import WithTables
from gomea_bn.problems.splines import spline_values

Scales = Mapping[bool, Mapping[str, LineScale]]

# of one parent in a file, whose matrix the file need not hold
_MOST_FUNCTIONS = 4096

NODES_OF_CELL = tuple(zip(*(part / 2 for part in np.polynomial.legendre.leggauss(5)), strict=True))
"""Places over a cell of width 1 around 0, and their shares in its mean, by the rule of Gauss and Legendre."""


@dataclass(frozen=True, eq=False)
class Functions:
    """Some functions of one parent, or of the levels of some discrete parents together.

    Attributes
    ----------
    of : tuple of str
        One continuous parent, or discrete parents, whose configurations are numbered with the last one fastest.
    knots : ndarray of shape (m,), float64
        Knots of B-splines of a continuous parent, with the outer ones repeated by the degree; empty for discrete ones.
        Beyond the outer knots functions stay as they are at these.
    matrix : ndarray of shape (n_splines or n_configurations, size), float64
        Functions as sums of the B-splines, or of indicators of the configurations.
    in_units : bool
        Whether a continuous parent is in its own units, and not on its probability scale.
    """

    of: tuple[str, ...]
    knots: NDArray[np.float64]
    matrix: NDArray[np.float64]
    in_units: bool = False

    @property
    def has_constant(self) -> bool:
        """Whether some sum of the functions is the same number everywhere."""
        n, size = self.matrix.shape
        if n == size:
            return True
        with_ones = np.column_stack([self.matrix, np.ones(n)])
        return bool(np.linalg.matrix_rank(with_ones) == np.linalg.matrix_rank(self.matrix))

    @property
    def size(self) -> int:
        """Number of functions."""
        return int(self.matrix.shape[1])

    @property
    def of_levels(self) -> bool:
        """Whether they are functions of levels."""
        return not len(self.knots)

    @property
    def degree(self) -> int:
        """Degree of the splines."""
        return len(self.knots) - len(self.matrix) - 1

    def at(self, places: NDArray[Any]) -> NDArray[np.float64]:
        """Return the functions at places on the scale of a parent, or at configurations, float64 (..., size)."""
        if self.of_levels:
            return self.matrix[np.asarray(places).astype(np.int64)]
        inside = np.clip(np.asarray(places, np.float64), self.knots[0], self.knots[-1])
        return spline_values(self.knots, self.matrix, self.degree, inside)

    def combined(self, coefficients: NDArray[np.float64]) -> Functions:
        """Return sums of the functions, given their coefficients, float64 (size, n_sums)."""
        return Functions(self.of, self.knots, self.matrix @ coefficients, self.in_units)

    def places(self, values: Columns, scales: Scales, n_levels: Mapping[str, int]) -> NDArray[Any]:
        """Return the places of values, or the numbers of configurations."""
        if not self.of_levels:
            return values.positions(self.of[0], scales[self.in_units][self.of[0]])
        configurations: Any = np.int64(0)
        for name in self.of:
            configurations = configurations * n_levels[name] + np.asarray(values[name]).astype(np.int64)
        return np.asarray(configurations)

    def to_content(self) -> dict[str, Any]:
        """Return the functions as values that JSON can hold."""
        content: dict[str, Any] = {"of": list(self.of)}
        is_plain = np.array_equal(self.matrix, np.eye(len(self.matrix)))
        content |= {"size": self.size} if is_plain else {"matrix": self.matrix.tolist()}
        if not self.of_levels:
            content |= {"knots": self.knots.tolist(), "in_units": self.in_units}
        return content

    @classmethod
    def from_content(cls, content: Any) -> Functions:
        """Return the functions that JSON values describe; raises `GomeaBnError` for others."""
        try:
            of, knots = tuple(content["of"]), np.array(content.get("knots", []), np.float64)
            if "matrix" not in content and not 0 < content["size"] <= _MOST_FUNCTIONS:
                raise GomeaBnError(
                    f"A parent must have from 1 to {_MOST_FUNCTIONS:,} functions, got {content['size']!r:.80}."
                )
            matrix = np.array(
                content["matrix"] if "matrix" in content else np.eye(content["size"]), np.float64
            )
            in_units = content.get("in_units", False)
            is_valid = (
                isinstance(content["of"], list)
                and len(of) > 0
                and all(isinstance(name, str) for name in of)
                and isinstance(in_units, bool)
                and knots.ndim == 1
                and matrix.ndim == 2
                and matrix.size > 0
                and bool(np.isfinite(knots).all() and np.isfinite(matrix).all())
            )
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise GomeaBnError(
                f"The functions of a parent must be an object with of, and matrix or size: {error}."
            ) from error
        functions = cls(of, knots, matrix, in_units)
        if is_valid and len(knots):
            degree = functions.degree
            is_valid = (
                0 <= degree < len(matrix)
                and len(of) == 1
                and bool((np.diff(knots) >= 0).all())
                # beyond repeated outer knots polynomials would go on
                and bool(knots[0] == knots[degree] and knots[-1] == knots[len(matrix)])
                # every B-spline has some range
                and bool((knots[degree + 1 :] > knots[: len(matrix)]).all())
            )
        if not is_valid:
            raise GomeaBnError(
                "The functions of a parent must have the name of a continuous parent with increasing knots, the outer "
                "ones repeated, or names of discrete ones, and a matrix of finite numbers with a row for every "
                "B-spline or configuration."
            )
        return functions


def broken_line(name: str, knots: NDArray[np.float64], *, in_units: bool) -> Functions:
    """Return the B-splines whose sums are linear between some knots, float64 (m,), at least two that increase."""
    repeated = np.concatenate([knots[:1], knots, knots[-1:]])
    return Functions((name,), repeated, np.eye(len(knots)), in_units)


def indicators(names: Sequence[str], n_levels: Sequence[int]) -> Functions:
    """Return the indicators of the configurations of discrete parents."""
    return Functions(tuple(names), np.empty(0), np.eye(prod(n_levels)))


@dataclass(frozen=True, eq=False)
class Terms:
    """Functions of parents, and products of functions of two parents.

    `functions` come first, and then, for every pair (i, j) of `products`, the products of every function of factor i
    with every one of factor j, the latter fastest. The factors of a pair may be the same.
    """

    functions: tuple[Functions, ...]
    factors: tuple[Functions, ...] = ()
    products: tuple[tuple[int, int], ...] = ()

    @property
    def sizes(self) -> list[int]:
        """Numbers of terms of the functions and of the products, in order."""
        products = [self.factors[i].size * self.factors[j].size for i, j in self.products]
        return [functions.size for functions in self.functions] + products

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return sum(self.sizes)

    @property
    def n_free(self) -> int:
        """Number of coefficients that change sums otherwise than by a constant.

        B-splines and indicators of a parent add up to a constant, and so may some sums of these.
        """
        return self.n_terms - sum(functions.has_constant for functions in self.functions)

    @property
    def words(self) -> str:
        """What the terms are, for a sentence."""
        if self.products:
            return "effects that depend on each other"
        continuous = [functions for functions in self.functions if not functions.of_levels]
        if any(functions.size > 2 for functions in continuous):
            return "curves"
        return "lines" if continuous else "amounts of levels"

    @property
    def scaled(self) -> set[tuple[bool, str]]:
        """Continuous parents, each with whether its functions are of its own units."""
        return {(f.in_units, f.of[0]) for f in (*self.functions, *self.factors) if not f.of_levels}

    def of_rows(self, values: Columns, scales: Scales, n_levels: Mapping[str, int]) -> NDArray[np.float64]:
        """Return the terms of rows, float64 (n, n_terms)."""
        blocks, factors = (
            [functions.at(functions.places(values, scales, n_levels)) for functions in part]
            for part in (self.functions, self.factors)
        )
        for i, j in self.products:
            blocks.append((factors[i][:, :, None] * factors[j][:, None, :]).reshape(values.n_rows, -1))
        return np.concatenate([np.empty((values.n_rows, 0)), *blocks], axis=1)

    def check(
        self,
        network: WithTables,
        name: str,
        parents: Sequence[str],
        groups: Sequence[str],
        scales: Mapping[bool, Mapping[str, Any]],
    ) -> None:
        """Raise `GomeaBnError` unless the terms are of parents of a column, with their levels and their scales."""
        for member in (*parents, *groups):
            if member not in network.parents(name):
                raise GomeaBnError(f"The effects on '{name}' are of '{member}', which is no parent.")
        for functions in (*self.functions, *self.factors):
            of_levels = functions.of_levels
            for parent in functions.of:
                if parent not in (groups if of_levels else parents):
                    kind = "discrete" if of_levels else "continuous"
                    raise GomeaBnError(
                        f"The effects on '{name}' are of '{parent}', which is no {kind} parent."
                    )
            if of_levels:
                n_levels = prod(len(network.levels[parent]) for parent in functions.of)
                if len(functions.matrix) != n_levels:
                    raise GomeaBnError(
                        f"The effects of {functions.of} on '{name}' must have {n_levels} rows, one for every level, "
                        f"got {len(functions.matrix)}."
                    )
            elif functions.of[0] not in scales[functions.in_units]:
                option = "units" if functions.in_units else "scales"
                raise GomeaBnError(
                    f"{option} must have an entry for '{functions.of[0]}', which has an effect."
                )

    def to_content(self) -> dict[str, Any]:
        """Return the terms as values that JSON can hold."""
        content: dict[str, Any] = {"functions": [functions.to_content() for functions in self.functions]}
        if self.products:
            content["factors"] = [functions.to_content() for functions in self.factors]
            content["products"] = [list(pair) for pair in self.products]
        return content

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Terms:
        """Return the terms that JSON values describe; raises `GomeaBnError` for others."""
        try:
            functions, factors = (
                tuple(Functions.from_content(one) for one in content.get(name, ()))
                for name in ("functions", "factors")
            )
            products = tuple((i, j) for i, j in content.get("products", ()))
        except (TypeError, ValueError) as error:
            raise GomeaBnError(f"The terms of a sum must be lists: {error}.") from error
        places = {place for pair in products for place in pair}
        if not all(isinstance(place, int) and 0 <= place < len(factors) for place in places):
            raise GomeaBnError(
                f"products must be pairs of positions below {len(factors)}, got {products!r:.80}."
            )
        return cls(functions, factors, products)


class SumOfTerms:
    """The sum of terms with coefficients, float64 (n_terms + 1,), of which the first is the intercept.

    Functions of a parent are added up first, so that a sum takes one function per parent.
    """

    def __init__(
        self, terms: Terms, coefficients: NDArray[np.float64], scales: Scales, n_levels: Mapping[str, int]
    ) -> None:
        self._scales, self._n_levels = scales, n_levels
        self._intercept = float(coefficients[0])
        parts = np.split(coefficients[1:], np.cumsum(terms.sizes)[:-1]) if terms.sizes else []
        n = len(terms.functions)
        self._curves = [f.combined(part[:, None]) for f, part in zip(terms.functions, parts[:n], strict=True)]
        # every function of the first factor, and what it is multiplied by
        self._products = [
            (terms.factors[i], terms.factors[j].combined(part.reshape(-1, terms.factors[j].size).T))
            for (i, j), part in zip(terms.products, parts[n:], strict=True)
        ]
        factors = (factor for pair in self._products for factor in pair)
        self._names = {name for functions in (*self._curves, *factors) for name in functions.of}

    def of(self, values: Columns) -> Any:
        """Return the sums, of the shape that the values of the parents broadcast to."""
        return values.made_of(self._names, self, self._sum)

    def _sum(self, values: Columns) -> Any:
        """Return the sums; those of parents that are known in a row are added up once."""
        curves, products = self._curves, self._products
        varied = [curve for curve in curves if values.vary(curve.of)]
        of_both = [pair for pair in products if values.vary((*pair[0].of, *pair[1].of))]
        if len(varied) == len(curves) and len(of_both) == len(products):
            return self._added(self._intercept, curves, products, values)
        known = [curve for curve in curves if curve not in varied]
        of_known = [pair for pair in products if pair not in of_both]
        names = [name for f in (*known, *(f for pair in of_known for f in pair)) for name in f.of]
        total = values.made_of(names, (self, "known"), partial(self._added, self._intercept, known, of_known))
        return self._added(total, varied, of_both, values)

    def _added(
        self,
        total: Any,
        curves: Sequence[Functions],
        products: Sequence[tuple[Functions, Functions]],
        values: Columns,
    ) -> Any:
        """Return a total with some terms added."""
        for curve in curves:
            total = total + self._at(curve, values)[..., 0]
        for first, second in products:
            total = total + (self._at(first, values) * self._at(second, values)).sum(axis=-1)
        return total

    def moved(self, values: Columns) -> Iterator[Any]:
        """Yield how far the sum moves inside the cells of each parent that has cells."""
        names = dict.fromkeys(
            f.of[0] for f in (*self._curves, *(f for pair in self._products for f in pair)) if not f.of_levels
        )
        for name in names:
            if values.ends(name) is None:
                continue
            total: Any = 0.0
            for curve in self._curves:
                if curve.of == (name,):
                    total = total + self._step(curve, values)[..., 0]
            for first, second in self._products:
                if first.of == second.of == (name,):
                    ends = [self._at(first, values, end) * self._at(second, values, end) for end in (0, 1)]
                    total = total + (ends[1] - ends[0]).sum(axis=-1)
                elif first.of == (name,):
                    total = total + (self._step(first, values) * self._at(second, values)).sum(axis=-1)
                elif second.of == (name,):
                    total = total + (self._at(first, values) * self._step(second, values)).sum(axis=-1)
            yield total

    def bends(self, name: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the sum has kinks, float64 (n,)."""
        found = [np.empty(0)]
        for curve in (*self._curves, *(factor for pair in self._products for factor in pair)):
            if curve.of == (name,) and not curve.of_levels:
                scale = self._scales[curve.in_units][name]
                # beyond the outer knots a curve is flat
                kinks = np.unique(curve.knots) if curve.degree == 1 else curve.knots[[0, -1]]
                found.append(scale.values_of(kinks[(kinks > scale.low) & (kinks < scale.high)]))
        return np.unique(np.concatenate(found))

    def _at(self, functions: Functions, values: Columns, end: int | None = None) -> NDArray[np.float64]:
        if end is None or functions.of_levels or (ends := values.ends(functions.of[0])) is None:

            def at(columns: Columns) -> NDArray[np.float64]:
                return functions.at(functions.places(columns, self._scales, self._n_levels))

            made: NDArray[np.float64] = values.made_of(functions.of, functions, at)
            return made
        scale = self._scales[functions.in_units][functions.of[0]]
        return functions.at(scale.of_values(ends[end]))

    def _step(self, functions: Functions, values: Columns) -> NDArray[np.float64]:
        return self._at(functions, values, 1) - self._at(functions, values, 0)


# expected gain of a step, in nats of a row, below which there are no more
LEAST_GAIN = 1e-9
_MOST_STEPS, _MOST_HALVINGS = 100, 40
# share of the mean information that keeps sums of rows regular: constants of all levels may move together
_RIDGE = 1e-9
# more than rounding takes from the information of sure rows
_LEAST_RIDGE = 1e-12

Parameters = NDArray[np.float64]
State = TypeVar("State")


def climb(
    value: Callable[[Parameters], tuple[float, State]],
    derivatives: Callable[[Parameters, State], tuple[Parameters, NDArray[np.float64]]],
    start: Parameters,
    moved: Callable[[Parameters], float],
    most_moved: float,
    *,
    n_ridges: int = 0,
    least_gain: float = LEAST_GAIN,
) -> tuple[Parameters, NDArray[np.float64]]:
    """Return the parameters where a mean log likelihood of rows is largest, and the information at the last step.

    Parameters
    ----------
    value : callable
        Returns the log likelihood at some parameters, and what `derivatives` needs to know of them.
    derivatives : callable
        Returns the gradient, (n,), and minus the second derivative, (n, n), which is never negative.
    start : ndarray of shape (n,), float64
        First parameters.
    moved : callable
        Returns how far a step moves the row that it moves most.
    most_moved : float
        The farthest that a step may move a row. A longer step is shortened, and one that lowers the likelihood halved.
    n_ridges : int
        How often the ridge becomes ten times as large before a long step is shortened: what sure rows leave open would
        move by any amount, and keep all else where it is.
    least_gain : float
        A step that promises half of it is no longer taken.
    """
    parameters = np.array(start, np.float64)
    present, state = value(parameters)
    information = np.empty(0)
    for _ in range(_MOST_STEPS):
        gradient, information = derivatives(parameters, state)
        ridge = _RIDGE * np.trace(information) / len(parameters) + _LEAST_RIDGE
        step = _solved(information, gradient, ridge)
        if gradient @ step < least_gain:
            break
        for _ in range(n_ridges):
            if moved(step) <= most_moved:
                break
            ridge *= 10
            step = _solved(information, gradient, ridge)
        step *= min(1.0, most_moved / max(moved(step), LEAST_GAIN))
        for _ in range(_MOST_HALVINGS):
            following, next_state = value(parameters + step)
            if following > present:
                break
            step /= 2
        else:
            break
        parameters, present, state = parameters + step, following, next_state
    return parameters, information


def _solved(information: NDArray[np.float64], gradient: Parameters, ridge: float) -> Parameters:
    return np.asarray(
        scipy.linalg.solve(information + ridge * np.eye(len(gradient)), gradient, assume_a="pos")
    )
