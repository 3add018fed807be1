"""The logit of a discrete column: log odds of its levels that are sums of functions of its parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.basis import LineTerms, sum_of_terms
from gomea_bn.network.conditionals.kind import (
    ColumnFacts,
    Density,
    Fitted,
    FurtherRows,
    LineDensity,
    symmetric,
)
from gomea_bn.network.conditionals.scales import Columns

_MOST_STEPS = 100
_MOST_HALVINGS = 40
# expected gain of a step, in nats a row, below which there are no more
_LEAST_GAIN = 1e-9
# share of the mean information that keeps the sums of rows regular: constants of all levels may move together
_RIDGE = 1e-9
# more than rounding takes from the information of sure rows
_LEAST_RIDGE = 1e-12
# the same without some rows, as a share of the trace
_RIDGE_LEFT_OUT = 1e-9
_LEAST_PROBABILITY = 1e-300
# nodes over an interval of width 1 around 0, and their shares, of Gauss and Legendre
_NODES, _SHARES = (part / 2 for part in np.polynomial.legendre.leggauss(5))


@dataclass(frozen=True, eq=False)
class FamilyLogit(Fitted):
    """The logit of a family: level k has a probability in proportion to exp(a_k + b_k f).

    The index f is a sum of functions of the continuous parents, on their probability scales, and of one amount for
    every level of each discrete parent. With two levels this is logistic regression; with more it is the stereotype
    model of Anderson ("Regression and ordered categorical variables", 1984), whose levels have positions b on a line.

    Attributes
    ----------
    parents, groups : tuple of str
        Continuous and discrete parents, in the order of the coefficients and of the amounts.
    coefficients : ndarray of shape (n_terms,), float64
        Coefficients of the functions of the continuous parents.
    amounts : tuple of ndarray of shape (n_levels of the parent,), float64
        Amounts of the levels of every discrete parent.
    constants, positions : ndarray of shape (n_levels,), float64
        The numbers a and b of the levels of the column.
    information : ndarray of shape (n_levels + n_terms + n_amounts,) * 2, float64
        Minus the second derivatives of the log posterior by constants, coefficients and amounts.
    knots, has_products, product_knots
        As of `LineTerms`; by default the functions are the positions of the parents.

    Raises
    ------
    GomeaBnError
        For parts of other shapes, or that are not finite.
    """

    of_levels = True
    what = "a logit"
    kind = "logit"
    required = (
        "parents", "groups", "coefficients", "amounts", "constants", "positions", "information",
    )  # fmt: skip
    halves = ("information",)

    parents: tuple[str, ...]
    groups: tuple[str, ...]
    coefficients: NDArray[np.float64]
    amounts: tuple[NDArray[np.float64], ...]
    constants: NDArray[np.float64]
    positions: NDArray[np.float64]
    information: NDArray[np.float64]
    knots: tuple[NDArray[np.float64], ...] = ()
    has_products: bool = False
    product_knots: tuple[NDArray[np.float64], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", self.knots or ((),) * len(self.parents))
        is_finite = self._fix()
        n = len(self.constants) + len(self.coefficients) + sum(map(len, self.amounts))
        is_valid = (
            is_finite
            and len(self.parents) + len(self.groups) > 0
            and len(self.knots) == len(self.parents)
            and len(self.product_knots) in (0, self.has_products * len(self.parents))
            and self.coefficients.shape == (self.terms.n_terms,)
            and len(self.amounts) == len(self.groups)
            and self.constants.ndim == 1
            and len(self.constants) > 1
            and self.positions.shape == self.constants.shape
            and self.information.shape == (n, n)
        )
        if not is_valid:
            raise GomeaBnError(
                "A logit must have at least one parent, one coefficient per term, amounts of all levels of its "
                "discrete parents, and a constant and a position of each level, all finite."
            )

    @property
    def terms(self) -> LineTerms:
        """The functions of the continuous parents that have coefficients."""
        return LineTerms(self.knots, self.has_products, self.product_knots)

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        return f"a logit of {self.terms.words}" if self.parents else "a logit"

    @property
    def n_parameters(self) -> int:
        """Number of parameters that were estimated."""
        n_amounts = sum(len(of_parent) - 1 for of_parent in self.amounts)
        return len(self.coefficients) + n_amounts + 2 * len(self.constants) - 3

    def _check_groups(self, name: str, n_levels: Mapping[str, int]) -> None:
        sizes = [len(self.constants), *map(len, self.amounts)]
        wanted = [n_levels[name], *(n_levels[group] for group in self.groups)]
        if sizes != wanted:
            raise GomeaBnError(
                f"The logit of '{name}' must have constants and amounts of {wanted} levels, got {sizes}."
            )

    def density(self, name: str, facts: ColumnFacts) -> Density:
        """Return the probabilities of the levels of a column that follows the logit."""
        return _OfLevels(name, self, facts)

    def _design(self, rows: FurtherRows) -> NDArray[np.float64]:
        """Return the `logit_design` of rows, float64 (n_rows, n_slopes)."""
        terms = self.terms.of_rows(rows.positions(self.parents, self.in_units))
        groups = [rows.levels(group) for group in self.groups]
        return logit_design(terms, groups, [len(of_parent) for of_parent in self.amounts])

    def with_rows(self, name: str, rows: FurtherRows) -> FamilyLogit:
        """Return the logit with further rows; positions of levels stay.

        The rows so far are replaced by some whose parents are like theirs and whose levels have the present
        probabilities (pseudo-rehearsal: Robins, "Catastrophic forgetting, rehearsal and pseudorehearsal", 1995). The
        log likelihood of all is maximal at constants, coefficients and amounts that Newton's method finds; a step that
        lowers it is halved.
        """
        # the logit of a longer table was fitted to a sample of its rows
        share = min(rows.n_learned, rows.n_former) / rows.n_former
        n_former, weights, n_levels = (
            share * rows.old * rows.n_former,
            share * rows.weights,
            len(self.constants),
        )
        former, further = self._design(rows.like_former()), self._design(rows)
        parameters = np.concatenate([self.constants, self.coefficients, *self.amounts])
        # forgotten rows still keep the parameters finite
        of_former = np.full(len(former), max(n_former, len(parameters)) / len(former))
        counts = np.concatenate([of_former, weights])
        # sums of large weights would outgrow the ridge
        shares = counts / counts.sum()
        design = np.concatenate([former, further])
        at_present = log_levels(former @ parameters[n_levels:], self.constants, self.positions)
        targets = np.concatenate([np.exp(at_present), np.eye(n_levels)[rows.levels(name)]])

        def of_rows(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            """Return the mean log likelihood of the rows, and the log probabilities of all levels."""
            logs = log_levels(design @ parameters[n_levels:], parameters[:n_levels], self.positions)
            return float(shares @ (targets * logs).sum(axis=1)), logs

        likelihood, logs = of_rows(parameters)
        for _ in range(_MOST_STEPS):
            gradient, information = derivatives(design, logs, self.positions, targets, shares)
            ridge = _RIDGE * np.trace(information) / len(parameters) + _LEAST_RIDGE
            step = scipy.linalg.solve(information + ridge * np.eye(len(parameters)), gradient, assume_a="pos")
            if gradient @ step < _LEAST_GAIN:
                break
            for _ in range(_MOST_HALVINGS):
                next_likelihood, next_logs = of_rows(parameters + step)
                if next_likelihood > likelihood:
                    break
                step /= 2
            else:
                break
            parameters, likelihood, logs = parameters + step, next_likelihood, next_logs
        _, information = derivatives(design, logs, self.positions, targets, counts)
        return self._with_parameters(parameters, information)

    @property
    def can_leave_out(self) -> bool:
        """Whether `left_out` knows it without some rows: it does."""
        return True

    def left_out(self, name: str, rows: FurtherRows) -> FamilyLogit:
        """Return the logit without some rows, by one step of Newton's method.

        This is the approximation of cross-validation by Beirami, Razaviyayn, Shahrampour & Tarokh, "On optimal
        generalizability in parametric learning" (2017).
        """
        design = self._design(rows)
        slopes = np.concatenate([self.coefficients, *self.amounts])
        logs = log_levels(design @ slopes, self.constants, self.positions)
        targets = np.eye(len(self.constants))[rows.levels(name)]
        gradient, information = derivatives(design, logs, self.positions, targets, rows.weights)
        tied = self._ties()
        left = tied.T @ (rows.old * self.information - information) @ tied
        left += _RIDGE_LEFT_OUT * np.trace(left) * np.eye(len(left))
        step = tied @ np.clip(np.linalg.solve(left, -(tied.T @ gradient)), -1.0, 1.0)
        return self._with_parameters(
            np.concatenate([self.constants, slopes]) + step, rows.old * self.information - information
        )

    def _with_parameters(
        self, parameters: NDArray[np.float64], information: NDArray[np.float64]
    ) -> FamilyLogit:
        """Return the logit with other constants, coefficients and amounts, in this order."""
        sizes = [len(self.constants), len(self.coefficients), *map(len, self.amounts[:-1])]
        constants, coefficients, *amounts = np.split(parameters, np.cumsum(sizes))
        return replace(
            self,
            constants=constants,
            coefficients=coefficients,
            amounts=tuple(amounts) if self.groups else (),
            information=information,
        )

    def _ties(self) -> NDArray[np.float64]:
        """Return which parameters are one: equal amounts of levels of a parent, (n, n_different)."""
        blocks = [np.eye(len(self.constants) + len(self.coefficients))]
        for amounts in self.amounts:
            different, number = np.unique(amounts, return_inverse=True)
            blocks.append((number[:, None] == np.arange(len(different))).astype(np.float64))
        return np.asarray(scipy.linalg.block_diag(*blocks))

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        parts = super().parts_of(content)
        half, n = parts["information"], parts["constants"].size + parts["coefficients"].size
        n += sum(map(len, parts["amounts"]))
        if half.shape != (n * (n + 1) // 2,):
            raise GomeaBnError(
                f"The information of a logit with {n} parameters must be {n * (n + 1) // 2} numbers, got {half.size}."
            )
        return {**parts, "information": symmetric(half, n)}


def logit_design(
    terms: NDArray[np.float64], groups: Sequence[NDArray[np.int64]], n_levels: Sequence[int]
) -> NDArray[np.float64]:
    """Return terms of rows (n, n_terms), and indicators of the levels of discrete parents, float64 (n, n_slopes)."""
    indicators = [of_parent[:, None] == np.arange(n) for of_parent, n in zip(groups, n_levels, strict=True)]
    return np.column_stack([terms, *indicators]).astype(np.float64)


def log_levels(
    index: Any, constants: NDArray[np.float64], positions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log probabilities of all levels, float64 (..., n_levels), for an index of any shape."""
    logs = constants + positions * np.asarray(index)[..., None]
    return np.asarray(logs - scipy.special.logsumexp(logs, axis=-1, keepdims=True))


