"""The logit of a discrete column: log odds of its levels that are sums of functions of its parents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.family_effects import effect_parts, effects_of_line, finite_numbers
from gomea_bn.network.conditionals.kind import (
    ColumnFacts,
    Density,
    Fitted,
    FurtherRows,
    LineDensity,
)
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.conditionals.terms import SumOfTerms, Terms, indicators
from gomea_bn.network.parts import WithTables

_MOST_STEPS = 100
# by how much log odds of a row may change in a step
_MOST_MOVED = 10.0
_MOST_HALVINGS = 40
# tenfold increases of the ridge, which keep steps short where rows say little
_MOST_DAMPINGS = 14
# expected gain of a step, in nats a row, below which there are no more
_LEAST_GAIN = 1e-9
# share of the mean information that keeps the sums of rows regular: constants of all levels may move together
_RIDGE = 1e-9
# more than rounding takes from the information of sure rows
_LEAST_RIDGE = 1e-12
_LEAST_PROBABILITY = 1e-300
_NUMBERS = ("coefficients", "constants", "positions")
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
        Continuous and discrete parents.
    terms : Terms
        Functions of the parents, of which the index is made.
    coefficients : ndarray of shape (n_terms + 1,), float64
        Intercept and coefficients of the terms.
    constants, positions : ndarray of shape (n_levels,), float64
        The numbers a and b of the levels of the column.

    Raises
    ------
    GomeaBnError
        For parts of other shapes, or that are not finite.
    """

    of_levels = True
    what = "a logit"
    kind = "logit"

    parents: tuple[str, ...]
    groups: tuple[str, ...]
    terms: Terms
    coefficients: NDArray[np.float64]
    constants: NDArray[np.float64]
    positions: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("coefficients", "constants", "positions"):
            object.__setattr__(self, name, finite_numbers(getattr(self, name), name, self.what))
        is_valid = (
            len(self.parents) + len(self.groups) > 0
            and self.coefficients.shape == (self.terms.n_terms + 1,)
            and self.constants.ndim == 1
            and len(self.constants) > 1
            and self.positions.shape == self.constants.shape
        )
        if not is_valid:
            raise GomeaBnError(
                "A logit must have at least one parent, an intercept and one coefficient per term, and a constant and "
                "a position of each level, all finite."
            )

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        return f"a logit of {self.terms.words}"

    @property
    def n_parameters(self) -> int:
        """Number of parameters that were estimated."""
        return self.terms.n_free + 2 * len(self.constants) - 3

    def scaled(self, name: str) -> set[tuple[bool, str]]:
        """Return the columns that it needs a scale of, each with whether that is in own units."""
        return self.terms.scaled

    def check(self, network: WithTables, name: str, scales: Mapping[bool, Mapping[str, Any]]) -> None:
        """Raise `GomeaBnError` unless the logit fits the family of a column, and its parents have a scale."""
        self.terms.check(network, name, self.parents, self.groups, scales)
        n_levels = len(network.levels[name])
        if len(self.constants) != n_levels:
            raise GomeaBnError(
                f"The logit of '{name}' must have constants of {n_levels} levels, got {len(self.constants)}."
            )

    def density(self, name: str, facts: ColumnFacts) -> Density:
        """Return the probabilities of the levels of a column that follows the logit."""
        return _OfLevels(name, self, facts)

    def _design(self, rows: FurtherRows) -> NDArray[np.float64]:
        """Return the terms of rows, float64 (n_rows, n_terms)."""
        return self.terms.of_rows(rows.columns, rows.facts.scales, rows.facts.n_levels)

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
        parameters = np.concatenate([self._moved_constants, self.coefficients[1:]])
        # forgotten rows still keep the parameters finite
        of_former = np.full(len(former), max(n_former, len(parameters)) / len(former))
        counts = np.concatenate([of_former, weights])
        # sums of large weights would outgrow the ridge
        shares = counts / counts.sum()
        design = np.concatenate([former, further])
        at_present = log_levels(former @ parameters[n_levels:], parameters[:n_levels], self.positions)
        targets = np.concatenate([np.exp(at_present), np.eye(n_levels)[rows.levels(name)]])

        def of_rows(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            """Return the mean log likelihood of the rows, and the log probabilities of all levels."""
            logs = log_levels(design @ parameters[n_levels:], parameters[:n_levels], self.positions)
            return float(shares @ (targets * logs).sum(axis=1)), logs

        likelihood, logs = of_rows(parameters)
        for _ in range(_MOST_STEPS):
            gradient, information = derivatives(design, logs, self.positions, targets, shares)
            ridge = _RIDGE * np.trace(information) / len(parameters) + _LEAST_RIDGE
            step = _solved(information, gradient, ridge)
            if gradient @ step < _LEAST_GAIN:
                break
            # what sure rows leave open would move by any amount, and keep all else where it is
            for _ in range(_MOST_DAMPINGS):
                moved = step[:n_levels] + self.positions * (design @ step[n_levels:])[:, None]
                most = float(np.ptp(moved, axis=1).max())
                if most <= _MOST_MOVED:
                    break
                ridge *= 10
                step = _solved(information, gradient, ridge)
            step *= min(1.0, _MOST_MOVED / max(most, _LEAST_GAIN))
            for _ in range(_MOST_HALVINGS):
                next_likelihood, next_logs = of_rows(parameters + step)
                if next_likelihood > likelihood:
                    break
                step /= 2
            else:
                break
            parameters, likelihood, logs = parameters + step, next_likelihood, next_logs
        return self._with_parameters(parameters)

    @property
    def can_leave_out(self) -> bool:
        """Whether `left_out` knows it without some rows: it does."""
        return True

    def left_out(self, name: str, rows: FurtherRows) -> FamilyLogit:
        """Return the logit without some rows, by one step of Newton's method.

        This is the approximation of cross-validation by Beirami, Razaviyayn, Shahrampour & Tarokh, "On optimal
        generalizability in parametric learning" (2017).
        """
        former, design = self._design(rows.like_former()), self._design(rows)
        slopes, n_levels = self.coefficients[1:], len(self.constants)
        weights = np.full(len(former), rows.old * rows.n_former / len(former))
        parts = []
        for terms, targets, counts in (
            (former, np.zeros((len(former), n_levels)), weights),
            (design, np.eye(n_levels)[rows.levels(name)], rows.weights),
        ):
            logs = log_levels(terms @ slopes, self._moved_constants, self.positions)
            parts.append(derivatives(terms, logs, self.positions, targets, counts))
        (_, of_all), (gradient, of_rows) = parts
        left = of_all - of_rows
        # what about one row says keeps parameters where they are that no other row tells of
        left += np.trace(of_all) / len(of_all) / max(float(weights.sum()), 1.0) * np.eye(len(left))
        step = np.clip(np.linalg.solve(left, -gradient), -1.0, 1.0)
        return self._with_parameters(np.concatenate([self._moved_constants, slopes]) + step)

    @property
    def _moved_constants(self) -> NDArray[np.float64]:
        """Constants of an index without intercept."""
        return np.asarray(self.constants + self.positions * self.coefficients[0])

    def _with_parameters(self, parameters: NDArray[np.float64]) -> FamilyLogit:
        """Return the logit with other constants and coefficients, in this order, and no intercept."""
        constants, coefficients = np.split(parameters, [len(self.constants)])
        return replace(self, constants=constants, coefficients=np.concatenate([[0.0], coefficients]))

    def to_content(self) -> dict[str, Any]:
        """Return the logit as values that JSON can hold."""
        numbers = {name: getattr(self, name).tolist() for name in _NUMBERS}
        names = {"parents": list(self.parents), "groups": list(self.groups)}
        return {"kind": self.kind, **names, **self.terms.to_content(), **numbers}

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        parts = effect_parts(content, cls.what, _NUMBERS)
        return {**parts, **{name: content[name] for name in _NUMBERS}}


def logit_of_earlier_versions(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a logit, given one of earlier versions: with hinges, products, and amounts of levels.

    Raises `GomeaBnError` for other values.
    """
    try:
        return _logit_of_earlier_versions(content)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise GomeaBnError(
            "A logit must be an object with the fields parents, groups, coefficients, constants, positions, and "
            f"amounts of the levels of every group: {error}."
        ) from error


def _logit_of_earlier_versions(content: Mapping[str, Any]) -> dict[str, Any]:
    line = {
        **content,
        "coefficients": [[0.0, *content["coefficients"]]],
        "scales": [],
        "freedom": [],
        "sums": None,
    }
    effects = effects_of_line(line)
    amounts = [
        indicators([group], [len(of)])
        for group, of in zip(content["groups"], content["amounts"], strict=True)
    ]
    n_first = len(effects["functions"])
    sizes = [part["size"] if "size" in part else len(part["matrix"][0]) for part in effects["functions"]]
    place = 1 + sum(sizes)
    coefficients = effects["coefficients"]
    levels = [amount for of_parent in content["amounts"] for amount in of_parent]
    effects["functions"] = effects["functions"][:n_first] + [part.to_content() for part in amounts]
    effects["coefficients"] = [*coefficients[:place], *levels, *coefficients[place:]]
    kept = ("parents", "groups", "functions", "factors", "products", "coefficients")
    numbers = {name: content[name] for name in ("constants", "positions")}
    return {"kind": FamilyLogit.kind, **{name: effects[name] for name in kept if name in effects}, **numbers}


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


def _solved(
    information: NDArray[np.float64], gradient: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """Return the step of Newton's method with a ridge."""
    return np.asarray(
        scipy.linalg.solve(information + ridge * np.eye(len(gradient)), gradient, assume_a="pos")
    )


class _OfLevels(LineDensity):
    """The probabilities of levels under a logit."""

    def __init__(self, name: str, line: FamilyLogit, facts: ColumnFacts) -> None:
        super().__init__(name, line, facts)
        self._line = line
        self._sum = SumOfTerms(line.terms, line.coefficients, facts.scales, facts.n_levels)

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
        return self._sum.bends(parent)

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
        index: Any = self._sum.of(values)
        moved = list(self._sum.moved(values))
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
