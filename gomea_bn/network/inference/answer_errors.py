"""How sure answers about one column are: by the rows behind the tables, and by what graph and bins do not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from math import prod
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.network.graph import requisite_tables
from gomea_bn.network.inference.engine import Engine, engine_for
from gomea_bn.network.inference.question import Evidence
from gomea_bn.network.recorded import NetworkLike, ordered_parents, recorded_misfits

Sensitivity: TypeAlias = tuple[
    int, tuple[str, ...], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]

# limits of the rows of a table
_TABLE_ROWS = (256, 4_096)


def ends_of(
    answers: NDArray[np.float64] | float, errors: NDArray[np.float64] | float, probability: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the low and the high ends of intervals around answers with normal errors."""
    half = NormalDist().inv_cdf((1 + probability) / 2) * np.asarray(errors)
    return answers - half, answers + half


class AnswerErrors:
    """Standard errors of the means of functions of one column, the target, given evidence over the shown bins.

    `gains` (n_answers, card(target)) are the functions: the probability of a level is the mean of its indicator.
    Two errors add up. Every row of a table over the shown bins is as uncertain as a Dirichlet distribution with the
    weight of its expected number of training rows plus 1. A table of more rows than the training rows can fill is that
    of fewer parents: those of which something is known come first, then those that add most. And graph and bins are
    wrong: a fit records the misfit of every column, a share of the standard deviation of the function given the
    findings; see `recorded_misfits`.

    Attributes
    ----------
    misfit : float or None
        That of the target, None if it is not known.
    """

    def __init__(self, network: NetworkLike, target: str, gains: NDArray[np.float64]) -> None:
        self._network, self._position, self._gains = network, network.names.index(target), gains
        self.misfit = recorded_misfits(network).get(target)
        self._parents = {name: network.parents(name) for name in network.names}
        rows: Any = (
            network.metadata.get("n_rows") if network.conditionals is None else network.conditionals.n_rows
        )
        self._n_rows = float(rows) if is_integer(rows) else np.nan
        self._weights: dict[int, NDArray[np.float64]] = {}
        # by the parents of columns with large tables
        self._smaller: dict[tuple[tuple[str, ...], ...], AnswerErrors] = {}

    @cached_property
    def _engine(self) -> Engine:
        return engine_for(self._network, cells="bins")

    def errors(self, evidence: Evidence) -> NDArray[np.float64]:
        """Return the standard error of every answer for every row, float64 (n_rows, n_answers).

        They are NaN if the network does not know its number of rows, for impossible evidence, and where an exact answer
        is too large. Every finding adds a misfit; without any the column has the distribution of its rows.
        """
        result = np.full((len(evidence), len(self._gains)), np.nan)
        fewest, most = _TABLE_ROWS
        # rows of a table: as many as the training rows fill with some each, within limits
        rows_of_table = most if np.isnan(self._n_rows) else self._n_rows / 20
        for rows, part in self._parts(evidence, float(np.clip(rows_of_table, fewest, most))):
            with suppress(GomeaBnError):
                result[rows] = part._errors(evidence.take(rows))
        return result

    def _errors(self, evidence: Evidence) -> NDArray[np.float64]:
        joint = self._engine.joint(evidence, [self._position])
        tables = np.where(joint.log_evidence[:, None] == -np.inf, np.nan, joint.tables)
        means = tables @ self._gains.T
        spreads = np.maximum(tables @ np.square(self._gains).T - np.square(means), 0.0)
        variances = (self.misfit or 0.0) ** 2 * self._known(evidence).sum(axis=1)[:, None] * spreads
        for _, _, table, derivatives, weights in self._sensitivities(evidence):
            mean = (table * derivatives).sum(axis=-1)
            of_rows = ((table * derivatives**2).sum(axis=-1) - mean**2) / (weights + 1)
            variances += of_rows.sum(axis=tuple(range(2, of_rows.ndim)))
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)), np.float64)

    def sensitivities(self, evidence: Evidence) -> Iterator[Sensitivity]:
        """Yield how the answers to one row of evidence depend on every table that they depend on at all.

        That is the position of a column, its parents that have an axis each, P(column | parents) (*shape,), the
        derivatives of the answers to its cells (n_rows, n_answers, *shape), and the numbers of training rows that each
        row of the table stands for, plus 1 (*shape[:-1],).
        """
        ((_, part),) = self._parts(evidence, _TABLE_ROWS[1])
        yield from part._sensitivities(evidence)

    def _parts(self, evidence: Evidence, most: float) -> Iterator[tuple[NDArray[np.int64], AnswerErrors]]:
        """Yield rows of evidence, int64 (n,), with the errors of a network whose tables have at most some rows."""
        network, known = self._network, self._known(evidence)
        sizes = {name: _table_rows(network, network.parents(name)) for name in network.names}
        large = [name for name, size in sizes.items() if size > most]
        cards = [network.cardinality(name) for name in network.names]
        n_numbers = len(self._gains) * max(
            card * min(size, most) for card, size in zip(cards, sizes.values(), strict=True)
        )
        # derivatives that are computed at the same time
        step = max(int(2**22 / n_numbers), 1)
        patterns, pattern_of = np.unique(known if large else known[:, :0], axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            part = self
            if large:
                some = {network.names[v] for v in np.flatnonzero(pattern).tolist()}
                kept = tuple(self._kept(name, some, most) for name in large)
                if kept not in self._smaller:
                    fewer = network.with_fewer_parents(dict(zip(large, kept, strict=True)))
                    part = AnswerErrors(fewer, network.names[self._position], self._gains)
                    part.misfit, part._n_rows = self.misfit, self._n_rows
                    self._smaller[kept] = part
                part = self._smaller[kept]
            rows = np.flatnonzero(pattern_of.ravel() == number)
            for first in range(0, len(rows), step):
                yield rows[first : first + step], part

    def _kept(self, name: str, known: set[str], most: float) -> tuple[str, ...]:
        """Return parents whose table has at most some rows: those of which something is known, then the best ones."""
        kept: list[str] = []
        ordered = ordered_parents(self._network, name)
        for parent in sorted(ordered, key=lambda one: one not in known):
            if _table_rows(self._network, [*kept, parent]) <= most:
                kept.append(parent)
        return tuple(kept)

    def _sensitivities(self, evidence: Evidence) -> Iterator[Sensitivity]:
        """Yield the sensitivities of rows of evidence.

        The derivative of the mean of a function g to P(x | parents) is (E[g 1(x, parents)] - E[g] P(x, parents)) / P(x
        | parents), all given the evidence, since a probability is linear in each cell of a table. A weight of the
        evidence that is proportional to g gives the first term.
        """
        network, gains = self._network, self._gains
        n, n_answers = len(evidence), len(gains)
        # positive weights: a constant in g changes no derivative
        spreads = np.ptp(gains, axis=1, keepdims=True)
        tilts = gains - gains.min(axis=1, keepdims=True) + np.where(spreads > 0, spreads, 1.0)
        means = self._engine.joint(evidence, [self._position]).tables @ tilts.T
        needed = self._needed(evidence)
        for v, name in enumerate(network.names):
            rows = np.flatnonzero(needed[:, v])
            if not len(rows):
                continue
            parents = network.parents(name)
            family = [network.names.index(other) for other in (*parents, name)]
            shape = [network.cardinality(network.names[member]) for member in family]
            plain = evidence.take(rows)
            of_rows = self._family(plain, family, shape)
            tilted = self._family(self._tilted(plain, tilts), family, shape)
            moved = tilted.reshape(len(rows), n_answers, *shape) - of_rows[:, None]
            moved *= means[rows].reshape(len(rows), n_answers, *[1] * len(shape))
            table = network.tables[name]
            derivatives = np.zeros((n, n_answers, *shape))
            derivatives[rows] = np.divide(moved, table, out=np.zeros_like(moved), where=table > 0)
            yield v, parents, table, derivatives, self._weights_of(v, family, shape)

    def _tilted(self, evidence: Evidence, tilts: NDArray[np.float64]) -> Evidence:
        """Return every row of evidence once per answer, with its tilt as a weight of the target."""
        repeated = evidence.take(np.repeat(np.arange(len(evidence)), len(tilts)))
        weights = dict(repeated.weights)
        weights[self._position] = np.tile(tilts, (len(evidence), 1)) * weights.get(self._position, 1.0)
        return Evidence(repeated.codes, weights)

    def _weights_of(self, v: int, family: Sequence[int], shape: Sequence[int]) -> NDArray[np.float64]:
        if v not in self._weights:
            unknown = Evidence(np.full((1, len(self._network.names)), -1, np.int32), {})
            parents, of_parents = family[:-1], shape[:-1]
            self._weights[v] = self._n_rows * self._family(unknown, parents, of_parents)[0] + 1
        return self._weights[v]

    def _known(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Return which columns something is known of, bool (n_rows, n_variables)."""
        known = evidence.codes >= 0
        for v, weights in evidence.weights.items():
            known[:, v] |= np.ptp(weights, axis=1) > 0
        return known

    def _needed(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Return the columns on whose tables answers depend, bool (n_rows, n_variables)."""
        names, known = self._network.names, self._known(evidence)
        needed = np.zeros(known.shape, np.bool_)
        patterns = np.concatenate([evidence.codes >= 0, known], axis=1)
        for pattern in np.unique(patterns, axis=0):
            exact, some = ({names[v] for v in np.flatnonzero(part).tolist()} for part in np.split(pattern, 2))
            requisite = requisite_tables(self._parents, names[self._position], exact, some)
            needed[(patterns == pattern).all(axis=1)] = [name in requisite for name in names]
        return needed

    def _family(self, evidence: Evidence, family: Sequence[int], shape: Sequence[int]) -> NDArray[np.float64]:
        """Return P(family | evidence) over the shown bins for every row, float64 (n_rows, *shape)."""
        result = np.zeros((len(evidence), *shape))
        is_known = evidence.codes[:, family] >= 0
        for mask in np.unique(is_known, axis=0):
            rows = np.flatnonzero((is_known == mask).all(axis=1))
            axes = [axis for axis, known in enumerate(mask) if not known]
            some = evidence.take(rows)
            tables = (
                self._engine.joint(some, [family[axis] for axis in axes]).tables
                if axes
                else np.ones((len(rows), 1))
            )
            tables = tables.reshape(len(rows), *(shape[axis] for axis in axes))
            for place, axis in enumerate(axes, start=1):
                # the weights of variables that are axes of an answer do not count in it
                if family[axis] in some.weights:
                    of_axis = [len(rows), *(1 if k != place else shape[axis] for k in range(1, tables.ndim))]
                    tables = tables * some.weights[family[axis]].reshape(of_axis)
            totals = tables.reshape(len(rows), -1).sum(axis=1).reshape(-1, *[1] * (tables.ndim - 1))
            codes = some.codes[:, family]
            for place, row in enumerate(rows.tolist()):
                where = tuple(
                    slice(None) if axis in axes else codes[place, axis] for axis in range(len(family))
                )
                result[(row, *where)] = (tables / totals)[place]
        return result


def _table_rows(network: NetworkLike, parents: Sequence[str]) -> int:
    """Return the number of combinations of the bins and levels of parents."""
    return prod(map(network.cardinality, parents))
