"""Inference by draws that are weighted by the likelihood of the evidence, and checks of other answers by draws."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.conditionals.conditionals import Conditionals
from gomea_bn.network.conditionals.family_table import TableSet
from gomea_bn.network.conditionals.kind import ColumnFacts, Family
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.graph import reachable
from gomea_bn.network.inference.elimination import answer_cells
from gomea_bn.network.inference.question import Evidence, Joint
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.rows import drawn_values

# difference to the answer over wider cells from which on finer ones are worth their time
NOTED_ERROR = 0.01

SEED = 0

MOST_LOG_ERROR = 0.16
"""Standard error of the log of the probability of what is known from which on too few draws decide, about 40."""

Drawn: TypeAlias = tuple[NDArray[np.int64], Columns, NDArray[np.float64]]
"""Rows, draws of all columns (n_rows, n_draws), and the log weights of the draws."""


class _OfCodes:
    """A network whose columns are the codes of bins and levels, with the probabilities of the tables.

    All else is that of the network.
    """

    def __init__(self, network: NetworkLike) -> None:
        self._network = network
        self.cut_points: dict[str, NDArray[np.float64]] = {}
        self.levels = {name: range(network.cardinality(name)) for name in network.names}
        facts = ColumnFacts({}, {}, {name: len(codes) for name, codes in self.levels.items()}, {})
        tables = TableSet({}, {name: network.parents(name) for name in network.names}, network.tables)
        stacks = Conditionals.of_tables([tables], n_rows=1).stacks
        self.families = {name: Family(name, stack, facts) for name, stack in stacks.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)


class Sampler:
    """Inference by likelihood weighting, with standard errors and the methods of `ExactEngine`.

    Columns are drawn given their parents, `n_draws` times a row. Those whose value is known are not drawn, and a draw
    counts with their density given their parents (Fung & Chang, "Weighing and integrating evidence for stochastic
    simulation in Bayesian networks", 1990). Intervals, sets and weights count as the weights of drawn values. With
    `in_tables` bins are drawn from tables, and not numbers from densities. `drawn` has the names of columns to draw,
    with those of their parents, by default all.
    """

    def __init__(
        self,
        network: NetworkLike,
        n_draws: int,
        generator: np.random.Generator,
        *,
        in_tables: bool,
        drawn: Container[str] | None = None,
    ) -> None:
        self.network = network if in_tables else cast("NetworkLike", network.cell_grids.finest)
        self._network = cast("NetworkLike", _OfCodes(network)) if in_tables else network
        self._cells = self._network if in_tables else self.network
        self.n_draws, self._generator = n_draws, generator
        self._continuous = np.array([name in self._network.cut_points for name in network.names])
        self._last: tuple[Evidence, list[Drawn]] | None = None
        self._drawn = network.names if drawn is None else drawn

    def joint(self, evidence: Evidence, targets: Sequence[int], in_bins: bool = False) -> Joint:
        """Return estimates of the joint distribution of variables without evidence; see `ExactEngine`."""
        shown = self._network if in_bins else self._cells
        names = [self._network.names[target] for target in targets]
        cards = [shown.cardinality(name) for name in names]
        n_cells = answer_cells(len(evidence), cards)
        tables, errors = np.zeros((2, len(evidence), n_cells))
        log_evidence, log_errors = np.full(len(evidence), -np.inf), np.full(len(evidence), np.inf)
        # several questions about one row share its draws
        if self._last is not None and self._last[0] is evidence:
            blocks: Iterable[Drawn] = self._last[1]
        else:
            blocks = self._weighted(evidence, self._generator)
            if len(evidence) == 1:
                self._last = evidence, list(blocks)
                blocks = self._last[1]
        for rows, drawn, logs in blocks:
            top = logs.max(axis=1)
            weights = np.exp(logs - np.where(top > -np.inf, top, 0.0)[:, None])
            cells = np.zeros(logs.shape, np.int64)
            for name, card in zip(names, cards, strict=True):
                cells = cells * card + drawn.codes(name, shown.cut_points.get(name))
            flat = (np.arange(len(rows))[:, None] * n_cells + cells).ravel()
            sums, squares = (
                np.bincount(flat, powers.ravel(), len(rows) * n_cells).reshape(len(rows), n_cells)
                for powers in (weights, weights**2)
            )
            is_possible = top > -np.inf
            total = np.where(is_possible, sums.sum(axis=1), 1.0)
            of_squares = squares.sum(axis=1)
            tables[rows] = sums / total[:, None]
            # the variance of a ratio of sums, to first order
            variances = squares * (1 - 2 * tables[rows]) + tables[rows] ** 2 * of_squares[:, None]
            errors[rows] = np.sqrt(np.maximum(variances, 0.0)) / total[:, None]
            log_evidence[rows] = np.where(is_possible, top + np.log(total / self.n_draws), -np.inf)
            spread = np.sqrt(np.maximum(of_squares / total**2 - 1 / self.n_draws, 0.0))
            log_errors[rows] = np.where(is_possible, spread, np.inf)
        return Joint(log_evidence, tables if len(targets) else tables[:, :0], log_errors, errors)

    def marginals(self, evidence: Evidence) -> list[NDArray[np.float64]]:
        """Return estimates of P(variable | evidence) by variable; see `ExactEngine`."""
        names, network = self._network.names, self._cells
        tables = [np.zeros((len(evidence), network.cardinality(name))) for name in names]
        for rows, drawn, logs in self._weighted(evidence, self._generator):
            top = logs.max(axis=1, keepdims=True)
            weights = np.exp(logs - np.where(top > -np.inf, top, 0.0))
            is_possible = top[:, 0] > -np.inf
            weights[is_possible] /= weights[is_possible].sum(axis=1, keepdims=True)
            for name, table in zip(names, tables, strict=True):
                codes = drawn.codes(name, network.cut_points.get(name))
                flat = np.arange(len(rows))[:, None] * table.shape[1] + codes
                table[rows] = np.bincount(flat.ravel(), weights.ravel(), len(rows) * table.shape[1]).reshape(
                    len(rows), -1
                )
                table[rows[~is_possible]] = np.nan
        return tables

    def draws(self, evidence: Evidence, n_draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
        """Return draws of all variables, each chosen from the weighted draws of its row; see `ExactEngine`."""
        result = np.full((len(evidence), n_draws, len(self._continuous)), -1, np.int32)
        for rows, drawn, logs in self._weighted(evidence, generator):
            for place, row in enumerate(rows.tolist()):
                top = logs[place].max()
                if top == -np.inf:
                    continue
                weights = np.exp(logs[place] - top)
                chosen = generator.choice(self.n_draws, n_draws, p=weights / weights.sum())
                for v, name in enumerate(self._network.names):
                    codes = drawn.codes(name, self._cells.cut_points.get(name))
                    result[row, :, v] = codes[place, chosen]
        return result

    def _weighted(self, evidence: Evidence, generator: np.random.Generator) -> Iterator[Drawn]:
        """Yield draws in blocks of rows."""
        # draws that are in memory at the same time
        step = max(2**18 // self.n_draws, 1)
        for start in range(0, len(evidence), step):
            rows = np.arange(start, min(start + step, len(evidence)))
            yield self._draw(evidence.take(rows), rows, generator)

    def _draw(self, evidence: Evidence, rows: NDArray[np.int64], generator: np.random.Generator) -> Drawn:
        """Return the draws of some rows."""
        shape = len(rows), self.n_draws
        numbers = evidence.numbers()
        names = {v: name for v, name in enumerate(self._network.names) if name in self._drawn}
        given = {
            name: np.repeat(numbers[:, v] if self._continuous[v] else evidence.codes[:, v], self.n_draws)
            for v, name in names.items()
        }
        drawn = drawn_values(self._network, shape[0] * shape[1], generator, given, self._drawn)
        columns = Columns({name: values.reshape(shape) for name, values in drawn.items()})
        logs = np.zeros(shape)
        for v, name in names.items():
            is_known = (evidence.codes[:, v] >= 0)[:, None]
            if is_known.any():
                logs += np.where(is_known, self._network.families[name].log_density(columns), 0.0)
            if v in evidence.weights and not is_known.all():
                codes = columns.codes(name, self._cells.cut_points.get(name))
                weights = np.take_along_axis(evidence.weights[v], codes.astype(np.int64), axis=1)
                for row, pieces in enumerate(evidence.pieces.get(v, ()) if self._continuous[v] else ()):
                    if pieces is not None:
                        weights[row] = pieces.likelihood_of(columns[name][row], codes[row])
                with np.errstate(divide="ignore"):
                    logs += np.where(is_known, 0.0, np.log(weights))
        return rows, columns, logs


def drawn_joint(
    network: NetworkLike, evidence: Evidence, targets: Sequence[int], n_draws: int
) -> tuple[Joint, float]:
    """Return the distribution over the shown bins for a single row by draws with a fixed seed, and its error.

    That is three times the largest standard error; infinite if fewer than about 40 draws decide. Variables from which
    no path leads to a known or wanted one have no influence, and are not drawn.
    """
    asked = {*np.flatnonzero((evidence.codes >= 0).any(axis=0)).tolist(), *evidence.weights, *targets}
    parents = {name: network.parents(name) for name in network.names}
    drawn_names = reachable(parents, [network.names[v] for v in asked])
    generator = np.random.default_rng(SEED)
    sampler = Sampler(network, n_draws, generator, in_tables=False, drawn=drawn_names)
    joint = sampler.joint(evidence, targets, in_bins=True)
    assert joint.errors is not None
    assert joint.log_evidence_errors is not None
    is_sure = joint.log_evidence_errors[0] < MOST_LOG_ERROR
    return joint, 3.0 * float(joint.errors.max()) if is_sure else np.inf


def contradicts(drawn: Joint, error: float, joint: Joint) -> bool:
    """Return whether the answer by draws, with its error, shows that another answer about one row is wrong."""
    difference = float(np.abs(drawn.tables[0] - joint.tables[0]).max())
    return difference > error + NOTED_ERROR / 2
