"""Exact inference over cells of conditional densities: common cells of all rows, and cells of single rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.conditionals.conditionals import SIZES, CellLevel
from gomea_bn.network.conditionals.kind import Family
from gomea_bn.network.conditionals.scales import Columns, LineScale
from gomea_bn.network.inference import kernels
from gomea_bn.network.inference.elimination import (
    MOST_CELLS,
    Part,
    answer_cells,
    call_spans,
    check_plans,
    empty_plan,
    families_and_order,
    grouped,
    marked_single,
    model_of_families,
    packed_weights,
    plans_fit,
    refuse_slow,
    rows_of_batch,
    with_observed,
)
from gomea_bn.network.inference.kernels import (
    EXACT,
    FREE,
    HIDDEN,
    KEPT,
    OBSERVED,
    SINGLE,
    WANTED,
    WEIGHED,
    Batch,
    Model,
    RowsToAnswer,
)
from gomea_bn.network.inference.question import Evidence, Joint, Resolution
from gomea_bn.network.inference.row_cells import BLOCK_OF_ROWS, RowCells, row_cells
from gomea_bn.network.inference.row_grids import FixedEnds, RowGrid, columns_of_grids, shares_of_cells
from gomea_bn.network.inference.sampler import (
    MOST_LOG_ERROR,
    NOTED_ERROR,
    SEED,
    Sampler,
    contradicts,
    drawn_joint,
)
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.runtime.fit_clock import never
from gomea_bn.runtime.threads import in_threads


class CostLimit(NamedTuple):
    """What an answer may cost, which decides how fine its cells are.

    `own` counts densities that are computed for a row alone, `shared` those of the tables that all rows share, and
    `multiplications` is per row.
    """

    own: int
    shared: int
    multiplications: int


OF_ROWS = CostLimit(400, 2**19, 2**15)
"""CostLimit of a row of a frame: about .1 milliseconds."""

OF_QUESTION = CostLimit(2**19, 2**19, 2**26)
"""CostLimit of a single question: some tenths of a second."""

OF_HARD_QUESTION = CostLimit(3 * 2**20, 6 * 2**20, 2**28)
"""CostLimit of a single question whose answer depends on the cells: up to about a second."""

# numbers of cells that move with what is known of a row, densities that a row may take, and rounds
_SIZES_OF_ROWS = (18, 14, 10, 7)

_FINE_SIZES = _SIZES_OF_ROWS[:2]

_MOST_OWN_DENSITIES = 2**15

# weighted draws of a row whose rounds do not settle: more where the former ones are worth less than enough equal draws
_DRAWS_OF_ROW = 2**11, 2**13, 2**14

# equal draws that they must be worth, and that are enough for a log density and for a distribution
_LEAST_DRAWS, _ENOUGH_OF_DENSITY, _ENOUGH_DRAWS = 625.0, 1_250.0, 2_500.0

# weighted draws for each of a few draws of a row, more where they are worth less than some equal draws; most draws
_DRAWS_OF_DRAW, _WORTH_OF_DRAW, _MOST_OF_FEW = (2**8, 2**11), 32.0, 8

# those of rows that cells do not settle either, and what they must be worth next to shared cells
_DRAWS_OF_UNSETTLED, _WORTH_OF_UNSETTLED = 2**14, 4.0

# weighted draws that are in memory at the same time
_DRAWS_AT_A_TIME = 2**17

_MOST_ROUNDS = 8

# draws of a row whose tables would be too large
_DRAWS_OF_LARGE = 2**14

# numbers inside the cells of a draw, of which it takes one
_CANDIDATES = 8

# difference of the distributions of two rounds below which a row needs no further one
_MOST_DIFFERENCE = 0.01

# blocks of rows that threads share at a time
_BLOCKS_AT_A_TIME = 16

# numbers of the tables of the rows that are answered at the same time
_OWN_CELLS = 2**22

# densities that are computed at the same time
_BLOCK = 2**16


@dataclass(frozen=True, eq=False)
class _CellPart(Part):
    """Rows that are answered over the cells of one level, whose position in `SIZES` is `index`.

    `numbers` (n,) are those of the rows. Their tables are divided by the exponentials of `log_scales` (n,), and
    `summed` (V,) marks continuous columns that are unknown and relevant in some row.
    """

    index: int
    level: CellLevel
    numbers: NDArray[np.int64]
    log_scales: NDArray[np.float64]
    summed: NDArray[np.bool_]


class RowRound(NamedTuple):
    """Rows that are answered over cells of their own, by the last round of these.

    `rows` (n,) are their numbers. By position of an unknown column: its cells, and their probabilities (n, n_cells).
    `errors` (n,) are the largest differences to the round before, and `multiplications` (n_patterns,)
    those of their plans.
    """

    rows: NDArray[np.int64]
    part: Part
    grids: dict[int, RowGrid]
    masses: dict[int, NDArray[np.float64]]
    log_evidence: NDArray[np.float64]
    errors: NDArray[np.float64]
    multiplications: NDArray[np.float64]

    def some(self, rows: NDArray[np.int64]) -> RowRound:
        """Return some of the rows, by position."""
        arrays, batch = self.part.rows, rows_of_batch(self.part.batch, rows)
        arrays = arrays._replace(codes=arrays.codes[rows], table_at=arrays.table_at[rows])
        spans = call_spans(self.multiplications[batch.pattern_of[batch.order]])
        return RowRound(
            self.rows[rows],
            replace(self.part, rows=arrays, batch=batch, spans=spans),
            {v: grid.some(rows) for v, grid in self.grids.items()},
            {v: of_column[rows] for v, of_column in self.masses.items()},
            self.log_evidence[rows],
            self.errors[rows],
            self.multiplications,
        )


class RowAnswer(NamedTuple):
    """Answers of rows, by number: the log probability of what is known, and errors of probabilities, both (n,).

    `cells` are the distributions of a continuous target, and `masses` (n, n_levels) those of a discrete one.
    """

    rows: NDArray[np.int64]
    log_evidence: NDArray[np.float64]
    errors: NDArray[np.float64]
    cells: RowCells | None
    masses: NDArray[np.float64] | None


class _WeightedDraws(NamedTuple):
    """Weighted draws of rows: by name the values of columns that are drawn in some row, (n_rows, n), and log weights.

    `is_drawn` (n_rows, n_variables) says where columns are drawn.
    """

    values: dict[str, NDArray[Any]]
    logs: NDArray[np.float64]
    is_drawn: NDArray[np.bool_]

    def some(self, rows: NDArray[np.int64]) -> _WeightedDraws:
        """Return some of the rows, by position."""
        values = {name: of_column[rows] for name, of_column in self.values.items()}
        return _WeightedDraws(values, self.logs[rows], self.is_drawn[rows])


class CellEngine:
    """Exact inference over cells, whose methods are those of `ExactEngine`.

    A family with an observed number counts with its density there. Unknown members of a family have the middles of
    their cells as parents, and the probabilities of their cells as children. Each pattern of unknown columns has the
    finest cells that the budget allows.

    In place of the budget, `cells` limits the cells of a column (to no fewer than the shown bins), and `level` names
    their position in `SIZES`. With `is_rough`, log probabilities of what is known of a row come from few weighted draws
    where these are worth enough: errors of single rows, of up to some tenths, cancel in sums over rows.
    """

    def __init__(
        self,
        network: NetworkLike,
        budget: CostLimit,
        cells: int | None = None,
        level: int | None = None,
        *,
        is_rough: bool = False,
    ) -> None:
        self._network = network
        self._grids = network.cell_grids
        self.network = cast("NetworkLike", self._grids.finest)
        self._budget, self._is_rough = budget, is_rough
        self._levels = list(range(len(SIZES)))
        if cells is not None:
            sizes = [[len(cuts) + 1 for cuts in self._grids.level(k).cuts.values()] for k in self._levels]
            fits = [k for k in self._levels if max(sizes[k], default=1) <= cells]
            level = [*fits, self._levels[-1]][0]
        if level is not None:
            self._levels = [level]
        names, cuts, shapes = network.names, network.cut_points, network.shapes
        self._continuous = np.array([name in cuts for name in names])
        self._ends = {
            v: FixedEnds(
                network.support[name],
                cuts[name],
                self._grids.bends(name),
                shapes[name].point_values if name in shapes else np.empty(0),
            )
            for v, name in enumerate(names)
            if name in cuts
        }
        self._first_ends = {v: ends.first() for v, ends in self._ends.items()}
        self._families, self._order = families_and_order(network)
        fewest = self._grids.level(self._levels[-1]).cards.astype(np.float64)
        self._in_large_tables = np.zeros(len(names), np.bool_)
        for family in self._families:
            self._in_large_tables[family] |= fewest[family].prod() > MOST_CELLS
        fixed = ((v, network.families[name].stack.fixed_value) for v, name in enumerate(names))
        self._set_values = {v: value for v, value in fixed if value is not None}

    def joint(self, evidence: Evidence, targets: Sequence[int], in_bins: bool = False) -> Joint:
        """Return the joint distribution of variables without evidence; see `ExactEngine`."""
        shown = self._network if in_bins else self.network
        names = [self._network.names[target] for target in targets]
        n_cells = answer_cells(len(evidence), [shown.cardinality(name) for name in names])
        answered: list[NDArray[np.int64]] = []
        log_evidence = np.empty(len(evidence))
        tables = np.zeros((len(evidence), n_cells if len(targets) else 0))
        n_used, coarsest, summed = 0, 0, np.zeros(len(self._families), np.bool_)
        rest = np.arange(len(evidence))
        row_errors = np.zeros(len(evidence))
        target = targets[0] if targets else None
        is_shown = target is None or in_bins or not self._continuous[target]
        for answer in (
            self.answers_of_rows(evidence, target, with_single=is_shown) if len(targets) < 2 else ()
        ):
            rows = answer.rows
            log_evidence[rows], row_errors[rows] = answer.log_evidence, answer.errors
            if answer.cells is not None and target is not None:
                tables[rows] = answer.cells.tables() if is_shown else self._over_finest(answer.cells, target)
                n_used = max(n_used, answer.cells.n_cells)
            elif answer.masses is not None:
                tables[rows] = answer.masses
            answered.append(rows)
        rest = np.setdiff1d(rest, np.concatenate([rest[:0], *answered]), assume_unique=True)
        row_errors[rest[self.are_hard(evidence.take(rest), targets)]] = 1.0
        is_drawn = np.ones(len(evidence), np.bool_)
        is_drawn[np.setdiff1d(np.arange(len(evidence)), rest, assume_unique=True)] = False
        for part in self._parts(
            evidence.take(rest),
            targets,
            HIDDEN,
            keeps_tables=False,
            leaves_large=bool(targets) and len(self._levels) > 1,
        ):
            rows = rest[part.numbers]
            is_drawn[rows] = False
            of_level = [int(part.level.cards[target]) for target in targets]
            logs, answers = part.joint(prod(of_level) if len(targets) else 0)
            log_evidence[rows] = logs + part.log_scales
            if len(targets):
                answers = answers.reshape(-1, *of_level)
                for axis, target in enumerate(targets, start=1):
                    answers = self._at_cells(part.level, target, answers, axis, in_bins)
                tables[rows] = answers.reshape(len(rows), -1)
            n_used = max(n_used, int(part.level.cards[part.summed].max(initial=0)))
            coarsest, summed = max(coarsest, part.index), summed | part.summed
        errors: NDArray[np.float64] | None = None
        if is_drawn.any():
            errors = np.zeros(tables.shape)
            # an answer does not depend on the other rows
            for row in np.flatnonzero(is_drawn)[:, None]:
                generator = np.random.default_rng(SEED)
                sampler = Sampler(self._network, _DRAWS_OF_LARGE, generator, in_tables=False)
                drawn = sampler.joint(evidence.take(row), targets, in_bins)
                assert drawn.errors is not None
                assert drawn.log_evidence_errors is not None
                log_evidence[row], tables[row] = drawn.log_evidence, drawn.tables
                # the errors of few draws are unsure themselves
                errors[row] = drawn.errors if drawn.log_evidence_errors[0] < MOST_LOG_ERROR else 1.0
                row_errors[row] = 3.0 * errors[row].max()
        return Joint(
            log_evidence,
            tables,
            errors=errors,
            resolution=Resolution(n_used, coarsest, summed, row_errors),
        )

    def resolved_joint(self, evidence: Evidence, targets: Sequence[int]) -> tuple[Joint, float]:
        """Return the distribution over the shown bins for a single row, and its error.

        That is the largest difference of its probabilities to the answer over half the cells, or three standard errors
        of draws. Columns that almost determine each other need finer cells than any budget allows, and the difference
        does not always show it. So some draws check the answer. Many draws answer if these contradict it, or if the
        difference is above .01 and they are surer; a hard question has finer cells otherwise. They also answer where
        the tables of the coarsest cells would be too large. The error is NaN for an answer over the shown bins alone. A
        given number of cells is kept to.
        """
        joint, error = self._with_error(evidence, targets)
        if joint.errors is not None:
            drawn, of_draws = drawn_joint(self._network, evidence, targets, 2**17)
            if np.isfinite(of_draws):
                return drawn, of_draws
            # too few draws have the evidence: this refuses the question with the size of its tables
            next(self._parts(evidence, targets, HIDDEN, keeps_tables=False))
        used = joint.resolution
        assert used is not None
        if len(self._levels) == 1 or joint.log_evidence[0] == -np.inf or not used.summed.any():
            return joint, error
        # fewer draws check an answer than stand for one whose cells are too coarse
        few, of_few = drawn_joint(self._network, evidence, targets, 2**14)
        if error <= NOTED_ERROR and not contradicts(few, of_few, joint):
            return joint, error
        drawn, of_draws = drawn_joint(self._network, evidence, targets, 2**17)
        # the error of cells that are too coarse is seen to be up to that many times the difference to half of them
        if contradicts(drawn, of_draws, joint) or of_draws < (1.0 if np.isnan(error) else 2.0 * error):
            return drawn, of_draws
        return CellEngine(self._network, OF_HARD_QUESTION)._with_error(evidence, targets)

    def _with_error(self, evidence: Evidence, targets: Sequence[int]) -> tuple[Joint, float]:
        joint = self.joint(evidence, targets, in_bins=True)
        used = joint.resolution
        assert used is not None
        if not used.summed.any() or joint.log_evidence[0] == -np.inf:
            return joint, float(used.errors.max(initial=0.0))
        engine = self.over_half(used)
        if engine is None:
            return joint, np.nan
        coarser = engine.joint(evidence, targets, in_bins=True)
        return joint, float(np.abs(coarser.tables[0] - joint.tables[0]).max())

    def over_half(self, used: Resolution) -> CellEngine | None:
        """Return the engine over half the cells of an answer, for its error; None if the cells are the coarsest."""
        last = len(SIZES) - 1
        if used.level == last:
            return None
        sizes = [int(self._grids.level(k).cards[used.summed].max()) for k in range(last)]
        half = next((k for k, size in enumerate(sizes) if size <= used.n_cells / 2), last)
        return CellEngine(self._network, self._budget, level=half)

    def marginals(self, evidence: Evidence) -> list[NDArray[np.float64]]:
        """Return P(variable | evidence) by variable; see `ExactEngine`."""
        evidence = self._with_set_values(evidence, ())
        finest = self._grids.level(0).cards
        tables = np.full((len(evidence), int(finest.sum())), np.nan)
        log_evidence = np.empty(len(evidence))
        for part in self._parts(evidence, (), WANTED, keeps_tables=True):
            log_evidence[part.numbers], answers = part.marginals()
            stops, ends = np.cumsum(part.level.cards).tolist(), np.cumsum(finest).tolist()
            for v, (stop, end) in enumerate(zip(stops, ends, strict=True)):
                of_level = answers[:, stop - int(part.level.cards[v]) : stop]
                weights = evidence.weights.get(v)
                tables[part.numbers, end - int(finest[v]) : end] = self._at_cells(
                    part.level, v, of_level, 1, False, None if weights is None else weights[part.numbers]
                )
        return with_observed(finest, evidence, tables, log_evidence > -np.inf)

    def draws(self, evidence: Evidence, n_draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
        """Return draws of all variables given the evidence; see `ExactEngine`."""
        return self.draws_with_numbers(evidence, n_draws, generator)[0]

    def draws_with_numbers(
        self,
        evidence: Evidence,
        n_draws: int,
        generator: np.random.Generator,
        is_late: Callable[[], bool] = never,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return draws of all variables, and their numbers, float64 (n_rows, n_draws, n_variables).

        Numbers are NaN where a code is all that is drawn. Once it is late, rows that need draws of their own are drawn
        over the cells of all rows.
        """
        drawn = np.full((len(evidence), n_draws, len(self._families)), -1, np.int32)
        numbers = np.full(drawn.shape, np.nan)
        is_unknown = evidence.codes < 0
        is_answered = np.zeros(len(evidence), np.bool_)
        hard = np.flatnonzero(self.are_hard(evidence, ()))
        # cells of their own take as long for one draw as for thousands
        are_few = n_draws <= _MOST_OF_FEW

        def draw_several(rows: NDArray[np.int64], n: int, worth: float) -> None:
            for some, draws in self._several_draws(evidence, rows, n * n_draws, worth * n_draws, generator):
                chosen = self._chosen_draws(evidence.take(some), draws, n_draws, generator)
                drawn[some], numbers[some] = chosen
                is_answered[some] = True
                if is_late():
                    break

        for n in _DRAWS_OF_DRAW if are_few else ():
            draw_several(hard, n, _WORTH_OF_DRAW)
            hard = hard[~is_answered[hard]]
        for done in self.rounds(evidence.take(hard), (), _MOST_OWN_DENSITIES):
            rows = hard[done.rows]
            drawn[rows], numbers[rows] = self._draws_of_round(done, evidence.take(rows), n_draws, generator)
            is_answered[rows] = done.errors <= _MOST_DIFFERENCE
            if is_late():
                break
        if are_few:
            if not is_late():
                draw_several(hard[~is_answered[hard]], _DRAWS_OF_UNSETTLED, _WORTH_OF_UNSETTLED)
            is_answered[hard] |= (drawn[hard] != -1).any(axis=(1, 2))
            hard = hard[:0]
        for row in hard[~is_answered[hard]].tolist():
            if is_late():
                is_answered[hard] |= (drawn[hard] != -1).any(axis=(1, 2))
                break
            of_row = evidence.take(np.array([row]))
            draws, worth = self._enough_draws(of_row, (), _ENOUGH_DRAWS, generator)
            if worth >= _LEAST_DRAWS:
                drawn[[row]], numbers[[row]] = self._chosen_draws(of_row, draws, n_draws, generator)
                is_answered[row] = True
            elif (drawn[row] != -1).any():
                is_answered[row] = True
        rest = np.flatnonzero(~is_answered)
        drawn[rest] = self._draws_of_levels(evidence.take(rest), n_draws, generator)
        for v in self._set_values:
            if v not in evidence.weights:
                is_set = is_unknown[:, v][:, None] & (drawn[:, :, v] != -1)
                drawn[:, :, v] = np.where(is_set, FREE, drawn[:, :, v])
        return drawn, numbers

    def _draws_of_round(
        self,
        done: RowRound,
        evidence: Evidence,
        n_draws: int,
        generator: np.random.Generator,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return draws of rows of a round, and their numbers, both (n_rows, n_draws, V).

        Each is one of several numbers inside the drawn cells, by their densities, since columns of wide cells may
        almost determine each other.
        """
        codes = done.part.draws(n_draws, generator)
        names, n_rows = self._network.names, len(codes)
        patterns, pattern_of = done.part.batch.patterns, done.part.batch.pattern_of
        relevant = self._relevant(patterns)[pattern_of]
        shape = n_rows, n_draws, _CANDIDATES
        known = self._known(self._with_set_values(evidence, ()))
        values: dict[str, NDArray[Any]] = {}
        for v, name in enumerate(names):
            values[name] = np.broadcast_to(known[name][:, None, None], shape).copy()
            is_drawn = (codes[:, :, v] >= 0) & (evidence.codes[:, v] < 0)[:, None]
            rows, places = np.nonzero(is_drawn)
            of_cells = codes[rows, places, v]
            if v in done.grids:
                low, high = (
                    ends[rows, of_cells][:, None] for ends in (done.grids[v].lows, done.grids[v].highs)
                )
                values[name][rows, places] = low + generator.random((len(rows), _CANDIDATES)) * (high - low)
            elif not self._continuous[v]:
                values[name][rows, places] = of_cells[:, None]
        logs = np.zeros(shape)
        is_unknown = patterns[pattern_of] >= HIDDEN
        for v, family in enumerate(self._families):
            members = [m for m in family if self._continuous[m]]
            rows = np.flatnonzero(
                relevant[:, v] & is_unknown[:, members].any(axis=1) & (codes[:, 0, 0] != -1)
            )
            if len(rows):
                some = Columns({name: values[name][rows].ravel() for name in self._names_of(v)})
                logs[rows] += self._network.families[names[v]].log_density(some).reshape(-1, *shape[1:])
        chosen = (logs + generator.gumbel(size=shape)).argmax(axis=2)[:, :, None]
        numbers = np.full(codes.shape, np.nan)
        for v in done.grids:
            of_draws = np.take_along_axis(values[names[v]], chosen, axis=2)[:, :, 0]
            is_drawn = (codes[:, :, v] >= 0) & (evidence.codes[:, v] < 0)[:, None]
            numbers[:, :, v] = np.where(is_drawn, of_draws, np.nan)
            finest = np.searchsorted(self.network.cut_points[names[v]], of_draws)
            codes[:, :, v] = np.where(is_drawn, finest, codes[:, :, v])
        return codes, numbers

    def _draws_of_levels(
        self, evidence: Evidence, n_draws: int, generator: np.random.Generator
    ) -> NDArray[np.int32]:
        """Return draws of rows over the cells of levels."""
        drawn = np.full((len(evidence), n_draws, len(self._families)), -1, np.int32)
        is_unknown = evidence.codes < 0
        for part in self._parts(evidence, (), HIDDEN, keeps_tables=True):
            codes = part.draws(n_draws, generator)
            for v in np.flatnonzero(self._continuous).tolist():
                chosen = (codes[:, :, v] >= 0) & is_unknown[part.numbers, v][:, None]
                rows, places = np.nonzero(chosen)
                if len(rows):
                    weights = evidence.weights.get(v)
                    of_rows = None if weights is None else weights[part.numbers]
                    codes[rows, places, v] = self._finest_codes(
                        part.level, v, codes[rows, places, v], of_rows, rows, generator
                    )
            drawn[part.numbers] = codes
        return drawn

    def row_plan(self, evidence: Evidence) -> tuple[Part, Mapping[int, NDArray[np.int64]], int | None]:
        """Return the plan of a single row as of `ExactEngine`; its log probabilities lack a constant."""
        part = next(self._parts(evidence, (), HIDDEN, keeps_tables=False))
        n_cells = int(part.level.cards[part.summed].max(initial=0))
        return part, part.level.first_of_bins, n_cells

    def fits_bins(self, evidence: Evidence, targets: Sequence[int]) -> bool:
        """Return whether the tables of an answer over the shown bins would be small enough."""
        batch, _ = self._batch(evidence, targets, HIDDEN)
        cards = np.array([self._network.cardinality(name) for name in self._network.names], np.int64)
        patterns = np.where(batch.patterns == EXACT, np.int8(OBSERVED), batch.patterns)
        batch = batch._replace(patterns=marked_single(patterns, cards))
        return bool(plans_fit(self._costs(cards, batch, False)).all())

    def _at_cells(
        self,
        level: CellLevel,
        v: int,
        tables: NDArray[np.float64],
        axis: int,
        in_bins: bool,
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return probabilities with an axis over cells of a level over the finest cells, or over the shown bins.

        A cell is divided as the column is distributed inside its bins, and as `weights` of the finest cells,
        (n_rows, n_cells), which need `axis` 1.
        """
        if not self._continuous[v]:
            return tables
        if in_bins:
            return np.asarray(np.add.reduceat(tables, level.first_of_bins[v], axis=axis))
        masses = self._grids.masses[v][None] * (1.0 if weights is None else weights)
        first = level.first[v]
        sizes = np.diff([*first.tolist(), masses.shape[1]])
        of_cells = np.repeat(np.add.reduceat(masses, first, axis=1), sizes, axis=1)
        shares = np.divide(masses, of_cells, out=np.zeros_like(masses), where=of_cells > 0)
        spread = np.repeat(tables, sizes, axis=axis)
        if weights is not None:
            return np.asarray(spread * shares)
        return np.asarray(spread * shares.reshape([-1 if k == axis else 1 for k in range(tables.ndim)]))

    def _finest_codes(
        self,
        level: CellLevel,
        v: int,
        codes: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
        rows: NDArray[np.int64],
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return draws of the finest cells inside cells of a level, int64 (n,), of the rows that `weights` are of."""
        result = np.empty(len(codes), np.int64)
        first = level.first[v]
        last = np.append(first[1:], len(self._grids.masses[v])) - 1
        groups = (
            [np.arange(len(codes))]
            if weights is None
            else [np.flatnonzero(rows == r) for r in np.unique(rows)]
        )
        for group in groups:
            masses = self._grids.masses[v]
            if weights is not None:
                masses = masses * weights[rows[group[0]]]
            below = np.concatenate(([0.0], np.cumsum(masses)))
            chosen = codes[group]
            starts, ends = below[first[chosen]], below[last[chosen] + 1]
            shares = starts + generator.random(len(group)) * (ends - starts)
            drawn = np.searchsorted(below, shares, side="right") - 1
            result[group] = np.clip(drawn, first[chosen], last[chosen])
        return result

    def _with_set_values(self, evidence: Evidence, targets: Sequence[int]) -> Evidence:
        """Return evidence that also has the values that an intervention has set unknown columns to."""
        codes, values = evidence.codes.copy(), evidence.numbers().copy()
        for v, value in self._set_values.items():
            if v in targets or v in evidence.weights:
                continue
            rows = codes[:, v] < 0
            if self._continuous[v]:
                values[rows, v] = value
                codes[rows, v] = np.searchsorted(self.network.cut_points[self._network.names[v]], value)
            else:
                codes[rows, v] = int(value)
        return Evidence(codes, evidence.weights, values)

    def _parts(
        self,
        evidence: Evidence,
        targets: Sequence[int],
        hidden_as: int,
        *,
        keeps_tables: bool,
        leaves_large: bool = False,
    ) -> Iterator[_CellPart]:
        """Yield the rows in parts of one level, with plans and tables; no large ones with `leaves_large`."""
        evidence = self._with_set_values(evidence, targets)
        batch, relevant = self._batch(evidence, targets, hidden_as)
        level_of, sizes, costs = self._levels_of(batch, relevant, keeps_tables)
        if leaves_large:
            fits = plans_fit(costs)
            level_of, costs = np.where(fits, level_of, -1), np.where(fits[:, None], costs, 0.0)
            refuse_slow(batch, costs)
        else:
            check_plans(batch, costs)
        for index in np.unique(level_of[level_of >= 0]).tolist():
            level = self._grids.level(index)
            some = np.flatnonzero(level_of == index)
            new_number = np.full(len(level_of), -1, np.int64)
            new_number[some] = np.arange(len(some))
            patterns = marked_single(batch.patterns[some], level.cards)
            rows = batch.order[level_of[batch.pattern_of[batch.order]] == index]
            # the answers of a block take memory as well
            n_answer = (
                sum(level.cards.tolist()) if keeps_tables else prod(level.cards[list(targets)].tolist())
            )
            taken = np.cumsum(sizes[batch.pattern_of[rows]] + n_answer) // _OWN_CELLS
            for block in np.split(rows, np.flatnonzero(np.diff(taken)) + 1):
                pattern_of = new_number[batch.pattern_of[block]]
                own = Batch(patterns, pattern_of, np.arange(len(block)), batch.kept)
                yield self._part(index, evidence.take(block), block, own, relevant[some], costs[some])

    def _batch(
        self, evidence: Evidence, targets: Sequence[int], hidden_as: int
    ) -> tuple[Batch, NDArray[np.bool_]]:
        """Return the rows by their patterns, and which variables are relevant in each, bool (n_patterns, V)."""
        states = np.full(evidence.codes.shape, hidden_as, np.int8)
        is_known = evidence.codes >= 0
        states[is_known] = OBSERVED
        # those whose parents have too many combinations for a table have one per row, at what is known
        states[is_known & (self._continuous | self._in_large_tables)] = EXACT
        for v in evidence.weights:
            states[~is_known[:, v], v] = WEIGHED
        states[:, list(targets)] = KEPT
        batch = grouped(states, targets)
        return batch, self._relevant(batch.patterns)

    def row_cells(
        self, evidence: Evidence, target: int | None
    ) -> Iterator[tuple[NDArray[np.int64], RowCells]]:
        """Yield rows in which a continuous variable alone is unknown, and its distributions there.

        Variables on which neither it nor the evidence depends may also be unknown. There are no such rows if the number
        of cells was given, or if an intervention has set the variable. Without a target the variable may be any one.
        """
        targets = [] if target is None else [target]
        if len(self._levels) == 1:
            return
        evidence = self._with_set_values(evidence, targets)
        batch, relevant = self._batch(evidence, targets, HIDDEN)
        is_unknown = (batch.patterns >= HIDDEN) & relevant
        unknown = np.where(is_unknown.sum(axis=1) == 1, is_unknown.argmax(axis=1), -1)[batch.pattern_of]
        known = self._known(evidence)
        for v in np.unique(unknown).tolist():
            if v < 0 or not self._continuous[v] or v in self._set_values or v in evidence.weights:
                continue
            name = self._network.names[v]
            is_member = np.array([v in family for family in self._families])
            of_variable = np.flatnonzero(unknown == v)
            is_needed = relevant[batch.pattern_of[of_variable]]
            of_others = np.zeros(len(of_variable))
            for other in np.flatnonzero((is_needed & ~is_member).any(axis=0)).tolist():
                some = np.flatnonzero(is_needed[:, other])
                of_family = known.some(of_variable[some], self._names_of(other))
                of_others[some] += self._network.families[self._network.names[other]].log_density(of_family)
            members, group_of = np.unique(is_needed & is_member, axis=0, return_inverse=True)
            for group, of_group in enumerate(members):
                places = np.flatnonzero(group_of.ravel() == group)
                needed = np.flatnonzero(of_group).tolist()
                families = [self._network.families[self._network.names[member]] for member in needed]
                others = {other for member in needed for other in self._names_of(member)} - {name}
                columns = [*others, name]
                of_block = partial(
                    self._cells_of_block, families, name, known, columns, (of_variable, of_others)
                )
                blocks = np.array_split(places, -(-len(places) // BLOCK_OF_ROWS))
                # few blocks at a time are in memory
                for first in range(0, len(blocks), _BLOCKS_AT_A_TIME):
                    of_turn = blocks[first : first + _BLOCKS_AT_A_TIME]
                    yield from in_threads(of_block, of_turn, n_threads=-1 if len(of_turn) > 1 else 1)

    def _cells_of_block(
        self,
        families: Sequence[Family],
        name: str,
        known: Columns,
        columns: Sequence[str],
        of_rows: tuple[NDArray[np.int64], NDArray[np.float64]],
        places: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], RowCells]:
        """Return the numbers of some rows and the distributions of a column there, as of `row_cells`.

        `of_rows` are numbers of rows and what other families add to their log densities, of which `places` count.
        """
        numbers, of_others = of_rows
        rows = numbers[places]
        cells = row_cells(
            families,
            name,
            known.some(rows, columns),
            self._grids.breaks(name),
            self._network.cut_points[name],
        )
        return rows, replace(cells, log_evidence=cells.log_evidence + of_others[places])

    def answers_of_rows(
        self, evidence: Evidence, target: int | None, *, with_single: bool = True
    ) -> Iterator[RowAnswer]:
        """Yield rows that are answered more finely than the cells of a level allow, each once.

        A single unknown number has cells of its row, unless `with_single` is False. So have several, unless their
        distributions do not settle: the joint distribution of columns that almost determine each other is too narrow
        for cells. Weighted draws answer such rows if they are worth enough. Otherwise the errors of rows say that they
        fall short, and rows without an answer are left to the cells of a level.
        """
        rest = np.arange(len(evidence))
        if with_single and (target is None or self._continuous[target]):
            for rows, cells in self.row_cells(evidence, target):
                yield RowAnswer(rows, cells.log_evidence, cells.errors, cells, None)
                rest = np.setdiff1d(rest, rows, assume_unique=True)
        wanted = [] if target is None else [target]
        rest = rest[self.are_hard(evidence.take(rest), wanted)]
        if self._is_rough and target is None:
            for rough in self._rough_answers(evidence, rest):
                yield rough
                rest = np.setdiff1d(rest, rough.rows, assume_unique=True)
        unsettled: dict[int, RowAnswer] = {}
        # a log density by draws has an error of their number, and one over few cells that of these
        few = 2**13 if target is not None else _MOST_OWN_DENSITIES
        for most, sizes in ((few, _FINE_SIZES), (_MOST_OWN_DENSITIES, _SIZES_OF_ROWS)):
            untried = np.array([row for row in rest.tolist() if row not in unsettled], np.int64)
            for done in self.rounds(evidence.take(untried), wanted, most, sizes, of_evidence=target is None):
                rows = untried[done.rows]
                is_settled = done.errors <= _MOST_DIFFERENCE
                if is_settled.any():
                    yield self._answer_of_round(
                        done.some(np.flatnonzero(is_settled)), target, rows[is_settled]
                    )
                    rest = np.setdiff1d(rest, rows[is_settled], assume_unique=True)
                for at in np.flatnonzero(~is_settled).tolist():
                    of_row = done.some(np.array([at]))
                    unsettled[int(rows[at])] = self._answer_of_round(of_row, target, rows[at : at + 1])
            if sizes is _FINE_SIZES:
                for row in rest.tolist():
                    answer = self._answer_by_draws(evidence.take(np.array([row])), target, row)
                    if answer is not None:
                        yield answer
                        unsettled.pop(row, None)
                        rest = rest[rest != row]
        yield from unsettled.values()

    def _rough_answers(self, evidence: Evidence, rows: NDArray[np.int64]) -> Iterator[RowAnswer]:
        """Yield the log probabilities of what is known of rows, where weighted draws are worth enough."""
        generator = np.random.default_rng(SEED)
        unsettled = (_DRAWS_OF_UNSETTLED, _WORTH_OF_UNSETTLED)
        for n, worth in [*((n, _WORTH_OF_DRAW) for n in _DRAWS_OF_DRAW), unsettled]:
            rest = rows
            for some, draws in self._several_draws(evidence, rows, n, worth, generator):
                largest = draws.logs.max(axis=1)
                logs = largest + np.log(_relative(draws.logs).mean(axis=1))
                yield RowAnswer(some, logs, 1 / np.sqrt(_equal_draws(draws.logs)), None, None)
                rest = np.setdiff1d(rest, some, assume_unique=True)
            rows = rest

    def _answer_of_round(self, done: RowRound, target: int | None, rows: NDArray[np.int64]) -> RowAnswer:
        """Return the answers of rows of a round, whose numbers are given."""
        cells, masses = None, None
        if target in done.grids:
            shown = self._network.cut_points[self._network.names[target]]
            grid, of_target = done.grids[target], done.masses[target]
            cells = grid.distribution(of_target, done.log_evidence, done.errors, shown)
        elif target is not None:
            masses = done.masses[target]
        return RowAnswer(rows, done.log_evidence, done.errors, cells, masses)

    def _answer_by_draws(self, evidence: Evidence, target: int | None, row: int) -> RowAnswer | None:
        """Return the answer of a single row by weighted draws, or None if they are worth too little."""
        wanted = [] if target is None else [target]
        generator = np.random.default_rng(SEED)
        enough = _ENOUGH_OF_DENSITY if target is None else _ENOUGH_DRAWS
        draws, worth = self._enough_draws(evidence, wanted, enough, generator)
        if worth < _LEAST_DRAWS:
            return None
        values, logs = {name: drawn[0] for name, drawn in draws.values.items()}, draws.logs[0]
        weights = np.exp(logs - logs.max())
        log_evidence = np.array([logs.max() + np.log(weights.mean())])
        errors, weights = np.array([1 / np.sqrt(worth)]), weights / weights.sum()
        if target is None:
            return RowAnswer(np.array([row]), log_evidence, errors, None, None)
        name = self._network.names[target]
        if not self._continuous[target]:
            n_levels = len(self._network.levels[name])
            masses = np.bincount(values[name], weights, n_levels).astype(np.float64)[None]
            return RowAnswer(np.array([row]), log_evidence, errors, None, masses)
        order = np.argsort(values[name])
        numbers, at_numbers = values[name][order], np.zeros(len(order), np.int64)
        cells = RowCells(
            rows=at_numbers,
            lows=numbers,
            highs=numbers,
            masses=weights[order],
            centres=numbers,
            log_evidence=log_evidence,
            errors=errors,
            bases=at_numbers,
            shown_cuts=self._network.cut_points[name],
            blanket=None,
        )
        return RowAnswer(np.array([row]), log_evidence, errors, cells, None)

    def _enough_draws(
        self, evidence: Evidence, wanted: Sequence[int], enough: float, generator: np.random.Generator
    ) -> tuple[_WeightedDraws, float]:
        """Return weighted draws of a single row, of as many as are enough, and what they are worth."""
        worth = 0.0
        for n in _DRAWS_OF_ROW:
            if worth < enough:
                draws = self._weighted_draws(evidence, wanted, n, generator)
                worth = float(_equal_draws(draws.logs)[0])
        return draws, worth

    def _several_draws(
        self,
        evidence: Evidence,
        rows: NDArray[np.int64],
        n: int,
        worth: float,
        generator: np.random.Generator,
    ) -> Iterator[tuple[NDArray[np.int64], _WeightedDraws]]:
        """Yield those of the given rows of which weighted draws are worth enough equal ones, with the former.

        They come in parts that memory has room for.
        """
        n_rows = max(_DRAWS_AT_A_TIME // n, 1)
        for some in np.split(rows, range(n_rows, len(rows), n_rows)):
            draws = self._weighted_draws(evidence.take(some), (), n, generator)
            is_enough = np.flatnonzero(_equal_draws(draws.logs) >= worth)
            if len(is_enough):
                yield some[is_enough], draws.some(is_enough)

    def _chosen_draws(
        self, evidence: Evidence, draws: _WeightedDraws, n_draws: int, generator: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return codes and numbers of some of the weighted draws of rows, both (n_rows, n_draws, n_variables).

        A weighted draw is chosen as often as its weight says.
        """
        shape = len(evidence), n_draws, len(self._families)
        codes = np.where(evidence.codes < 0, FREE, evidence.codes)[:, None]
        drawn, numbers = np.broadcast_to(codes, shape).astype(np.int32), np.full(shape, np.nan)
        below = np.cumsum(_relative(draws.logs), axis=1)
        at = generator.random((len(evidence), n_draws)) * below[:, -1:]
        chosen = np.stack([np.searchsorted(*of_row, side="right") for of_row in zip(below, at, strict=True)])
        chosen = np.minimum(chosen, draws.logs.shape[1] - 1)
        for name, of_column in draws.values.items():
            v = self._network.names.index(name)
            rows = np.flatnonzero(draws.is_drawn[:, v])
            of_draws = np.take_along_axis(of_column[rows], chosen[rows], axis=1)
            if self._continuous[v]:
                drawn[rows, :, v] = np.searchsorted(self.network.cut_points[name], of_draws)
                numbers[rows, :, v] = of_draws
            else:
                drawn[rows, :, v] = of_draws
        return drawn, numbers

    def _weighted_draws(
        self, evidence: Evidence, wanted: Sequence[int], n: int, generator: np.random.Generator
    ) -> _WeightedDraws:
        """Return draws of the relevant unknown columns of rows given their parents; see `Sampler`.

        Other columns may be known in every row.
        """
        evidence = self._with_set_values(evidence, wanted)
        _, pattern_of, relevant = self._states_of_rows(evidence, wanted)
        is_known, is_needed = evidence.codes >= 0, relevant[pattern_of]
        is_drawn = is_needed & ~is_known
        known, shape = self._known(evidence), (len(evidence), n)
        values: dict[str, NDArray[Any]] = {}
        logs = np.zeros(shape)

        def columns_of(names: Sequence[str], rows: NDArray[np.int64], *, is_flat: bool) -> Columns:
            """Return some rows of columns, of shape (rows * n,), or (rows, 1) where known and else (rows, n)."""
            of_rows = {}
            for name in names:
                if name in values:
                    of_rows[name] = values[name][rows]
                else:
                    of_rows[name] = known[name][rows][:, None]
                if is_flat:
                    of_rows[name] = np.broadcast_to(of_rows[name], (len(rows), n)).ravel()
            return Columns(of_rows)

        for v in self._order.tolist():
            name, family, members = self._network.names[v], self._families[v], self._names_of(v)
            density = self._network.families[name]
            rows = np.flatnonzero(is_drawn[:, v])
            if len(rows):
                values[name] = np.repeat(known[name][:, None], n, axis=1)
                parents = columns_of([m for m in members if m != name], rows, is_flat=True)
                values[name][rows] = density.draw(parents, len(rows) * n, generator).reshape(-1, n)
            is_weighed = is_needed[:, v] & is_known[:, v]
            rows = np.flatnonzero(is_weighed & is_known[:, family].all(axis=1))
            logs[rows] += density.log_density(known.some(rows, members))[:, None]
            rows = np.flatnonzero(is_weighed & ~is_known[:, family].all(axis=1))
            if len(rows):
                logs[rows] += density.log_density(columns_of(members, rows, is_flat=False))
        return _WeightedDraws(values, logs, is_drawn)

    def _over_finest(self, cells: RowCells, v: int) -> NDArray[np.float64]:
        """Return the probabilities of the finest cells under distributions of rows, float64 (n_rows, n_cells)."""
        name = self._network.names[v]
        ends = np.append(self.network.cut_points[name], self._network.support[name][1])
        first = np.searchsorted(cells.rows, np.arange(len(cells.log_evidence) + 1))
        tables = np.empty((len(first) - 1, len(ends)))
        for row, (start, stop) in enumerate(pairwise(first.tolist())):
            below = np.cumsum(cells.masses[start:stop])
            highs = np.concatenate((cells.lows[start : start + 1], cells.highs[start:stop]))
            tables[row] = np.diff(np.interp(ends, highs, np.append(0.0, below)), prepend=0.0)
        return tables

    def are_hard(self, evidence: Evidence, wanted: Sequence[int]) -> NDArray[np.bool_]:
        """Return in which rows several columns are unknown, some of them continuous, bool (n_rows,).

        There are none if the number of cells was given. Rows with weights, or with an unknown column that an
        intervention has set, do not count.
        """
        if len(self._levels) == 1 or self._budget != OF_ROWS or not len(evidence):
            return np.zeros(len(evidence), np.bool_)
        evidence = self._with_set_values(evidence, wanted)
        states, pattern_of, relevant = self._states_of_rows(evidence, wanted)
        is_unknown = (states >= HIDDEN) & relevant
        is_hard = (is_unknown.sum(axis=1) > 1) & (is_unknown & self._continuous).any(axis=1)
        result = np.asarray(is_hard[pattern_of], np.bool_)
        for v in [*evidence.weights, *self._set_values]:
            result &= evidence.codes[:, v] >= 0
        return result

    def _states_of_rows(
        self, evidence: Evidence, wanted: Sequence[int]
    ) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.bool_]]:
        """Return states by pattern, the pattern of every row, and which variables are relevant in each pattern."""
        batch, _ = self._batch(Evidence(evidence.codes, {}, evidence.values), (), HIDDEN)
        states = batch.patterns.copy()
        for v in wanted:
            states[states[:, v] == HIDDEN, v] = WANTED
        return states, batch.pattern_of, self._relevant(states)

    def rounds(
        self,
        evidence: Evidence,
        wanted: Sequence[int],
        most: int,
        sizes: Sequence[int] = _SIZES_OF_ROWS,
        *,
        of_evidence: bool = False,
    ) -> Iterator[RowRound]:
        """Yield hard rows over cells of their own, of the first of some numbers that need few enough densities.

        Every round has its cells where the columns lie by the round before, until their distributions stay, or with
        `of_evidence` the log probability of what is known. Variables that are `wanted` are answered also where no
        evidence depends on them.
        """
        if not len(evidence):
            return
        evidence = self._with_set_values(evidence, wanted)
        evidence = Evidence(evidence.codes, {}, evidence.numbers())
        states, pattern_of, relevant = self._states_of_rows(evidence, wanted)
        rest = np.arange(len(states))
        for size in sizes:
            # first cells are the most
            cards = self._cards_of_rows(size, self._first_ends)
            of_rest = marked_single(states[rest], cards)
            tried = Batch(of_rest, pattern_of, pattern_of, np.empty(0, np.int64))
            costs = self._costs(cards, tried, True)
            densities = self._densities_of_rows(states[rest], relevant[rest], cards)
            fits = plans_fit(costs) & (densities <= most) & (costs[:, 2] <= 8 * most)
            some, costs, densities, of_rest = rest[fits], costs[fits], densities[fits], of_rest[fits]
            rest = rest[~fits]
            number = np.full(len(states), -1, np.int64)
            number[some] = np.arange(len(some))
            rows = np.flatnonzero(number[pattern_of] >= 0)
            taken = np.cumsum(densities[number[pattern_of[rows]]] + int(cards.sum())) // _OWN_CELLS
            for block in np.split(rows, np.flatnonzero(np.diff(taken)) + 1) if len(rows) else []:
                of_block = number[pattern_of[block]]
                batch = Batch(of_rest, of_block, np.argsort(of_block, kind="stable"), np.empty(0, np.int64))
                for done in self._rounds_of(
                    size, evidence.take(block), batch, relevant[some], of_evidence=of_evidence
                ):
                    yield done._replace(rows=block[done.rows])

    def _cards_of_rows(self, size: int, ends: Mapping[int, FixedEnds]) -> NDArray[np.int64]:
        """Return the numbers of cells or levels of all variables in rows with cells of their own, (V,)."""
        return np.array(
            [
                ends[v].n_cells(size) if self._continuous[v] else len(self._network.levels[name])
                for v, name in enumerate(self._network.names)
            ],
            np.int64,
        )

    def _densities_of_rows(
        self, states: NDArray[np.int8], relevant: NDArray[np.bool_], cards: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many densities a row with cells of its own needs, int64 (n_patterns,)."""
        total = np.zeros(len(states))
        for v, family in enumerate(self._families):
            if self._continuous[family].any():
                cells = np.where(states[:, family] >= HIDDEN, cards[family], 1.0).prod(axis=1)
                total += np.where(relevant[:, v], cells, 0.0)
        return np.minimum(total, 2.0**62).astype(np.int64)

    def _rounds_of(
        self,
        size: int,
        evidence: Evidence,
        batch: Batch,
        relevant: NDArray[np.bool_],
        *,
        of_evidence: bool,
    ) -> Iterator[RowRound]:
        """Yield rows of one size, each with its last round; the numbers are positions among these rows."""
        network = self._network
        tables = {
            v: self._grids.table(0, v)
            for v, of in enumerate(self._families)
            if not self._continuous[of].any()
        }
        is_unknown = (batch.patterns >= HIDDEN) & relevant
        columns = np.flatnonzero(is_unknown.any(axis=0) & self._continuous).tolist()
        shares = shares_of_cells(size)
        rows = np.arange(len(evidence))
        grids = {}
        for v in columns:
            name = network.names[v]
            ends = np.broadcast_to(self._grids.quantiles(name, shares), (len(rows), len(shares)))
            grids[v] = self._first_ends[v].grid(ends)
        before: dict[int, tuple[RowGrid, NDArray[np.float64]]] = {}
        former = np.empty(0)
        for round_ in range(_MOST_ROUNDS):
            cards = self._cards_of_rows(size, self._ends if round_ else self._first_ends)
            model = self._model_of(cards, tables)
            # other numbers of cells can have another plan, which may need more room
            costs = self._costs(cards, batch, True)
            part, log_scales = self._part_of_rows(model, grids, evidence, batch, relevant, costs)
            logs, tables_of_all = part.marginals()
            starts = np.cumsum([0, *cards.tolist()])
            masses = {v: tables_of_all[:, starts[v] : starts[v + 1]] for v in range(len(cards))}
            is_possible = logs > -np.inf
            errors = np.full(len(rows), 0.0 if round_ else np.inf)
            for v in columns if round_ else ():
                of_rows = np.flatnonzero(is_possible & is_unknown[batch.pattern_of, v])
                grid, (last, of_last) = grids[v].some(of_rows), before[v]
                differences = grid.below(masses[v][of_rows], grid.highs) - last.some(of_rows).below(
                    of_last[of_rows], grid.highs
                )
                errors[of_rows] = np.maximum(errors[of_rows], np.abs(differences).max(axis=1, initial=0.0))
            logs = logs + log_scales
            if of_evidence and round_:
                errors = np.abs(logs - former)
            is_done = (errors <= _MOST_DIFFERENCE) | ~is_possible
            if round_ == _MOST_ROUNDS - 1:
                is_done[:] = True
            some, stay = np.flatnonzero(is_done), np.flatnonzero(~is_done)
            if len(some):
                errors = np.where(is_possible, errors, 0.0)
                yield RowRound(rows, part, grids, masses, logs, errors, costs[:, 2]).some(some)
            if not len(stay):
                return
            before = {v: (grids[v].some(stay), masses[v][stay]) for v in columns}
            former = logs[stay]
            rows, evidence = rows[stay], evidence.take(stay)
            batch = rows_of_batch(batch, stay)
            grids = {}
            for v in columns:
                grid, of_v = before[v]
                is_known = ~is_unknown[batch.pattern_of, v]
                of_v = np.where(is_known[:, None], 1.0, of_v)
                grids[v] = self._ends[v].grid(grid.quantiles(of_v, shares))

    def _part_of_rows(
        self,
        model: Model,
        grids: Mapping[int, RowGrid],
        evidence: Evidence,
        batch: Batch,
        relevant: NDArray[np.bool_],
        costs: NDArray[np.float64],
    ) -> tuple[Part, NDArray[np.float64]]:
        """Return rows with cells of their own in the arrays of the kernels, and the log scales of their tables."""
        names, levels = self._network.names, self._network.levels
        cells = columns_of_grids(
            {names[v]: grid for v, grid in grids.items()},
            {name: len(of_name) for name, of_name in levels.items()},
            len(evidence),
        )
        own, log_scales = self._own_tables(
            model.cards,
            evidence,
            batch,
            relevant,
            partial(self._logs_of_rows, grids, cells),
            lambda family, states: np.full(len(states), bool(self._continuous[family].any())),
        )
        codes = evidence.codes.copy()
        codes[batch.patterns[batch.pattern_of] == SINGLE] = 0
        arrays = RowsToAnswer(np.ascontiguousarray(codes), *packed_weights({}, len(names)), *own)
        n_work = int(costs[np.unique(batch.pattern_of), 1].max(initial=1))
        plan = empty_plan(len(names))._replace(work=np.empty(n_work))
        spans = call_spans(costs[batch.pattern_of[batch.order], 2])
        return Part(model, arrays, batch, plan, spans), log_scales

    def _logs_of_rows(
        self,
        grids: Mapping[int, RowGrid],
        cells: Columns,
        v: int,
        mask: NDArray[np.bool_],
        known: Columns,
        rows: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return what `_family_logs` returns, over cells that every row has for itself."""
        family, names = self._families[v], self._network.names
        unknown = [m for m, is_known in zip(family, mask, strict=True) if not is_known]
        cards = {m: cells[names[m]].shape[1] for m in unknown}
        shapes = {
            names[m]: [len(rows), *(card if m == other else 1 for other, card in cards.items())]
            for m in unknown
        }
        columns = _Combined(known, rows, cells, shapes, len(unknown), of_rows=True)
        logs = self._network.families[names[v]].log_density(columns)
        if v in grids and v in unknown:
            logs = logs + grids[v].log_widths[rows].reshape(shapes[names[v]])
        return np.broadcast_to(logs, (len(rows), *cards.values()))

    def _names_of(self, v: int) -> list[str]:
        """Return the members of the family of a variable."""
        return [self._network.names[member] for member in self._families[v]]

    def _known(self, evidence: Evidence) -> Columns:
        """Return the numbers, and the codes of levels, of all columns."""
        numbers = evidence.numbers()
        return Columns(
            {
                name: numbers[:, v] if self._continuous[v] else evidence.codes[:, v]
                for v, name in enumerate(self._network.names)
            }
        )

    def _part(
        self, index: int, evidence: Evidence, rows: NDArray[np.int64], batch: Batch, relevant: NDArray[np.bool_],
        costs: NDArray[np.float64],
    ) -> _CellPart:  # fmt: skip
        """Return rows of one level with all arrays."""
        level = self._grids.level(index)
        present = np.unique(batch.pattern_of)
        tables = {}
        for v, family in enumerate(self._families):
            is_shared = ~(batch.patterns[present][:, family] == EXACT).any(axis=1)
            if (is_shared & relevant[present, v]).any():
                tables[v] = self._grids.table(index, v)
        model = self._model_of(level.cards, tables)
        own, log_scales = self._own_tables(
            level.cards,
            evidence,
            batch,
            relevant,
            partial(self._family_logs, level),
            lambda _, states: (states == EXACT).any(axis=1),
        )
        codes = evidence.codes.copy()
        codes[:, ~self._continuous & (level.cards == 1)] = 0
        is_single = batch.patterns[batch.pattern_of] == SINGLE
        codes[is_single] = 0
        weights = {v: self._coarse_weights(level, v, of_rows) for v, of_rows in evidence.weights.items()}
        arrays = RowsToAnswer(
            np.ascontiguousarray(codes), *packed_weights(weights, len(self._families)), *own
        )
        plan = empty_plan(len(self._families))._replace(work=np.empty(int(costs[present, 1].max(initial=1))))
        spans = call_spans(costs[batch.pattern_of, 2])
        summed = ((batch.patterns[present] >= HIDDEN) & relevant[present]).any(axis=0) & self._continuous
        return _CellPart(model, arrays, batch, plan, spans, index, level, rows, log_scales, summed)

    def _coarse_weights(self, level: CellLevel, v: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the likelihood of evidence by cell of a level, float64 (n_rows, card), given that by finest cell."""
        if not self._continuous[v]:
            return weights
        masses = self._grids.masses[v]
        sums = np.add.reduceat(weights * masses, level.first[v], axis=1)
        return np.asarray(sums / np.add.reduceat(masses, level.first[v]))

    def _relevant(self, patterns: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Return which variables are evidence, answers or ancestors of these, bool (n_patterns, V)."""
        relevant = np.asarray((patterns != HIDDEN) & (patterns != SINGLE))
        for v in self._order[::-1].tolist():
            relevant[:, self._families[v][:-1]] |= relevant[:, [v]]
        return relevant

    def _levels_of(
        self, batch: Batch, relevant: NDArray[np.bool_], keeps_tables: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the level of every pattern, the cells of the tables of a row, and the costs of the plan.

        They are int64 (n_patterns,), int64 (n_patterns,) and float64 (n_patterns, 3).
        """
        n = len(batch.patterns)
        level_of, sizes, costs = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((n, 3))
        n_unknown = ((batch.patterns >= HIDDEN) & relevant & self._continuous).sum(axis=1)
        rest = np.arange(n)
        for index in self._levels:
            level, is_last = self._grids.level(index), index == self._levels[-1]
            patterns = batch.patterns[rest]
            own, shared, largest = self._evaluations(patterns, relevant[rest], level)
            # a row with one unknown column has at least that many cells
            is_fine = (own > self._budget.own) & ~((n_unknown[rest] <= 1) & (SIZES[index] <= 64))
            fits = np.flatnonzero(is_last | (~is_fine & (shared <= self._budget.shared)))
            tried = batch._replace(patterns=marked_single(patterns[fits], level.cards))
            of_fits = self._costs(level.cards, tried, keeps_tables)
            # tables of families take memory, too
            of_families = np.maximum(own, largest)[fits]
            is_large = of_families > MOST_CELLS
            of_fits[is_large, 1] = np.maximum(of_fits[is_large, 1], of_families[is_large])
            is_cheap = plans_fit(of_fits) & (of_fits[:, 2] <= self._budget.multiplications) | is_last
            fits, of_fits = fits[is_cheap], of_fits[is_cheap]
            level_of[rest[fits]], sizes[rest[fits]], costs[rest[fits]] = index, own[fits], of_fits
            rest = np.delete(rest, fits)
        return level_of, sizes, costs

    def _evaluations(
        self, patterns: NDArray[np.int8], relevant: NDArray[np.bool_], level: CellLevel
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return how many densities a row needs alone, and how many rows share, and the size of the largest table.

        All are int64 (n_patterns,); the table is one that rows share.
        """
        own, shared, largest = np.zeros((3, len(patterns)))
        for v, family in enumerate(self._families):
            of_members = patterns[:, family]
            is_unknown = of_members >= HIDDEN
            is_own = (of_members == EXACT).any(axis=1)
            cells = np.where(is_unknown, level.cards[family], 1.0).prod(axis=1)
            own += np.where(is_own & relevant[:, v], cells, 0.0)
            has_cells = (is_unknown & self._continuous[family]).any(axis=1)
            size = float(level.cards[family].astype(np.float64).prod())
            of_all = np.where(~is_own & relevant[:, v], size, 0.0)
            shared += np.where(has_cells, of_all, 0.0)
            largest = np.maximum(largest, of_all)
        own, shared, largest = np.minimum((own, shared, largest), float(2**62)).astype(np.int64)
        return own, shared, largest

    def _costs(self, cards: NDArray[np.int64], batch: Batch, keeps_tables: bool) -> NDArray[np.float64]:
        """Return the costs of the plans of all patterns with some numbers of cells, float64 (n_patterns, 3)."""
        costs = np.zeros((len(batch.patterns), 3))
        kernels.plan_costs(self._model_of(cards, {}), batch, keeps_tables, empty_plan(len(cards)), costs)
        return costs

    def _model_of(self, cards: NDArray[np.int64], tables: Mapping[int, NDArray[np.float64]]) -> Model:
        """Return the network over cells, given their numbers, with some tables."""
        return model_of_families(cards, self._families, self._order, tables)

    def _own_tables(
        self,
        cards: NDArray[np.int64],
        evidence: Evidence,
        batch: Batch,
        relevant: NDArray[np.bool_],
        logs_of: Callable[..., NDArray[np.float64]],
        is_own: Callable[[list[int], NDArray[np.int8]], NDArray[np.bool_]],
    ) -> tuple[tuple[NDArray[np.int64], NDArray[np.float64]], NDArray[np.float64]]:
        """Return the tables of rows for families that are their own, where they start, and their log scales."""
        patterns = batch.patterns[batch.pattern_of]
        needed = relevant[batch.pattern_of]
        table_at = np.full(patterns.shape, -1, np.int64)
        log_scales = np.zeros(len(patterns))
        parts: list[NDArray[np.float64]] = []
        start = 0
        known = self._known(evidence)
        for v, family in enumerate(self._families):
            of_members = patterns[:, family]
            rows = np.flatnonzero(needed[:, v] & is_own(family, of_members))
            is_known = (of_members[rows] == EXACT) | (of_members[rows] == OBSERVED)
            masks, group_of = np.unique(is_known, axis=0, return_inverse=True)
            for k, mask in enumerate(masks):
                of_group = rows[group_of.ravel() == k]
                n_cells = prod(
                    cards[[m for m, is_known in zip(family, mask, strict=True) if not is_known]].tolist()
                )
                for some in np.array_split(of_group, -(-len(of_group) * n_cells // _BLOCK)):
                    logs = logs_of(v, mask, known, some).reshape(len(some), n_cells)
                    top = logs.max(axis=1)
                    log_scales[some] += top
                    parts.append(np.exp(logs - np.where(top > -np.inf, top, 0.0)[:, None]).ravel())
                    table_at[some, v] = start + n_cells * np.arange(len(some))
                    start += n_cells * len(some)
        return (table_at, np.concatenate([np.empty(0), *parts])), log_scales

    def _family_logs(
        self, level: CellLevel, v: int, mask: NDArray[np.bool_], known: Columns, rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return log densities, or log probabilities of cells, of a column, over rows and its family's unknown members.

        `mask` says which members are `known`. The result has the shape (n_rows, card of every unknown member).
        """
        family, names = self._families[v], self._network.names
        unknown = [m for m, is_known in zip(family, mask, strict=True) if not is_known]
        axes = [m for m in unknown if m != v]
        shapes = {names[m]: [-1 if m == other else 1 for other in (None, *axes)] for m in axes}
        columns = _Combined(known, rows, level.columns, shapes, len(axes))
        own = self._network.families[names[v]]
        shape_of_parents = (len(rows), *level.cards[axes].tolist())
        if v not in unknown:
            return np.broadcast_to(own.log_density(columns), shape_of_parents)
        masses = own.masses(level.cuts.get(names[v]), columns)
        with np.errstate(divide="ignore"):
            return np.broadcast_to(np.log(masses), (*shape_of_parents, int(level.cards[v])))


class _Combined(Columns):
    """Some rows of columns, and cells of others along further axes: every combination of both.

    `known` has values of shape (n_rows,), of which `rows` (n,) are taken, and `cells` those of shape (card,) that stand
    for cells, or (n_rows, card) with `of_rows`. `shapes` are the shapes of the columns that are taken from the cells;
    `n_axes` follow that of the rows.
    """

    def __init__(
        self,
        known: Columns,
        rows: NDArray[np.int64],
        cells: Columns,
        shapes: Mapping[str, list[int]],
        n_axes: int,
        *,
        of_rows: bool = False,
    ) -> None:
        self._known, self._rows, self._cells, self._shapes = known, rows, cells, shapes
        self._shape_of_rows = (len(rows), *[1] * n_axes)
        self._of_rows = of_rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._combined(name, lambda columns: columns[name])

    def codes(self, name: str, cuts: NDArray[np.float64] | None) -> NDArray[Any]:
        """Return the bins of a continuous column, or the codes of a discrete one."""
        return self._combined(name, lambda columns: columns.codes(name, cuts))

    def positions(self, name: str, scale: LineScale) -> NDArray[np.float64]:
        """Return the positions of a continuous column on a scale."""
        return self._combined(name, lambda columns: columns.positions(name, scale))

    def ends(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the ends of the cells that values of a column stand for; None for exact values."""
        of_cells = self._cells.ends(name) if name in self._shapes else None
        if of_cells is None:
            return None
        low, high = (self._shaped(name, end) for end in of_cells)
        return low, high

    def _combined(self, name: str, of_columns: Callable[[Columns], NDArray[Any]]) -> NDArray[Any]:
        if name in self._shapes:
            return self._shaped(name, of_columns(self._cells))
        return of_columns(self._known)[self._rows].reshape(self._shape_of_rows)

    def _shaped(self, name: str, of_cells: NDArray[Any]) -> NDArray[Any]:
        of_rows = of_cells[self._rows] if self._of_rows else of_cells
        return of_rows.reshape(self._shapes[name])


def _relative(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights over the largest of their row, (n_rows, n), given their logs; zeros where all weights are zero."""
    largest = logs.max(axis=1, keepdims=True)
    return np.asarray(np.exp(logs - np.where(largest > -np.inf, largest, 0.0)))


def _equal_draws(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many equal draws those of each row are worth, (n_rows,), given their log weights (n_rows, n)."""
    weights = _relative(logs)
    squares = (weights**2).sum(axis=1)
    return np.asarray(
        np.divide(weights.sum(axis=1) ** 2, squares, out=np.zeros(len(logs)), where=squares > 0)
    )