def derivatives(
    design: NDArray[np.float64],
    logs: NDArray[np.float64],
    positions: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gradient of the log likelihood by constants and slopes, and minus its second derivatives.

    `design` is (n, n_slopes), `logs` (n, n_levels) are log probabilities, `targets` (n, n_levels) the shares of the
    levels in every row, 1 for the one that it has, and `weights` (n,) those of the rows.
    """
    p = np.exp(logs)
    left = targets - p
    means = p @ positions
    variances = p @ positions**2 - means**2
    gradient = np.concatenate([weights @ left, (weights * (left @ positions)) @ design])
    weighted = p * weights[:, None]
    of_constants = np.diag(weighted.sum(axis=0)) - weighted.T @ p
    crossed = (weighted * (positions - means[:, None])).T @ design
    of_slopes = design.T @ (design * (weights * variances)[:, None])
    return gradient, np.block([[of_constants, crossed], [crossed.T, of_slopes]])


class _OfLevels(LineDensity):
    """The probabilities of levels under a logit."""

    def __init__(self, name: str, line: FamilyLogit, facts: ColumnFacts) -> None:
        super().__init__(name, line, facts)
        self._line = line
        self._coefficients = np.concatenate([[0.0], line.coefficients])[None]

    def log_density(
        self, values: Columns, along: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], Any]:
        codes = np.asarray(values[self.name]).astype(np.int64)
        if (bounds := values.bounds()) is None:
            return np.log(self._of_codes(values, codes)), None
        at_middle = self._of_codes(values, codes)
        at_ends = [self._of_codes(end, codes) for end in bounds]
        # by the second difference
        return np.log(at_middle), np.abs(sum(at_ends) / at_middle - 2.0) / 6.0

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        return self._probabilities(values)

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        probabilities = np.broadcast_to(self._probabilities(values), (n, len(self._line.constants)))
        below = np.cumsum(probabilities, axis=1)
        places = generator.random(n) * below[:, -1]
        return np.asarray((below[:, :-1] <= places[:, None]).sum(axis=1), np.int32)

    def bends(self, parent: str) -> NDArray[np.float64]:
        return self._knots(self._line.terms, parent)

    def _of_codes(self, values: Columns, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probabilities of levels by their codes, of the shape that all values broadcast to."""
        probabilities = self._probabilities(values)
        shape = np.broadcast_shapes(probabilities.shape[:-1], codes.shape)
        probabilities = np.broadcast_to(probabilities, (*shape, probabilities.shape[-1]))
        places = np.broadcast_to(codes, shape)[..., None]
        return np.maximum(np.take_along_axis(probabilities, places, axis=-1)[..., 0], _LEAST_PROBABILITY)

    def _probabilities(self, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of all levels, float64 (..., n_levels), averaged over the cells of parents."""
        line = self._line
        index: Any = sum_of_terms(line.terms, self._coefficients, np.int64(0), self._positions(values))
        for group, amounts in zip(self._group_columns, line.amounts, strict=True):
            index = index + amounts[np.asarray(values[group]).astype(np.int64)]
        moved = list(self._moved(line.terms, self._coefficients, np.int64(0), values))
        if not moved:
            return np.exp(log_levels(index, line.constants, line.positions))
        # parents move independently
        width = np.sqrt(sum(np.square(of_parent) for of_parent in moved))
        total: Any = 0.0
        for node, share in zip(_NODES, _SHARES, strict=True):
            total = total + share * _of_levels(index + node * width, line.constants, line.positions)
        return np.asarray(total)


def _of_levels(
    index: Any, constants: NDArray[np.float64], positions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the exponentials of `log_levels`, level by level, which is faster for few levels."""
    logs = [constant + position * index for constant, position in zip(constants, positions, strict=True)]
    top = np.maximum.reduce(logs)
    parts = [np.exp(of_level - top) for of_level in logs]
    return np.asarray(np.stack(parts, axis=-1) / sum(parts)[..., None])
