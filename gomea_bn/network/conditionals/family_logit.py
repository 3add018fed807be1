"""The logit of a discrete column: log odds of its levels that are sums of functions of its parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.family_effects import effect_parts, effects_of_line, finite_numbers
from gomea_bn.network.conditionals.kind import LEAST_PROBABILITY, Fitted, FurtherRows
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.conditionals.terms import (
    LEAST_GAIN,
    NODES_OF_CELL,
    SumOfTerms,
    Terms,
    climb,
    indicators,
)
from gomea_bn.network.parts import WithTables

# by how much log odds of a row may change in a step
_MOST_MOVED = 10.0
# tenfold increases of the ridge, which keep steps short where rows say little
_MOST_RIDGES = 14
# rounding of distances between positions that are equal, as a share
_SAME_STEP = 1e-9
_NUMBERS = ("coefficients", "constants", "positions")


@dataclass(frozen=True, eq=False)
class FamilyLogit(Fitted):
    """The logit of a family: level k has a probability in proportion to exp(a_k + b_1k f_1 + b_2k f_2 + ...).

    An index f is a sum of functions of the continuous parents, on their probability scales, and of one amount for every
    level of each discrete parent. With two levels this is logistic regression. With more levels and one index it is the
    stereotype model of Anderson ("Regression and ordered categorical variables", 1984), whose levels have positions b
    on a line, and with an index per level multinomial regression. Positions at equal distances are those of levels in
    their order, each step of which is one ratio of odds (Goodman, "Simple models for the analysis of association in
    cross-classifications having ordered categories", 1979).

    Attributes
    ----------
    parents, groups : tuple of str
        Continuous and discrete parents.
    terms : Terms
        Functions of the parents, of which the index is made.
    coefficients : ndarray of shape (n_indices, n_terms + 1), float64
        Intercept and coefficients of the terms, of every index.
    constants : ndarray of shape (n_levels,), float64
        The numbers a of the levels of the column.
    positions : ndarray of shape (n_indices, n_levels), float64
        The numbers b of the levels, of every index.

    The constructor and files may leave out the axis of a single index.

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
        for name in ("coefficients", "positions"):
            object.__setattr__(self, name, np.atleast_2d(getattr(self, name)))
        is_valid = (
            len(self.parents) + len(self.groups) > 0
            and self.constants.ndim == 1
            and len(self.constants) > 1
            and self.coefficients.shape == (len(self.positions), self.terms.n_terms + 1)
            and self.positions.shape[1:] == self.constants.shape
        )
        if not is_valid:
            raise GomeaBnError(
                "A logit must have at least one parent, an intercept and one coefficient per term of every index, a "
                "constant of each level, and a position of each level on every index, all finite."
            )

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        if self.is_in_order:
            return f"a logistic regression of levels in their order on {self.terms.words}"
        return f"a logistic regression on {self.terms.words}"

    @property
    def is_in_order(self) -> bool:
        """Whether more than two levels are at equal distances, so that every step is one ratio of odds."""
        steps = np.diff(self.positions[0])
        return len(self.positions) == 1 < len(steps) and bool(np.ptp(steps) <= _SAME_STEP * abs(steps[0]))

    @property
    def n_parameters(self) -> int:
        """Number of parameters that were estimated."""
        n_indices, n_levels = self.positions.shape
        if n_indices == 1:
            return self.terms.n_free + int(n_levels) - 1 + (0 if self.is_in_order else int(n_levels) - 2)
        return int(min(n_indices, n_levels - 1)) * self.terms.n_free + int(n_levels) - 1

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
        parameters = np.concatenate([self._moved_constants, self._slopes.ravel()])
        # forgotten rows still keep the parameters finite
        of_former = np.full(len(former), max(n_former, len(parameters)) / len(former))
        counts = np.concatenate([of_former, weights])
        # sums of large weights would outgrow the ridge
        shares = counts / counts.sum()
        design = np.concatenate([former, further])
        at_present = self._logs(former, parameters)
        targets = np.concatenate([np.exp(at_present), np.eye(n_levels)[rows.levels(name)]])

        def of_rows(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            """Return the mean log likelihood of the rows, and the log probabilities of all levels."""
            logs = self._logs(design, parameters)
            return float(shares @ (targets * logs).sum(axis=1)), logs

        def moved(step: NDArray[np.float64]) -> float:
            return float(
                np.ptp(step[:n_levels] + self._indices(design, step).T @ self.positions, axis=1).max()
            )

        parameters, _ = climb(
            of_rows,
            lambda _, logs: derivatives(design, logs, self.positions, targets, shares),
            parameters,
            moved,
            _MOST_MOVED,
            n_ridges=_MOST_RIDGES,
            # a hundredth of a nat over all rows
            least_gain=max(0.01 / counts.sum(), LEAST_GAIN),
        )
        return self._with_parameters(parameters)

    def counted(self, name: str, rows: FurtherRows) -> FamilyLogit:
        """Return the logit whose levels are as frequent as in the rows; coefficients, which had priors, stay.

        Constants have no priors. A level without rows keeps its frequency.
        """
        indices, shares = self._slopes @ self._design(rows).T, rows.weights / rows.weights.sum()

        def at(constants: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            """Return the mean log likelihood of the frequencies but for a constant, and all probabilities."""
            logs = log_levels(indices, constants, self.positions)
            # the first level stands for the norm
            return float(wanted @ constants + shares @ (logs[:, 0] - constants[0])), np.exp(logs)

        def derivatives_at(
            _: NDArray[np.float64], p: NDArray[np.float64]
        ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            means = shares @ p
            return wanted - means, np.diag(means) - p.T @ (p * shares[:, None])

        present = self._moved_constants
        wanted = np.bincount(rows.levels(name), shares, minlength=len(present))
        before = shares @ np.exp(log_levels(indices, present, self.positions))
        is_seen = wanted > 0
        wanted = np.where(is_seen, wanted * before[is_seen].sum(), before)
        constants, _ = climb(at, derivatives_at, present, lambda step: float(np.ptp(step)), _MOST_MOVED)
        return self._with_parameters(np.concatenate([constants, self._slopes.ravel()]))

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
        parameters, n_levels = (
            np.concatenate([self._moved_constants, self._slopes.ravel()]),
            len(self.constants),
        )
        weights = np.full(len(former), rows.old * rows.n_former / len(former))
        parts = []
        for terms, targets, counts in (
            (former, np.zeros((len(former), n_levels)), weights),
            (design, np.eye(n_levels)[rows.levels(name)], rows.weights),
        ):
            logs = self._logs(terms, parameters)
            parts.append(derivatives(terms, logs, self.positions, targets, counts))
        (_, of_all), (gradient, of_rows) = parts
        left = of_all - of_rows
        # what about one row says keeps parameters where they are that no other row tells of
        left += np.trace(of_all) / len(of_all) / max(float(weights.sum()), 1.0) * np.eye(len(left))
        step = np.clip(np.linalg.solve(left, -gradient), -1.0, 1.0)
        return self._with_parameters(parameters + step)

    @property
    def _moved_constants(self) -> NDArray[np.float64]:
        """Constants of indices without intercepts."""
        return np.asarray(self.constants + self.coefficients[:, 0] @ self.positions)

    @property
    def _slopes(self) -> NDArray[np.float64]:
        """Coefficients of the terms, float64 (n_indices, n_terms)."""
        return self.coefficients[:, 1:]

    def _indices(self, design: NDArray[np.float64], parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the indices of rows of terms, float64 (n_indices, n), given constants and coefficients in a row."""
        return np.asarray(parameters[len(self.constants) :].reshape(self._slopes.shape) @ design.T)

    def _logs(self, design: NDArray[np.float64], parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log probabilities of all levels in rows of terms, float64 (n, n_levels)."""
        constants = parameters[: len(self.constants)]
        return log_levels(self._indices(design, parameters), constants, self.positions)

    def _with_parameters(self, parameters: NDArray[np.float64]) -> FamilyLogit:
        """Return the logit with other constants and coefficients, in this order, and no intercept."""
        constants, slopes = np.split(parameters, [len(self.constants)])
        coefficients = np.zeros_like(self.coefficients)
        coefficients[:, 1:] = slopes.reshape(self._slopes.shape)
        return replace(self, constants=constants, coefficients=coefficients)

    def to_content(self) -> dict[str, Any]:
        """Return the logit as values that JSON can hold."""
        arrays = {name: getattr(self, name) for name in _NUMBERS}
        if len(self.positions) == 1:
            arrays |= {name: arrays[name][0] for name in ("coefficients", "positions")}
        numbers = {name: array.tolist() for name, array in arrays.items()}
        names = {"parents": list(self.parents), "groups": list(self.groups)}
        return {"kind": self.kind, **names, **self.terms.to_content(), **numbers}

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the parts that JSON values describe; raises `GomeaBnError` for values of other types."""
        parts = effect_parts(content, cls.what, _NUMBERS)
        return {**parts, **{name: content[name] for name in _NUMBERS}}

    @cached_property
    def _sums(self) -> list[SumOfTerms]:
        """One sum per index."""
        facts = self.facts
        return [SumOfTerms(self.terms, of, facts.scales, facts.n_levels) for of in self.coefficients]

    def log_density(
        self, values: Columns, along: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density, and its relative error where values are the middles of cells, or None."""
        codes = np.asarray(values[self.name]).astype(np.int64)
        if (bounds := values.bounds()) is None:
            return np.log(self._of_codes(values, codes)), None
        at_middle = self._of_codes(values, codes)
        at_ends = [self._of_codes(end, codes) for end in bounds]
        # by the second difference
        return np.log(at_middle), np.abs(sum(at_ends) / at_middle - 2.0) / 6.0

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of the cells between some cuts, or of all levels, float64 (..., n_cells)."""
        return self._probabilities(values)

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, (n,)."""
        probabilities = np.broadcast_to(self._probabilities(values), (n, len(self.constants)))
        below = np.cumsum(probabilities, axis=1)
        places = generator.random(n) * below[:, -1]
        return np.asarray((below[:, :-1] <= places[:, None]).sum(axis=1), np.int32)

    def bends(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the density bends, float64 (n,)."""
        return np.unique(np.concatenate([of_index.bends(parent) for of_index in self._sums]))

    def _of_codes(self, values: Columns, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probabilities of levels by their codes, of the shape that all values broadcast to."""
        probabilities = self._probabilities(values)
        shape = np.broadcast_shapes(probabilities.shape[:-1], codes.shape)
        probabilities = np.broadcast_to(probabilities, (*shape, probabilities.shape[-1]))
        places = np.broadcast_to(codes, shape)[..., None]
        return np.maximum(np.take_along_axis(probabilities, places, axis=-1)[..., 0], LEAST_PROBABILITY)

    def _probabilities(self, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of all levels, float64 (..., n_levels), averaged over the cells of parents."""
        indices = [of_index.of(values) for of_index in self._sums]
        moved = [list(of_index.moved(values)) for of_index in self._sums]
        if not moved[0]:
            return _of_levels(indices, self.constants, self.positions)
        # parents move independently, and a parent moves all indices together
        widths = [
            np.sqrt(sum(np.square(of_parent) for of_parent in steps))
            * (1 if len(moved) == 1 else np.sign(sum(steps)))
            for steps in moved
        ]
        total: Any = 0.0
        for node, share in NODES_OF_CELL:
            at = [index + node * width for index, width in zip(indices, widths, strict=True)]
            total = total + share * _of_levels(at, self.constants, self.positions)
        return np.asarray(total)


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
    indices: Any, constants: NDArray[np.float64], positions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log probabilities of all levels, float64 (..., n_levels), for indices (n_indices, ...)."""
    logs = constants + sum(of[..., None] * b for of, b in zip(np.asarray(indices), positions, strict=True))
    return np.asarray(logs - scipy.special.logsumexp(logs, axis=-1, keepdims=True))


def derivatives(
    design: NDArray[np.float64],
    logs: NDArray[np.float64],
    positions: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gradient of the log likelihood by constants and slopes, and minus its second derivatives.

    The slopes of one index follow those of another. `positions` are (n_indices, n_levels), `design` is (n, n_slopes),
    `logs` (n, n_levels) are log probabilities, `targets` (n, n_levels) the shares of the levels in every row, 1 for the
    one that it has, and `weights` (n,) those of the rows.
    """
    p = np.exp(logs)
    left = targets - p
    means = [p @ b for b in positions]
    gradient = np.concatenate([weights @ left, *((weights * (left @ b)) @ design for b in positions)])
    weighted = p * weights[:, None]
    of_constants = np.diag(weighted.sum(axis=0)) - weighted.T @ p
    crossed = [(weighted * (b - mean[:, None])).T @ design for b, mean in zip(positions, means, strict=True)]
    of_slopes: dict[tuple[int, int], NDArray[np.float64]] = {}
    for i, j in combinations_with_replacement(range(len(positions)), 2):
        covariances = p @ (positions[i] * positions[j]) - means[i] * means[j]
        of_slopes[i, j] = of_slopes[j, i] = design.T @ (design * (weights * covariances)[:, None])
    rows = [
        [of_crossed.T, *(of_slopes[i, j] for j in range(len(positions)))]
        for i, of_crossed in enumerate(crossed)
    ]
    return gradient, np.block([[of_constants, *crossed], *rows])


def _of_levels(
    indices: Sequence[Any], constants: NDArray[np.float64], positions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the exponentials of `log_levels`, level by level, which is faster for few levels."""
    logs = [
        constant + sum(b * index for b, index in zip(of_level, indices, strict=True))
        for constant, of_level in zip(constants, positions.T, strict=True)
    ]
    top = np.maximum.reduce(logs)
    parts = [np.exp(of_level - top) for of_level in logs]
    return np.asarray(np.stack(parts, axis=-1) / sum(parts)[..., None])
