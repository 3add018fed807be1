"""Probabilities of evidence, joint distributions, marginals and draws of a network for many rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Setting, row_list
from gomea_bn.network.graph import topological_order
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
    Rows,
    draw_rows,
    joint_of_rows,
    marginals_of_rows,
    plan_costs,
)

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None

METHODS = ("exact", "sampling")
"""Ways to compute an answer."""

N_DRAWS = 10_000
"""Number of draws per row of an answer by sampling."""

MOST_CELLS = 2**25
"""Largest work space of exact inference for one row, in float64 numbers: 256 MB."""

MOST_MULTIPLICATIONS = 2**39
"""Largest number of multiplications of exact inference for all rows: some ten minutes."""

# a call of a kernel cannot be interrupted, so it takes about a second at most
_MULTIPLICATIONS_PER_CALL = 2**29


Interval: TypeAlias = tuple[float, float, str]
"""Low end, high end, and which ends belong to an interval: "both", "left", "right" or "neither"."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Weighted intervals of a continuous variable as weighted parts of its bins.

    An interval outside the support is the whole of the end bin on its side. A value that several intervals hold has the
    largest of their weights.

    By part and bin, (n_pieces, n_bins): `starts`, the share of the probability of the bin below the part; `shares`,
    P(part | bin); and `weights`, which add up where parts overlap. `inside` has the intervals that reach into the
    support with their weights, and `of_whole_bins` (n_bins,) the weights of whole bins by intervals outside it.
    """

    starts: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    inside: list[tuple[Interval, float]]
    of_whole_bins: NDArray[np.float64]

    @property
    def likelihood(self) -> NDArray[np.float64]:
        """Likelihood of the evidence by bin, float64 (n_bins,)."""
        return np.asarray((self.weights * self.shares).sum(axis=0))

    def likelihood_of(self, values: NDArray[np.float64], codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the likelihood of the evidence at values, of their shape, given their bins."""
        total = self.of_whole_bins[codes]
        for (low, high, closed), weight in self.inside:
            above = values >= low if closed in ("both", "left") else values > low
            below = values <= high if closed in ("both", "right") else values < high
            total = np.where(above & below, np.maximum(total, weight), total)
        return np.asarray(total, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of rows.

    `codes` (n_rows, n_variables) are observed bins or levels, -1 where unknown, and `values`, of the same shape, the
    observed numbers of continuous variables, NaN for all others; they count for networks with conditional densities.
    `weights` (n_rows, cardinality), by position of a variable, are likelihoods of what was observed up to a factor per
    row. They count in rows in which the variable is unknown; such a row has ones if nothing was observed. `pieces` has
    the intervals by row that weights stand for.
    """

    codes: NDArray[np.int32]
    weights: Mapping[int, NDArray[np.float64]]
    values: NDArray[np.float64] | None = None
    pieces: Mapping[int, Sequence[Pieces | None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some rows, int64 (n,), by position."""
        values = None if self.values is None else self.values[rows]
        weights = {v: of_rows[rows] for v, of_rows in self.weights.items()}
        pieces = {v: [of_rows[row] for row in rows.tolist()] for v, of_rows in self.pieces.items()}
        return Evidence(self.codes[rows], weights, values, pieces)

    def without(self, positions: Sequence[int]) -> Evidence:
        """Return the evidence of codes and values in which some variables are unknown."""
        codes, values = self.codes.copy(), self.numbers().copy()
        codes[:, list(positions)] = -1
        values[:, list(positions)] = np.nan
        return Evidence(codes, {}, values)

    def numbers(self) -> NDArray[np.float64]:
        """Return the observed numbers, float64 (n_rows, n_variables), NaN where there are none."""
        return np.full(self.codes.shape, np.nan) if self.values is None else self.values


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """The cells of continuous variables that an answer was summed over.

    `n_cells` is their largest number for one variable, 0 if there was none to sum over, `level` the coarsest level, and
    `summed` (n_variables,) says which variables were summed over in some row. `error` is the largest error of the
    probabilities of rows in which a single variable is unknown.
    """

    n_cells: int
    level: int
    summed: NDArray[np.bool_]
    error: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Joint distributions of some variables given evidence.

    `log_evidence` (n_rows,) is in nats up to the factors of weights, -inf for impossible evidence. `tables` (n_rows,
    n_cells) are flattened in C order, zeros for impossible evidence. Both have standard errors unless they are exact.
    `resolution` is None if bins of the network, or draws, were summed over.
    """

    log_evidence: NDArray[np.float64]
    tables: NDArray[np.float64]
    log_evidence_errors: NDArray[np.float64] | None = None
    errors: NDArray[np.float64] | None = None
    resolution: Resolution | None = None


class RowPlan(NamedTuple):
    """A single row in the arrays of the kernels, with a plan in which every variable with weights is kept apart.

    `first_of_bins` (n_bins,), by position of a variable whose cells are finer than its bins, is the first cell in each
    shown bin. `n_cells` is the largest number of cells of an unknown continuous variable, None for the bins of the
    network.
    """

    model: Model
    rows: Rows
    batch: Batch
    plan: Plan
    first_of_bins: Mapping[int, NDArray[np.int64]]
    n_cells: int | None


class Engine(Protocol):
    """Inference in one network, exact or by sampling.

    Evidence and answers are about the bins of `network`: the network itself, or its cells if it has conditional
    densities.
    """

    network: NetworkLike

    def joint(self, evidence: Evidence, targets: Sequence[int], in_bins: bool = False) -> Joint:
        """Return the joint distribution of variables without evidence, by position, for every row.

        With `in_bins` it is that of the shown bins in place of cells.
        """

    def marginals(self, evidence: Evidence) -> list[NDArray[np.float64]]:
        """Return P(variable | evidence) by variable, float64 (n_rows, cardinality); NaN for impossible evidence."""

    def draws(self, evidence: Evidence, n_draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
        """Return draws of all variables given the evidence, int32 (n_rows, n_draws, n_variables).

        The codes of a row with impossible evidence are -1. A variable on which no evidence depends may have the code
        FREE; its value is to be drawn from its density given its parents.
        """


class ExactEngine:
    """Exact inference by elimination of variables, with one plan for all rows with the same unknown columns."""

    def __init__(self, network: NetworkLike, most_numbers: int | None = None) -> None:
        self.network = network
        self._model, self._most_numbers = model_of(network), most_numbers

    def joint(self, evidence: Evidence, targets: Sequence[int], in_bins: bool = False) -> Joint:
        """Return the joint distribution of variables without evidence; see `Engine`."""
        n_cells = answer_cells(len(evidence), self._model.cards[list(targets)].tolist())
        batch = _batch(self._model, evidence, targets)
        plan, spans = self._planned(batch, keeps_tables=False)
        joint = Joint(np.empty(len(evidence)), np.zeros((len(evidence), n_cells if len(targets) else 0)))
        rows = _rows(self._model, evidence)
        for first, last in spans:
            joint_of_rows(self._model, rows, batch, first, last, plan, joint.log_evidence, joint.tables)
        return joint

    def marginals(self, evidence: Evidence) -> list[NDArray[np.float64]]:
        """Return P(variable | evidence) by variable; see `Engine`."""
        batch = _batch(self._model, evidence, (), hidden_as=WANTED)
        plan, spans = self._planned(batch, keeps_tables=True)
        log_evidence = np.empty(len(evidence))
        tables = np.full((len(evidence), int(self._model.cards.sum())), np.nan)
        rows = _rows(self._model, evidence)
        for first, last in spans:
            marginals_of_rows(self._model, rows, batch, first, last, plan, log_evidence, tables)
        return with_observed(self._model.cards, evidence, tables, log_evidence > -np.inf)

    def draws(self, evidence: Evidence, n_draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
        """Return draws of all variables given the evidence; see `Engine`."""
        batch = _batch(self._model, evidence, ())
        plan, spans = self._planned(batch, keeps_tables=True)
        drawn = np.full((len(evidence), n_draws, len(self._model.cards)), -1, np.int32)
        rows = _rows(self._model, evidence)
        log_evidence = np.empty(len(evidence))
        for first, last in spans:
            draw_rows(self._model, rows, batch, first, last, plan, log_evidence, drawn, generator)
        return drawn

    def row_plan(self, evidence: Evidence) -> RowPlan:
        """Return the arrays of a single row."""
        batch = _batch(self._model, evidence, ())
        plan, _ = self._planned(batch, keeps_tables=False)
        return RowPlan(self._model, _rows(self._model, evidence), batch, plan, {}, None)

    def _planned(self, batch: Batch, keeps_tables: bool) -> tuple[Plan, list[tuple[int, int]]]:
        """Return the arrays of plans, with work space for the largest one, and ranges of `batch.order` for calls."""
        plan = empty_plan(len(self._model.cards))
        costs = np.zeros((len(batch.patterns), 3))
        plan_costs(self._model, batch, keeps_tables, plan, costs)
        check_plans(batch, costs, self._most_numbers)
        work = np.empty(int(costs[:, 1].max(initial=1)))
        return plan._replace(work=work), call_spans(costs[batch.pattern_of[batch.order], 2])


def model_of(network: NetworkLike) -> Model:
    """Return a network as the arrays of the kernels."""
    position = {name: v for v, name in enumerate(network.names)}
    tables = [network.tables[name] for name in network.names]
    families = [[*(position[p] for p in network.parents(name)), position[name]] for name in network.names]
    sizes = np.array([table.size for table in tables], np.int64)
    item = np.dtype(np.float64).itemsize
    contiguous = [np.ascontiguousarray(table, np.float64) for table in tables]
    parents = [family[:-1] for family in families]
    return Model(
        cards=np.array([network.cardinality(name) for name in network.names], np.int64),
        order=np.array(topological_order(parents, network.names), np.int64),
        members_at=np.cumsum([0, *map(len, families)], dtype=np.int64),
        members=np.concatenate(families).astype(np.int64),
        strides=np.concatenate([np.array(table.strides) // item for table in contiguous]).astype(np.int64),
        table_at=np.cumsum(sizes) - sizes,
        cells=np.concatenate([table.ravel() for table in contiguous]),
    )


def check_plans(batch: Batch, costs: NDArray[np.float64], most: int | None = None) -> None:
    """Raise `GomeaBnError` for plans of patterns, with costs (n_patterns, 3), that are too large or take too long."""
    if not plans_fit(costs, most).all():
        raise _too_large(batch, costs)
    n_rows = np.bincount(batch.pattern_of, minlength=len(costs))
    if float(costs[:, 2] @ n_rows) > MOST_MULTIPLICATIONS:
        raise _too_many(float(costs[:, 2] @ n_rows), len(batch.order))


def plans_fit(costs: NDArray[np.float64], most: int | None = None) -> NDArray[np.bool_]:
    """Return which plans fit into memory, bool (n_patterns,), given their costs; those that do not exist cost 0."""
    return np.asarray((costs[:, 1] > 0) & (costs[:, 1] <= (most or MOST_CELLS)))


def refuse_impossible(is_impossible: NDArray[np.bool_], rows: NDArray[np.int64] | None = None) -> None:
    """Raise `GomeaBnError` for rows whose evidence has probability 0; `rows` are their numbers if not 0, 1, ..."""
    positions = np.flatnonzero(is_impossible)
    rows = positions if rows is None else rows[positions]
    if rows.size:
        verb = "has" if rows.size == 1 else "have"
        raise GomeaBnError(
            f"The observed values of {row_list(rows)} {verb} probability 0 in this network.",
            ["drop these rows", "use a network with pseudo-counts"],
        )


def _rows(model: Model, evidence: Evidence) -> Rows:
    """Return evidence as arrays; variables with a single bin or level have the code 0."""
    weights_at = np.full(len(model.cards), -1, np.int64)
    parts, start = [np.empty(0)], 0
    for position, values in evidence.weights.items():
        weights_at[position] = start
        start += values.size
        parts.append(np.ascontiguousarray(values, np.float64).ravel())
    codes = np.where(_is_single(model, evidence), 0, evidence.codes).astype(np.int32)
    without = np.empty((0, len(model.cards)), np.int64)
    return Rows(np.ascontiguousarray(codes), weights_at, np.concatenate(parts), without, np.empty(0))


def answer_cells(n_rows: int, cards: Sequence[int]) -> int:
    """Return the number of cells of the joint distribution of targets; refuse an answer that is too large."""
    n_cells = prod(cards)
    if n_rows * n_cells > MOST_CELLS:
        raise GomeaBnError(
            f"The answer would have {n_rows * n_cells:,} numbers; the limit is {MOST_CELLS:,}. Ask for "
            "fewer targets or fewer rows at once."
        )
    return n_cells


def _is_single(model: Model, evidence: Evidence) -> NDArray[np.bool_]:
    """Return which variables have a single bin or level and no weights, bool (V,)."""
    is_single = model.cards == 1
    is_single[list(evidence.weights)] = False
    return np.asarray(is_single)


def _batch(model: Model, evidence: Evidence, targets: Sequence[int], hidden_as: int = HIDDEN) -> Batch:
    """Return the rows by their patterns; variables without evidence have the state `hidden_as`."""
    states = np.where(evidence.codes >= 0, OBSERVED, hidden_as).astype(np.int8)
    for position in evidence.weights:
        unknown = evidence.codes[:, position] < 0
        states[unknown, position] = WEIGHED
    states[:, _is_single(model, evidence)] = SINGLE
    states[:, list(targets)] = KEPT
    return grouped(states, targets)


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


def call_spans(costs: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return consecutive ranges of rows of about the same cost, each small enough for one call of a kernel."""
    calls = (np.cumsum(costs) // _MULTIPLICATIONS_PER_CALL).astype(np.int64)
    starts = np.flatnonzero(np.diff(calls, prepend=-1))
    return list(pairwise([*starts.tolist(), len(costs)]))


def _too_large(batch: Batch, costs: NDArray[np.float64]) -> GomeaBnError:
    """Return the error for a plan that needs too much work space."""
    worst = int(np.lexsort((costs[:, 1], costs[:, 0]))[-1])
    row = int(np.flatnonzero(batch.pattern_of == worst)[0])
    size = max(2.0 ** costs[worst, 0], costs[worst, 1])
    where = f" for {row_list([row])}" if len(batch.order) > 1 else ""
    return GomeaBnError(
        [
            f"Exact inference{where} needs tables of about {size:.2g} numbers; the limit is {MOST_CELLS:,} "
            "(the graph has too many paths between unknown columns)."
        ],
        ["give more evidence", Setting("method", "sampling")],
    )


def _too_many(multiplications: float, n_rows: int) -> GomeaBnError:
    """Return the error for plans that take too long."""
    return GomeaBnError(
        [
            f"Exact inference for these {n_rows:,} rows takes about {multiplications:.2g} multiplications; the limit "
            f"is {MOST_MULTIPLICATIONS:.2g}."
        ],
        ["give fewer rows at once", Setting("method", "sampling")],
    )


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
