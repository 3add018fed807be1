"""Exact inference in tables over bins, by elimination of variables; rows with the same unknown columns share a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Setting, row_list
from gomea_bn.network.inference import kernels
from gomea_bn.network.inference.kernels import (
    HIDDEN,
    KEPT,
    MOST_AXES,
    OBSERVED,
    SINGLE,
    WANTED,
    WEIGHED,
    Batch,
    Model,
    Plan,
    RowsToAnswer,
)
from gomea_bn.network.inference.question import Evidence, Joint
from gomea_bn.network.recorded import NetworkLike

Answers = TypeVar("Answers", NDArray[np.float64], NDArray[np.int32])

MOST_CELLS = 2**25
"""Largest work space of exact inference for one row, in float64 numbers: 256 MB."""

MOST_MULTIPLICATIONS = 2**39
"""Largest number of multiplications of exact inference for all rows: some ten minutes."""

# a call of a kernel cannot be interrupted, so it takes about a second at most
_MULTIPLICATIONS_PER_CALL = 2**29


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of evidence that are answered together, in the arrays of the kernels.

    The plan has work space for its largest pattern, and `spans` are the ranges of rows for calls of kernels.
    """

    model: Model
    rows: RowsToAnswer
    batch: Batch
    plan: Plan
    spans: list[tuple[int, int]]

    def joint(self, n_cells: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log probabilities of evidence (n,), and P(kept variables | evidence), (n, n_cells)."""
        logs = np.empty(len(self.batch.order))
        return logs, self._filled(kernels.joint_of_rows, logs, np.zeros((len(logs), n_cells)))

    def marginals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log probabilities of evidence (n,), and P(variable | evidence), the variables side by side."""
        logs = np.empty(len(self.batch.order))
        tables = np.ones((len(logs), int(self.model.cards.sum())))
        return logs, self._filled(kernels.marginals_of_rows, logs, tables)

    def draws(self, n_draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
        """Return draws of all variables given the evidence, (n, n_draws, V); -1 where it is impossible."""
        logs = np.empty(len(self.batch.order))
        codes = np.full((len(logs), n_draws, len(self.model.cards)), -1, np.int32)
        return self._filled(kernels.draw_rows, logs, codes, generator)

    def _filled(
        self, kernel: Callable[..., int], logs: NDArray[np.float64], answers: Answers, *more: Any
    ) -> Answers:
        """Return answers that a kernel has written for all rows."""
        for first, last in self.spans:
            kernel(self.model, self.rows, self.batch, first, last, self.plan, logs, answers, *more)
        return answers


class ExactEngine:
    """Exact inference by elimination of variables, with one plan for all rows with the same unknown columns."""

    def __init__(self, network: NetworkLike, most_numbers: int | None = None) -> None:
        self.network = network
        for name in network.names:
            # tables of conditionals are computed, which takes all the memory that they need
            size = prod(network.cardinality(member) for member in (name, *network.parents(name)))
            if size > MOST_CELLS:
                raise GomeaBnError(
                    f"Exact inference needs tables of about {float(size):.2g} numbers for '{name}' given its parents; "
                    f"the limit is {MOST_CELLS:,}.",
                    [Setting("method", "sampling")],
                )
        self._model, self._most_numbers = model_of(network), most_numbers

    def joint(self, evidence: Evidence, targets: Sequence[int], in_bins: bool = False) -> Joint:
        """Return the joint distribution of variables without evidence, by position, for every row.

        With `in_bins` it is that of the shown bins in place of cells.
        """
        n_cells = answer_cells(len(evidence), self._model.cards[list(targets)].tolist())
        part = self._part(evidence, targets, keeps_tables=False)
        return Joint(*part.joint(n_cells if len(targets) else 0))

    def marginals(self, evidence: Evidence) -> list[NDArray[np.float64]]:
        """Return P(variable | evidence) by variable, float64 (n_rows, cardinality); NaN for impossible evidence."""
        log_evidence, tables = self._part(evidence, (), keeps_tables=True, hidden_as=WANTED).marginals()
        return with_observed(self._model.cards, evidence, tables, log_evidence > -np.inf)

    def draws(self, evidence: Evidence, n_draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
        """Return draws of all variables given the evidence, int32 (n_rows, n_draws, n_variables).

        The codes of a row with impossible evidence are -1. A variable on which no evidence depends may have the code
        FREE; its value is to be drawn from its density given its parents.
        """
        return self._part(evidence, (), keeps_tables=True).draws(n_draws, generator)

    def row_plan(self, evidence: Evidence) -> tuple[Part, Mapping[int, NDArray[np.int64]], int | None]:
        """Return the plan of a single row, in which every variable with weights is kept apart.

        By position of a variable whose cells are finer than its bins comes the first cell in each shown bin, int64
        (n_bins,), and then the largest number of cells of an unknown continuous variable, None for the bins of the
        network.
        """
        return self._part(evidence, (), keeps_tables=False), {}, None

    def _part(
        self, evidence: Evidence, targets: Sequence[int], *, keeps_tables: bool, hidden_as: int = HIDDEN
    ) -> Part:
        """Return the rows with their plans; variables without evidence have the state `hidden_as`.

        Variables with a single bin or level, and no weights, have the code 0. Plans that are too large are refused.
        """
        model, n = self._model, len(self._model.cards)
        is_single = model.cards == 1
        is_single[list(evidence.weights)] = False
        states = np.where(evidence.codes >= 0, OBSERVED, hidden_as).astype(np.int8)
        for position in evidence.weights:
            states[evidence.codes[:, position] < 0, position] = WEIGHED
        states[:, is_single] = SINGLE
        states[:, list(targets)] = KEPT
        batch = grouped(states, targets)
        costs = np.zeros((len(batch.patterns), 3))
        kernels.plan_costs(model, batch, keeps_tables, empty_plan(n), costs)
        check_plans(batch, costs, self._most_numbers)
        codes = np.ascontiguousarray(np.where(is_single, 0, evidence.codes).astype(np.int32))
        rows = RowsToAnswer(
            codes, *packed_weights(evidence.weights, n), np.empty((0, n), np.int64), np.empty(0)
        )
        plan = empty_plan(n)._replace(work=np.empty(int(costs[:, 1].max(initial=1))))
        return Part(model, rows, batch, plan, call_spans(costs[batch.pattern_of[batch.order], 2]))


def model_of(network: NetworkLike) -> Model:
    """Return a network as the arrays of the kernels."""
    cards = np.array([network.cardinality(name) for name in network.names], np.int64)
    tables = [np.asarray(network.tables[name], np.float64) for name in network.names]
    return model_of_families(cards, *families_and_order(network), dict(enumerate(tables)))


def families_and_order(network: NetworkLike) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Return the positions of the parents of every variable and of itself, and variables after their parents, (V,)."""
    position = {name: v for v, name in enumerate(network.names)}
    families = [[*map(position.__getitem__, network.parents(name)), v] for name, v in position.items()]
    return families, np.array([position[name] for name in network.order], np.int64)


def model_of_families(
    cards: NDArray[np.int64],
    families: Sequence[Sequence[int]],
    order: NDArray[np.int64],
    tables: Mapping[int, NDArray[np.float64]],
) -> Model:
    """Return the arrays of a network with the tables of some variables, by position."""
    table_at = np.full(len(cards), -1, np.int64)
    starts = np.cumsum([0, *(table.size for table in tables.values())])
    table_at[list(tables)] = starts[:-1]
    strides = [np.cumprod([1, *cards[family[:0:-1]].tolist()])[::-1] for family in families]
    return Model(
        cards=cards,
        order=order,
        members_at=np.cumsum([0, *map(len, families)], dtype=np.int64),
        members=np.concatenate(families).astype(np.int64),
        strides=np.concatenate(strides).astype(np.int64),
        table_at=table_at,
        cells=np.concatenate([np.empty(0), *(table.ravel() for table in tables.values())]),
    )


def marked_single(patterns: NDArray[np.int8], cards: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return patterns in which unknown variables with a single cell or level are marked."""
    is_free = (patterns == HIDDEN) | (patterns == WANTED) | (patterns == OBSERVED)
    return np.asarray(np.where(is_free & (cards == 1), np.int8(SINGLE), patterns))


def check_plans(batch: Batch, costs: NDArray[np.float64], most: int | None = None) -> None:
    """Raise `GomeaBnError` for plans of patterns, with costs (n_patterns, 3), that are too large or take too long."""
    if not plans_fit(costs, most).all():
        worst = int(np.lexsort((costs[:, 1], costs[:, 0]))[-1])
        row = int(np.flatnonzero(batch.pattern_of == worst)[0])
        size = max(2.0 ** costs[worst, 0], costs[worst, 1])
        where = f" for {row_list([row])}" if len(batch.order) > 1 else ""
        raise GomeaBnError(
            [
                f"Exact inference{where} needs tables of about {size:.2g} numbers; the limit is {MOST_CELLS:,} "
                "(the graph has too many paths between unknown columns)."
            ],
            ["give more evidence", Setting("method", "sampling")],
        )
    refuse_slow(batch, costs)


def refuse_slow(batch: Batch, costs: NDArray[np.float64]) -> None:
    """Raise `GomeaBnError` for plans of patterns, with costs (n_patterns, 3), that take too long for all rows."""
    n_rows = np.bincount(batch.pattern_of, minlength=len(costs))
    if float(costs[:, 2] @ n_rows) > MOST_MULTIPLICATIONS:
        raise GomeaBnError(
            [
                f"Exact inference for these {len(batch.order):,} rows takes about {costs[:, 2] @ n_rows:.2g} "
                f"multiplications; the limit is {MOST_MULTIPLICATIONS:.2g}."
            ],
            ["give fewer rows at once", Setting("method", "sampling")],
        )


def plans_fit(costs: NDArray[np.float64], most: int | None = None) -> NDArray[np.bool_]:
    """Return which plans fit into memory, bool (n_patterns,), given their costs; those that do not exist cost 0."""
    return np.asarray((costs[:, 1] > 0) & (costs[:, 1] <= (most or MOST_CELLS)))


def rows_of_batch(batch: Batch, rows: NDArray[np.int64]) -> Batch:
    """Return some of the rows, by position, with their patterns."""
    pattern_of = batch.pattern_of[rows]
    return batch._replace(pattern_of=pattern_of, order=np.argsort(pattern_of, kind="stable"))


def answer_cells(n_rows: int, cards: Sequence[int]) -> int:
    """Return the number of cells of the joint distribution of targets; refuse an answer that is too large."""
    n_cells = prod(cards)
    if n_rows * n_cells > MOST_CELLS:
        raise GomeaBnError(
            f"The answer would have {n_rows * n_cells:,} numbers; the limit is {MOST_CELLS:,}. Ask for "
            "fewer targets or fewer rows at once."
        )
    return n_cells


def grouped(states: NDArray[np.int8], targets: Sequence[int]) -> Batch:
    """Return rows by their patterns, given the states of all variables, int8 (n_rows, V)."""
    # rows as single items, which NumPy sorts faster than rows
    items = np.ascontiguousarray(states).view(np.dtype((np.void, states.shape[1]))).ravel()
    _, first, pattern_of = np.unique(items, return_index=True, return_inverse=True)
    order = np.argsort(pattern_of, kind="stable")
    return Batch(states[first], pattern_of.astype(np.int64), order, np.array(targets, np.int64))


def empty_plan(n: int) -> Plan:
    """Return the arrays of a plan for n variables, without work space."""
    integers = np.int64
    return Plan(
        n_steps=np.zeros(1, integers),
        step_of=np.zeros(n, integers),
        scope=np.zeros((n + 1, MOST_AXES), integers),
        n_scope=np.zeros(n + 1, integers),
        n_cells=np.zeros(n + 1, integers),
        table_at=np.zeros(n + 1, integers),
        message_at=np.zeros(n, integers),
        home=np.zeros(3 * n, integers),
        first=np.zeros(n + 1, integers),
        following=np.zeros(3 * n, integers),
        strides=np.zeros((3 * n, MOST_AXES), integers),
        is_relevant=np.zeros(n, np.bool_),
        joined=np.zeros((n, n), np.bool_),
        size=np.zeros(n),
        unknown=np.zeros(n, integers),
        place=np.zeros(n, integers),
        digits=np.zeros(MOST_AXES, integers),
        codes=np.zeros(n, np.int32),
        cost=np.zeros(3),
        work=np.zeros(1),
    )


def packed_weights(
    weights: Mapping[int, NDArray[np.float64]], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return where the weights of each of n variables start in a flat array, -1 without any, and this array."""
    starts, parts, start = np.full(n, -1, np.int64), [np.empty(0)], 0
    for v, of_rows in weights.items():
        starts[v] = start
        start += of_rows.size
        parts.append(np.ascontiguousarray(of_rows, np.float64).ravel())
    return starts, np.concatenate(parts)


def call_spans(costs: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return consecutive ranges of rows of about the same cost, each small enough for one call of a kernel."""
    calls = (np.cumsum(costs) // _MULTIPLICATIONS_PER_CALL).astype(np.int64)
    starts = np.flatnonzero(np.diff(calls, prepend=-1))
    return list(pairwise([*starts.tolist(), len(costs)]))


def with_observed(
    cards: NDArray[np.int64], evidence: Evidence, tables: NDArray[np.float64], is_possible: NDArray[np.bool_]
) -> list[NDArray[np.float64]]:
    """Return the tables of marginals by variable, with one-hot rows where a variable is observed."""
    parts = []
    for v, stop in enumerate(np.cumsum(cards).tolist()):
        card = int(cards[v])
        part = tables[:, stop - card : stop]
        codes = evidence.codes[:, v] if card > 1 else np.zeros(len(evidence), np.int32)
        rows = np.flatnonzero(codes >= 0)
        part[rows] = 0.0
        part[rows, codes[rows]] = 1.0
        part[~is_possible] = np.nan
        parts.append(part)
    return parts
