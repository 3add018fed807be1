"""Probabilities of evidence, joint distributions, marginals and draws of a network for many rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Setting, check_choice, check_integer, row_list
from gomea_bn.network.checks import random_generator
from gomea_bn.network.graph import topological_order
from gomea_bn.network.inference.kernels.arrays import (
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
)
from gomea_bn.network.inference.kernels.execution import draw_rows, joint_of_rows, marginals_of_rows
from gomea_bn.network.inference.kernels.plans import plan_costs
from gomea_bn.network.inference.kernels.weighting import weigh_joint, weigh_rows

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = [
    "METHODS",
    "N_DRAWS",
    "Engine",
    "Evidence",
    "ExactEngine",
    "Joint",
    "SamplingEngine",
    "Seed",
    "engine_for",
    "model_of",
    "refuse_impossible",
]

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


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of rows.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_variables), int32
        Observed bins or levels; -1 for an unknown value.
    weights : mapping of int to ndarray of shape (n_rows, cardinality), float64
        By position of a variable: the likelihood of what was observed, for each of its bins or levels, up to a factor
        per row. It counts in rows in which the variable is unknown; such a row has ones if nothing was observed.
    """

    codes: NDArray[np.int32]
    weights: Mapping[int, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some rows, int64 (n,), by position."""
        return Evidence(self.codes[rows], {v: values[rows] for v, values in self.weights.items()})


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Joint distributions of some variables given evidence.

    Attributes
    ----------
    log_evidence : ndarray of shape (n_rows,), float64
        Log probability of the evidence, in nats up to the factors of weights; -inf for impossible evidence.
    tables : ndarray of shape (n_rows, n_cells), float64
        P(variables | evidence), flattened in C order; zeros for impossible evidence.
    log_evidence_errors, errors : ndarray or None
        Standard errors of `log_evidence` and `tables`; None if both are exact.
    """

    log_evidence: NDArray[np.float64]
    tables: NDArray[np.float64]
    log_evidence_errors: NDArray[np.float64] | None = None
    errors: NDArray[np.float64] | None = None


class Engine(Protocol):
    """Inference in one network, exact or by sampling."""

    def joint(self, evidence: Evidence, targets: Sequence[int]) -> Joint:
        """Return the joint distribution of variables without evidence, by position, for every row."""

    def marginals(self, evidence: Evidence) -> list[NDArray[np.float64]]:
        """Return P(variable | evidence) by variable, float64 (n_rows, cardinality); NaN for impossible evidence."""

    def draws(self, evidence: Evidence, n_draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
        """Return draws of all variables given the evidence, int32 (n_rows, n_draws, n_variables).

        The codes of a row with impossible evidence are -1.
        """


def engine_for(
    network: NetworkLike,
    method: str = "exact",
    n_draws: int = N_DRAWS,
    random_state: Seed = None,
) -> Engine:
    """Return the engine of a method.

    Parameters
    ----------
    network : NetworkLike
        The network.
    method : {"exact", "sampling"}
        Way to compute answers.
    n_draws : int
        Number of draws per row of "sampling".
    random_state : int, SeedSequence, Generator or None
        Seed of "sampling".

    Raises
    ------
    GomeaBnError
        For an unknown method, and for a number of draws below 2.
    """
    check_choice("method", method, METHODS)
    check_integer("n_draws", n_draws, 2)
    if method == "exact":
        return ExactEngine(network)
    return SamplingEngine(network, n_draws, random_generator(random_state))


class ExactEngine:
    """Exact inference by elimination of variables, with one plan for all rows with the same unknown columns."""

    def __init__(self, network: NetworkLike) -> None:
        self._model = model_of(network)

    def joint(self, evidence: Evidence, targets: Sequence[int]) -> Joint:
        """Return the joint distribution of variables without evidence; see `Engine`."""
        n_cells = _answer_cells(self._model, evidence, targets)
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
        return _with_observed(self._model, evidence, tables, log_evidence > -np.inf)

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

    def _planned(self, batch: Batch, keeps_tables: bool) -> tuple[Plan, list[tuple[int, int]]]:
        """Return the arrays of plans, with work space for the largest one, and ranges of `batch.order` for the calls.

        Raises
        ------
        GomeaBnError
            If a plan is too large.
        """
        plan = _empty_plan(len(self._model.cards))
        costs = np.zeros((len(batch.patterns), 3))
        n_refused = plan_costs(self._model, batch, keeps_tables, plan, costs)
        n_rows = np.bincount(batch.pattern_of, minlength=len(costs))
        if n_refused or (costs[:, 1] > MOST_CELLS).any():
            raise _too_large(batch, costs)
        if float(costs[:, 2] @ n_rows) > MOST_MULTIPLICATIONS:
            raise _too_many(float(costs[:, 2] @ n_rows), len(batch.order))
        work = np.empty(int(costs[:, 1].max(initial=1)))
        return plan._replace(work=work), _spans(costs[batch.pattern_of[batch.order], 2])


class SamplingEngine:
    """Inference by likelihood weighting, with standard errors of the estimates."""

    def __init__(self, network: NetworkLike, n_draws: int, generator: np.random.Generator) -> None:
        self._model = model_of(network)
        self._n_draws = n_draws
        self._generator = generator

    def joint(self, evidence: Evidence, targets: Sequence[int]) -> Joint:
        """Return estimates of the joint distribution of variables without evidence; see `Engine`."""
        batch = _batch(self._model, evidence, targets)
        n_cells = _answer_cells(self._model, evidence, targets)
        sums, squares = np.zeros((2, len(evidence), n_cells))
        log_top = np.empty(len(evidence))
        plan, rows = _empty_plan(len(self._model.cards)), _rows(self._model, evidence)
        for first, last in self._spans(evidence):
            weigh_joint(
                self._model, rows, batch, first, last, self._n_draws, self._generator, plan, sums, squares, log_top
            )  # fmt: skip
        is_possible = log_top > -np.inf
        total = np.where(is_possible, sums.sum(axis=1), 1.0)
        tables = sums / total[:, None]
        # the variance of a ratio of sums, to first order
        of_squares = squares.sum(axis=1)
        variances = (squares * (1 - 2 * tables) + tables**2 * of_squares[:, None]) / total[:, None] ** 2
        log_errors = np.sqrt(np.maximum(of_squares / total**2 - 1 / self._n_draws, 0.0))
        return Joint(
            np.where(is_possible, log_top + np.log(total / self._n_draws), -np.inf),
            tables,
            np.where(is_possible, log_errors, np.inf),
            np.sqrt(np.maximum(variances, 0.0)),
        )

    def marginals(self, evidence: Evidence) -> list[NDArray[np.float64]]:
        """Return estimates of P(variable | evidence) by variable; see `Engine`."""
        tables = np.zeros((len(evidence), int(self._model.cards.sum())))
        log_top = self._weigh(evidence, tables, np.empty((len(evidence), 0, 0), np.int32), self._generator)
        return _with_observed(self._model, evidence, tables, log_top > -np.inf)

    def draws(self, evidence: Evidence, n_draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
        """Return draws of all variables, each chosen from the weighted draws of its row; see `Engine`."""
        drawn = np.full((len(evidence), n_draws, len(self._model.cards)), -1, np.int32)
        self._weigh(evidence, np.empty((len(evidence), 0)), drawn, generator)
        return drawn

    def _weigh(
        self,
        evidence: Evidence,
        tables: NDArray[np.float64],
        drawn: NDArray[np.int32],
        generator: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Fill tables of marginals and draws; return the logarithm of the largest weight of every row."""
        batch = _batch(self._model, evidence, ())
        log_top = np.empty(len(evidence))
        plan, rows = _empty_plan(len(self._model.cards)), _rows(self._model, evidence)
        for first, last in self._spans(evidence):
            weigh_rows(
                self._model, rows, batch, first, last, self._n_draws, generator, plan, tables, drawn, log_top
            )  # fmt: skip
        return log_top

    def _spans(self, evidence: Evidence) -> list[tuple[int, int]]:
        return _spans(np.full(len(evidence), 10.0 * self._n_draws * len(self._model.cards)))


def model_of(network: NetworkLike) -> Model:
    """Return a network as the arrays of the kernels."""
    position = {name: v for v, name in enumerate(network.names)}
    tables = [network.tables[name] for name in network.names]
    families = [
        [*(position[p] for p in network.table_parents(name)), position[name]] for name in network.names
    ]
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
    return Rows(np.ascontiguousarray(codes), weights_at, np.concatenate(parts))


def _answer_cells(model: Model, evidence: Evidence, targets: Sequence[int]) -> int:
    """Return the number of cells of the joint distribution of targets; refuse an answer that is too large."""
    n_cells = prod(int(model.cards[target]) for target in targets)
    if len(evidence) * n_cells > MOST_CELLS:
        raise GomeaBnError(
            f"The answer would have {len(evidence) * n_cells:,} numbers; the limit is {MOST_CELLS:,}. Ask for "
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
    # rows as single items, which NumPy sorts faster than rows
    items = np.ascontiguousarray(states).view(np.dtype((np.void, states.shape[1]))).ravel()
    _, first, pattern_of = np.unique(items, return_index=True, return_inverse=True)
    order = np.argsort(pattern_of, kind="stable")
    return Batch(states[first], pattern_of.astype(np.int64), order, np.array(targets, np.int64))


def _empty_plan(n: int) -> Plan:
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


def _spans(costs: NDArray[np.float64]) -> list[tuple[int, int]]:
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


def _with_observed(
    model: Model, evidence: Evidence, tables: NDArray[np.float64], is_possible: NDArray[np.bool_]
) -> list[NDArray[np.float64]]:
    """Return the tables of marginals by variable, with one-hot rows where a variable is observed."""
    parts = []
    for v, stop in enumerate(np.cumsum(model.cards).tolist()):
        card = int(model.cards[v])
        part = tables[:, stop - card : stop]
        codes = evidence.codes[:, v] if card > 1 else np.zeros(len(evidence), np.int32)
        rows = np.flatnonzero(codes >= 0)
        part[rows] = 0.0
        part[rows, codes[rows]] = 1.0
        part[~is_possible] = np.nan
        parts.append(part)
    return parts
