"""What an answer about one column rests on: its drivers, findings that push it, and probabilities that it hangs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import factorial
from operator import methodcaller
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.columns import outcome_code
from gomea_bn.data.dates import date_texts, name_in_words, unit_of
from gomea_bn.errors import GomeaBnError, give_warning, is_integer, is_real, mapping_in
from gomea_bn.lazy import offered
from gomea_bn.network.bin_distributions import BinDistributions
from gomea_bn.network.conditionals.conditionals import INTERVAL
from gomea_bn.network.effects import MOST_LEVELS, groups_in_words, level_groups
from gomea_bn.network.graph import are_separated
from gomea_bn.network.inference.answer_errors import AnswerErrors, ends_of
from gomea_bn.network.inference.answers import reduced, refuse_both
from gomea_bn.network.inference.cell_engine import CellEngine
from gomea_bn.network.inference.engine import Engine, draws_contradict, engine_for, engine_of_question
from gomea_bn.network.inference.evidence import (
    EvidenceReader,
    is_unknown,
    outside_of,
    refuse_stated,
    statement_text,
)
from gomea_bn.network.inference.question import Evidence, refuse_impossible
from gomea_bn.network.inference.row_notes import RowNote, mean_of_rows, row_note
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.texts import amount, counted, percent, shown_name

PARTS = {
    "drivers": "Drivers",
    "pushes": "Findings",
    "measure_next": "Measure next",
    "parameters": "Sensitivity",
}
"""Tables of an explanation, and their titles in its text."""

# most findings with which draws may answer in place of cells
_MOST_DRAWN = 3
_MOST_PARAMETERS = 20
# smaller effects of probabilities, and smaller changes of distributions, are rounding errors
_LEAST_SIZE = 1e-12
_INTERVAL = ("low", "high")
# columns of tables that hold answers
_ANSWERS = [
    "without", *_INTERVAL, *(f"{end}{of}" for end in ("lowest", "highest") for of in ("", "_low", "_high")),
]  # fmt: skip
# the direction of an answer that is the same over all values of a column
_EQUAL = "stays"


@dataclass(frozen=True, eq=False)
class Explanation:
    """What an answer about one column, the target, rests on.

    The answer is the mean of a continuous target in original units, or the probability of a level. Intervals hold 90 %
    of answers among new rows, to first order: every row of a table over the shown bins is as uncertain as a Dirichlet
    distribution with the weight of its expected number of training rows plus 1, every finding adds the misfit of the
    target, and cells or draws add their error, as in `query`. They are NaN if the network does not know its number of
    rows. All numbers say what to expect when a value is seen, not if it were changed. Tables name columns of dates and
    times of day without the unit, and their values are texts such as "2024-12-31". Answers about them stay numbers in
    the unit, which `print` shows as dates.

    Attributes
    ----------
    target : str
    quantity : str
        The answer in words, such as "mean of alcohol".
    support : tuple of (float, float) or None
        Range of a continuous target.
    findings : dict of str to value
        What is known.
    answer, baseline : float
        The answer with and without the findings.
    interval : tuple of (float, float)
        90 % interval of the answer.
    misfit : float or None
        What graph and bins miss, as a share of a standard deviation; None if it is not known, as of changed networks,
        whose intervals take graph and bins as given.
    rows_mean : float
        Mean of a continuous target over the rows in memory that satisfy the findings, NaN without such rows.
    drivers : DataFrame
        By column, largest `bits` first: how the answer depends on it without any findings. "bits" is their mutual
        information over the shown bins. "lowest" and "highest" are the answers at the values "lowest_at" and
        "highest_at", with their intervals, such as "lowest_low" and "lowest_high". "direction" is in words: those of
        groups of levels that behave alike for a column of more than eight.
    measure_next : DataFrame
        The same for the unknown columns given the findings.
    pushes : DataFrame
        By finding, largest `moves` first: what is known ("finding"), such as "= 50" or "> 60", the answer "without" it,
        its interval ("low", "high"), "moves", the share of the target's distribution over the shown bins that lies
        elsewhere without it, and "shapley", its mean change of the answer over all orders of the findings. Of more than
        12 findings those 12 that move most have Shapley values, and all others are always known. They add up to the
        answer minus that without the 12.
    parameters : DataFrame
        The 20 probabilities of the shown tables that the answer hangs on most: "column", its "value", the values of the
        parents "given", "probability", "derivative" of the answer to it while the others of its row keep their
        proportions, and the answers "low" and "high" at the ends of its interval.
    state : int or None
        Position of the level whose probability is the answer, None for a mean.
    rows : RowNote or None
        What the rows say that satisfy the findings, see `DiscretizedBayesNet.with_rows`: its `words`, whether it
        `differs` from the network by more than chance, the number of `rows`, and `shares` and probabilities of the
        `network` over the bins or levels of the target.
    """

    target: str
    quantity: str
    support: tuple[float, float] | None
    findings: dict[str, object]
    answer: float
    baseline: float
    interval: tuple[float, float]
    drivers: pd.DataFrame
    measure_next: pd.DataFrame
    pushes: pd.DataFrame
    parameters: pd.DataFrame
    state: int | None = None
    misfit: float | None = None
    rows: RowNote | None = None
    rows_mean: float = np.nan

    @property
    def sentences(self) -> tuple[str, ...]:
        """The parts in words."""
        drivers, pushes, measure_next, answer = self.drivers, self.pushes, self.measure_next, self.answer
        (low, high), what, text = self.interval, self.quantity, self.in_words
        target = shown_name(name_in_words(self.target))
        given = " given graph and bins" if self.misfit is None else ""
        ends = f"{percent(INTERVAL)} interval {text(low)} to {text(high)}{given}"
        about = "" if np.isnan(low) else f" ({ends})"
        before = f"; without findings {text(self.baseline)}" if len(pushes) else ""
        of_rows = "" if np.isnan(self.rows_mean) else f"; of the rows {text(self.rows_mean)}"
        lines = [f"The {what} is {text(answer)}{about}{of_rows}{before}."]
        if self.rows is not None:
            lines.append(self.rows.words)
        if len(drivers) and not _tells(drivers):
            lines.append(f"No column says anything about {target}.")
        elif len(drivers):
            name, top = shown_name(str(drivers.index[0])), drivers.iloc[0]
            lines.append(
                f"{name} says most about {target} ({amount(top['bits'], 3)} bits): over its values the "
                f"{what} goes from {text(top['lowest'])} at {top['lowest_at']} to {text(top['highest'])} at "
                f"{top['highest_at']}; it {top['direction']}."
            )
        moving = pushes[pushes["without"] != answer]
        if len(pushes) and not len(moving):
            lines.append(
                f"Of {counted(len(pushes), 'finding')}, none moves the answer: it stays without any one of them."
            )
        elif len(moving):
            name, top = shown_name(str(moving.index[0])), moving.iloc[0]
            verb, without = "up" if answer >= top["without"] else "down", top["without"]
            lines.append(
                f"Of {counted(len(pushes), 'finding')}, {name} {top['finding']} moves the answer most: without it "
                f"{text(without)}, so it pushes {verb} by {abs(answer - without):.3g}{self._unit} (Shapley value "
                f"{top['shapley']:+.3g})."
            )
        if len(pushes) and len(measure_next) and not _tells(measure_next):
            lines.append("No further column would tell anything.")
        elif len(pushes) and len(measure_next):
            name, top = shown_name(str(measure_next.index[0])), measure_next.iloc[0]
            lines.append(
                f"To measure next: {name}, which would tell {amount(top['bits'], 3)} bits, with answers from "
                f"{text(top['lowest'])} to {text(top['highest'])}."
            )
        if len(self.parameters):
            top = self.parameters.iloc[0]
            condition = f" | {top['given']}" if top["given"] else ""
            lines.append(
                f"The answer hangs most on P({top['column']} = {top['value']}{condition}) = "
                f"{top['probability']:.3g}: .01 more changes it by {0.01 * top['derivative']:+.3g}{self._unit}."
            )
        return tuple(lines)

    def in_words(self, answer: float) -> str:
        """Return an answer as text: that of a date or a time of day as this, others with four digits."""
        if self.support is None or np.isnan(answer):
            return f"{answer:.4g}"
        texts = date_texts(np.array([answer]), self.target, self.support[1] - self.support[0])
        return f"{answer:.4g}" if texts is None else texts[0]

    @property
    def _unit(self) -> str:
        """Unit of differences between answers that are dates or times of day."""
        return f" {str(unit_of(self.target)).split()[0]}" if name_in_words(self.target) != self.target else ""

    def _table(self, part: str) -> str:
        """Return a table as text."""
        frame: pd.DataFrame = getattr(self, part)
        if name_in_words(self.target) != self.target:
            frame = frame.copy()
            for column in frame.columns.intersection(_ANSWERS):
                frame[column] = [self.in_words(value) for value in frame[column]]
        return frame.to_string(float_format="{:.4g}".format)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        return str(offered("explanation_html")(self))

    def __str__(self) -> str:
        blocks = ["\n".join(self.sentences)]
        for part, title in PARTS.items():
            frame: pd.DataFrame = getattr(self, part)
            repeated = part == "measure_next" and not self.findings
            if len(frame) and not repeated:
                blocks.append(f"{title}\n{self._table(part)}")
        return "\n\n".join(blocks)


def explain(
    network: NetworkLike,
    target: str,
    evidence: Mapping[str, object] | None = None,
    row: Mapping[str, object] | pd.Series[Any] | None = None,
    *,
    state: object = None,
) -> Explanation:
    """Return what an answer rests on; see `DiscretizedBayesNet.explain`."""
    engine = engine_for(network)
    reader = EvidenceReader(engine.network)
    target = reader.variable(target, "target")
    findings = _findings(reader, target, evidence, row)
    known, statements = reader.stated(findings)
    refuse_both([target], statements)
    reader.warn_of_outside(outside_of(statements))
    if engine.joint(known, ()).log_evidence[0] == -np.inf:
        refuse_stated(findings, None)
    position = network.names.index(target)
    if len(findings) <= _MOST_DRAWN:
        nothing = Evidence(np.full((1, len(network.names)), -1, np.int32), {})
        engine = engine_of_question(network, [known, nothing], position)
    elif isinstance(engine, CellEngine) and draws_contradict(
        network, known, position, engine.joint(known, [position], in_bins=True)
    ):
        give_warning(
            f"This explanation of {name_in_words(target)} sums over cells that are too coarse for columns that almost "
            f"determine each other, and draws contradict its answer. Explain at most {_MOST_DRAWN} findings, or "
            "query the answer alone."
        )
    question = _Question(network, engine, reader, target, state, known, findings)
    none, known = question.subsets(np.zeros((1, len(findings)), np.bool_)), question.evidence
    answer, baseline = (float(question.answers(given)[0]) for given in (known, none))
    return Explanation(
        target=target,
        quantity=question.words,
        support=network.support.get(target),
        findings=findings,
        answer=answer,
        baseline=baseline,
        interval=question.around(answer, question.errors(known)[0]),
        drivers=question.effects(none),
        measure_next=question.effects(known),
        pushes=question.pushes(answer),
        parameters=question.parameters(answer),
        state=question.state,
        misfit=question.misfit,
        rows=row_note(network, [target], findings, state=question.state),
        rows_mean=mean_of_rows(network, target, findings) if question.state is None else np.nan,
    )


def _findings(
    reader: EvidenceReader,
    target: str,
    evidence: Mapping[str, object] | None,
    row: Mapping[str, object] | pd.Series[Any] | None,
) -> dict[str, object]:
    """Return what is known, by variable: the evidence and the cells of the row that have values."""
    findings = {
        reader.variable(name, "evidence"): value
        for name, value in mapping_in("evidence", evidence).items()
        if not is_unknown(value)
    }
    if row is None:
        return findings
    if is_integer(row) or not isinstance(row, (Mapping, pd.Series)):
        raise GomeaBnError(
            f"row must be a row of a frame or a mapping of columns to values, got {row!r:.80}."
        )
    cells = {str(name): value for name, value in row.items()}
    for name in reader.names:
        if name in cells and name != target and not is_unknown(cells[name]):
            if name in findings:
                raise GomeaBnError(f"evidence and row both have a value of '{name}'; give it once.")
            findings[name] = cells[name]
    return findings


class _Question:
    """An answer about one column, under any evidence of several rows."""

    def __init__(
        self,
        network: NetworkLike,
        engine: Engine,
        reader: EvidenceReader,
        target: str,
        state: object,
        evidence: Evidence,
        findings: Mapping[str, object],
    ) -> None:
        self.network, self.evidence, self.findings = network, evidence, findings
        self._engine, self._reader, self.target = engine, reader, target
        self.position = network.names.index(target)
        self._known = [network.names.index(name) for name in findings]
        self._parents = {name: network.parents(name) for name in network.names}
        self._exact = {name for name in findings if evidence.codes[0, network.names.index(name)] >= 0}
        self._answers: dict[bytes, float] = {}
        if target in network.cut_points:
            if state is not None:
                raise GomeaBnError(
                    f"state is for a discrete target; '{target}' is continuous, and its mean is explained."
                )
            self._code, self.words = -1, f"mean of {shown_name(name_in_words(target))}"
            self._gains = BinDistributions(network, target).means()
        else:
            levels = network.levels[target]
            if state is None:
                nothing = Evidence(np.full((1, len(network.names)), -1, np.int32), {})
                self._code = outcome_code(levels, engine.joint(nothing, [self.position]).tables[0])
            else:
                self._code = reader.value(target, state, "state").code
            self.words = f"probability of {shown_name(target)} = {levels[self._code]}"
            self._gains = np.eye(len(levels))[self._code]
        self._errors = AnswerErrors(network, target, self._gains[None])

    @property
    def state(self) -> int | None:
        """Position of the level whose probability is the answer, None for a mean."""
        return None if self._code < 0 else self._code

    @property
    def misfit(self) -> float | None:
        """That of the target; see `AnswerErrors`."""
        return self._errors.misfit

    def subsets(self, stays: NDArray[np.bool_]) -> Evidence:
        """Return evidence with some of the findings in each row; `stays` has the shape (n_rows, n_findings)."""
        rows = self.evidence.take(np.zeros(len(stays), np.int64))
        values = rows.numbers()
        for v, is_known in zip(self._known, stays.T, strict=True):
            rows.codes[~is_known, v] = -1
            values[~is_known, v] = np.nan
            if v in rows.weights:
                rows.weights[v][~is_known] = 1.0
        return Evidence(rows.codes, rows.weights, values)

    def answers(self, evidence: Evidence) -> NDArray[np.float64]:
        """Return the answer for every row, float64 (n_rows,); that of a row is always the same, even by draws."""
        of_cells = methodcaller("point", "mean") if self._code < 0 else None
        weights = [evidence.weights[v] for v in sorted(evidence.weights)]
        parts: list[NDArray[Any]] = [evidence.codes, evidence.numbers(), *weights]
        keys = [
            b"".join(np.ascontiguousarray(part[row]).tobytes() for part in parts)
            for row in range(len(evidence))
        ]
        new = np.array([row for row, key in enumerate(keys) if key not in self._answers], np.int64)
        if len(new):
            answers, _ = reduced(self._engine, evidence.take(new), self.position, self._values, of_cells)
            self._answers.update(zip([keys[row] for row in new.tolist()], answers.tolist(), strict=True))
        return np.array([self._answers[key] for key in keys])

    def _distributions(self, evidence: Evidence) -> NDArray[np.float64]:
        joint = self._engine.joint(evidence, [self.position])
        refuse_impossible(joint.log_evidence == -np.inf)
        return joint.tables

    def _values(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answers under distributions of the target over its cells or levels, float64 (n,)."""
        if self._code < 0:
            return self._reader.point(self.target, tables, "mean")
        return tables[:, self._code]

    def around(self, value: float, error: float) -> tuple[float, float]:
        """Return the ends of the interval around an answer."""
        low, high = ends_of(value, error, INTERVAL)
        limits = (-np.inf, np.inf) if self._code < 0 else (0.0, 1.0)
        return float(np.clip(low, *limits)), float(np.clip(high, *limits))

    def _rounding(self, answer: float) -> float:
        """Return the largest difference between answers of some size that counts as rounding."""
        return _LEAST_SIZE * max(float(np.ptp(self._gains)), abs(answer))

    def _in_bins(self, name: str, tables: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Return probabilities over the shown bins in place of cells of a variable."""
        if name in self.network.levels:
            return tables
        return np.asarray(np.add.reduceat(tables, self._reader.first_cells(name), axis=axis))

    # ---- columns

    def effects(self, evidence: Evidence) -> pd.DataFrame:
        """Return how the answer depends on every unknown column, given one row of evidence."""
        network, columns = self.network, []
        # the ends of the answers over the values of every column, and the errors that draws or cells leave there
        chosen: list[tuple[int, int]] = []
        of_engine: list[float] = []
        known = {name for v, name in enumerate(network.names) if evidence.codes[0, v] >= 0}
        for v, name in enumerate(network.names):
            says_nothing = v not in evidence.weights or bool(np.ptp(evidence.weights[v]) == 0)
            if v == self.position or evidence.codes[0, v] >= 0 or not says_nothing:
                continue
            is_separated = are_separated(self._parents, {self.target}, {name}, known)
            joint, given, numerical = self._by_state(evidence, v)
            shares = joint.sum(axis=0)
            states = np.flatnonzero(shares > 0)
            values = self._values(given)
            # of equal answers rounding errors, or draws, would choose the ends and the direction
            if is_separated or np.ptp(values) <= self._rounding(float(np.abs(values).max())):
                values = np.full_like(values, values[0])
            bits = 0.0 if is_separated else _bits(self._in_bins(self.target, joint, 0))
            groups = self._groups(name, states, values, given, shares[states])
            columns.append((name, states, values, bits, groups))
            places = int(values.argmin()), int(values.argmax())
            chosen += [(v, int(states[place])) for place in places]
            of_engine += [float(numerical[place]) for place in places]
        of_tables = self._of_tables(self._with_states(evidence, chosen)) if chosen else np.empty(0)
        errors = np.hypot(of_tables, of_engine).reshape(-1, 2)
        rows = []
        for (name, states, values, bits, groups), of_ends in zip(columns, errors, strict=True):
            labels = network.bin_labels(name)
            record: dict[str, Any] = {"bits": bits}
            places = int(values.argmin()), int(values.argmax())
            for end, at, error in zip(("lowest", "highest"), places, of_ends, strict=True):
                low, high = self.around(values[at], error)
                record |= {
                    end: values[at],
                    f"{end}_at": labels[states[at]],
                    f"{end}_low": low,
                    f"{end}_high": high,
                }
            record["direction"] = groups or _direction(
                values, name in network.cut_points, labels[states[places[1]]]
            )
            rows.append(pd.Series(record, name=name_in_words(name)))
        frame = pd.DataFrame(rows).infer_objects()
        return frame.sort_values("bits", ascending=False, kind="stable") if len(frame) else frame

    def _groups(
        self,
        name: str,
        states: NDArray[np.int64],
        values: NDArray[np.float64],
        given: NDArray[np.float64],
        shares: NDArray[np.float64],
    ) -> str:
        """Return what the answer is in the groups of the levels of a column with many; "" for other columns.

        `values` (n,) are the answers at levels, of which a share of all rows has each, and `given` the distributions of
        the target.
        """
        if name not in self.network.levels or len(states) <= MOST_LEVELS or np.ptp(values) == 0:
            return ""
        variance = None
        outcomes = np.column_stack([1 - values, values])
        if self._code < 0:
            tables = self._in_bins(self.target, given, 1)
            spread = tables @ self._gains**2 - (tables @ self._gains) ** 2
            variance = max(float(shares @ spread / shares.sum()), np.finfo(np.float64).tiny ** 0.5)
            outcomes = values[:, None]
        recorded: Any = self.network.metadata.get("n_rows")
        known = self.network.conditionals
        # rows of a network that does not know their number
        n_rows = known.n_rows if known is not None else recorded if is_integer(recorded) else 10_000
        counts = n_rows * shares
        found = level_groups(outcomes, counts, variance)
        if len(found) == 1:
            return ""
        labels = self.network.bin_labels(name)
        in_words = percent if self._code >= 0 else "{:.3g}".format
        of_groups = [
            (
                [labels[states[level]] for level in group],
                in_words(float(np.average(values[group], weights=counts[group]))),
            )
            for group in found
        ]
        return f"is {groups_in_words(of_groups)}"

    def _with_states(self, evidence: Evidence, states: Sequence[tuple[int, int]]) -> Evidence:
        """Return one row of evidence for each (variable, shown bin or level) that is known on top, for shown bins."""
        given = self._of_bins(evidence).take(np.zeros(len(states), np.int64))
        for row, (v, code) in enumerate(states):
            given.codes[row, v] = code
        return given

    # ---- findings

    def pushes(self, answer: float) -> pd.DataFrame:
        """Return the answer without each finding, and its Shapley value."""
        n, names = len(self._known), list(self.findings)
        if not n:
            return pd.DataFrame(columns=["finding", "without", *_INTERVAL, "moves", "shapley"])
        left_out = self.subsets(~np.eye(n, dtype=np.bool_))
        without = self._distributions(left_out)
        bins = self._in_bins(self.target, np.concatenate([self._distributions(self.evidence), without]), 1)
        moves = np.abs(bins[1:] - bins[0]).sum(axis=1) / 2
        moves[moves < _LEAST_SIZE] = 0.0
        values = self.answers(left_out)
        for k, name in enumerate(names):
            if are_separated(self._parents, {self.target}, {name}, self._exact - {name}):
                values[k], moves[k] = answer, 0.0
        # up to rounding
        values[np.abs(values - answer) <= self._rounding(answer)] = answer
        ends = [self.around(value, error) for value, error in zip(values, self.errors(left_out), strict=True)]
        order = np.argsort(-moves, kind="stable")
        frame = pd.DataFrame(
            {
                "finding": [self._finding(name) for name in names],
                "without": values,
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
                "moves": moves,
                "shapley": np.nan,
            },
            index=list(map(name_in_words, names)),
        )
        # findings whose subsets are all asked about for Shapley values
        players = np.sort(order[:12])
        frame.iloc[players, 5] = self._shapley(players)
        return frame.iloc[order]

    def _finding(self, name: str) -> str:
        """Return what is known of a column as text."""

        def text_of(value: Any) -> str:
            if is_real(value) and name in self.network.support:
                low, high = self.network.support[name]
                texts = date_texts(np.array([value], np.float64), name, high - low)
                return f"{value:.10g}" if texts is None else texts[0]
            return str(value)

        return statement_text(self.findings[name], text_of)

    def _shapley(self, players: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the Shapley value of some findings while all others are known, float64 (n_players,)."""
        n = len(players)
        numbers = np.arange(2**n)
        chosen = (numbers[:, None] >> np.arange(n)) & 1 == 1
        stays = np.ones((2**n, len(self._known)), np.bool_)
        stays[:, players] = chosen
        values = self.answers(self.subsets(stays))
        sizes = chosen.sum(axis=1)
        weights = np.array([factorial(k) * factorial(n - k - 1) / factorial(n) for k in range(n)])
        result = np.empty(n)
        for player in range(n):
            absent = numbers[~chosen[:, player]]
            result[player] = weights[sizes[absent]] @ (values[absent | (1 << player)] - values[absent])
        return result

    # ---- probabilities of the shown tables

    def errors(self, evidence: Evidence) -> NDArray[np.float64]:
        """Return the standard error of the answer for every row, float64 (n_rows,), as that of `query`."""
        of_engine = [
            float(self._by_state(evidence.take(np.array([row])))[2][0]) for row in range(len(evidence))
        ]
        return np.hypot(self._of_tables(evidence), of_engine)

    def _of_tables(self, evidence: Evidence) -> NDArray[np.float64]:
        """Return the errors that tables, graph and bins leave in the answer for every row, float64 (n_rows,)."""
        return self._errors.errors(self._of_bins(evidence))[:, 0]

    def _by_state(
        self, evidence: Evidence, v: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return what one row of evidence says of the target at the shown bins or levels of a column, by position.

        That is the joint distribution of the two, float64 (n_target, n_states), the distributions of the target at
        the states that are possible (n_possible, n_target), and the errors that draws or cells leave in the answers
        there (n_possible,). Without a column the one state is the evidence itself.
        """
        engine, position = self._engine, self.position
        targets = [position] if v is None else [position, v]
        n_target = engine.network.cardinality(self.target)

        def of_states(tables: NDArray[np.float64]) -> NDArray[np.float64]:
            by_cell = tables.reshape(n_target, -1)
            return by_cell if v is None else self._in_bins(self.network.names[v], by_cell, 1)

        answer = engine.joint(evidence, targets)
        joint = of_states(answer.tables)
        shares = joint.sum(axis=0)
        states = np.flatnonzero(shares > 0)
        given = np.ascontiguousarray((joint[:, states] / shares[states]).T)
        errors = np.zeros(len(states))
        if answer.errors is not None:
            squares = of_states(np.square(answer.errors))[:, states]
            apart = self._values(np.eye(n_target))[:, None] - self._values(given)
            errors = np.sqrt((apart**2 * squares).sum(axis=0)) / shares[states]
        elif isinstance(engine, CellEngine) and (used := answer.resolution) is not None:
            if not used.summed.any():
                errors += float(np.nanmax([0.0, *used.errors])) * float(np.ptp(self._gains))
            elif (coarser := engine.over_half(used)) is not None:
                halved = of_states(coarser.joint(evidence, targets).tables)[:, states]
                sums = halved.sum(axis=0)
                half = np.ascontiguousarray((halved / np.where(sums > 0, sums, 1.0)).T)
                if self._code < 0:
                    errors = np.abs(self._values(half) - self._values(given))
                else:
                    errors = np.abs(half - given).max(axis=1)
        return joint, given, errors

    def parameters(self, answer: float) -> pd.DataFrame:
        """Return the probabilities that the answer to the findings hangs on most."""
        network, parts = self.network, []
        for v, parents, table, derivatives, weights in self._errors.sensitivities(
            self._of_bins(self.evidence)
        ):
            mean = (table * derivatives[0, 0]).sum(axis=-1, keepdims=True)
            # the others of a row keep their proportions
            rest = np.where(table < 1, 1 - table, np.inf)
            slopes = (derivatives[0, 0] - mean) / rest
            errors = np.sqrt(table * (1 - table) / (weights[..., None] + 1))
            sizes = np.abs(slopes) * np.where(np.isnan(errors), np.sqrt(table * (1 - table)), errors)
            name = network.names[v]
            labels = [network.bin_labels(other) for other in (*parents, name)]
            for cell in np.argsort(-sizes, axis=None, kind="stable")[:_MOST_PARAMETERS].tolist():
                codes = np.unravel_index(cell, table.shape)
                if not sizes[codes] > _LEAST_SIZE:
                    break
                texts = [of_member[code] for of_member, code in zip(labels, codes, strict=True)]
                given = ", ".join(
                    f"{name_in_words(parent)} = {text}"
                    for parent, text in zip(parents, texts[:-1], strict=True)
                )
                slope, error = float(slopes[codes]), float(errors[codes])
                low, high = self.around(answer, abs(slope) * error)
                record = {
                    "column": name_in_words(name), "value": texts[-1], "given": given,
                    "probability": float(table[codes]), "derivative": slope, "low": low, "high": high,
                }  # fmt: skip
                parts.append((float(sizes[codes]), record))
        parts.sort(key=lambda part: -part[0])
        columns = ["column", "value", "given", "probability", "derivative", *_INTERVAL]
        return pd.DataFrame([record for _, record in parts[:_MOST_PARAMETERS]], columns=columns)

    def _of_bins(self, evidence: Evidence) -> Evidence:
        """Return evidence over the shown bins; evidence without an array of numbers is over bins already."""
        if evidence.values is None or self._engine.network is self.network:
            return evidence
        codes, weights = evidence.codes.copy(), {}
        for v, name in enumerate(self.network.names):
            if name not in self.network.cut_points:
                if v in evidence.weights:
                    weights[v] = evidence.weights[v]
                continue
            first = self._reader.first_cells(name)
            known = evidence.codes[:, v] >= 0
            codes[known, v] = np.searchsorted(first, evidence.codes[known, v], side="right") - 1
            if v in evidence.weights:
                masses = self.network.cell_grids.masses[v]
                sums = np.add.reduceat(evidence.weights[v] * masses, first, axis=1)
                weights[v] = sums / np.add.reduceat(masses, first)
        return Evidence(codes, weights)


def _tells(effects: pd.DataFrame) -> bool:
    """Return whether the answer or the distribution of the target depends on any of some columns."""
    return bool((effects["bits"] > 0).any() or (effects["direction"] != _EQUAL).any())


def _bits(joint: NDArray[np.float64]) -> float:
    """Return the mutual information of the axes of a joint distribution, in bits."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    cells = joint > 0
    bits = float(joint[cells] @ np.log2(joint[cells] / product[cells]))
    return bits if bits > _LEAST_SIZE else 0.0


def _direction(values: NDArray[np.float64], is_ordered: bool, highest: str) -> str:
    """Return in words how the answer changes along the bins of a column, or at which level it is highest."""
    if np.ptp(values) == 0:
        return _EQUAL
    if not is_ordered:
        return f"is highest at {highest}"
    steps = np.diff(values)
    # smallest step between neighbouring bins that counts for a direction, as a share of the range of the answer
    signs = np.sign(steps[np.abs(steps) >= 0.02 * np.ptp(values)]).tolist()
    turns = [first for first, second in pairwise([*signs, 0]) if first != second]
    words = {1.0: "rises", -1.0: "falls"}
    return "varies" if len(turns) > 2 or not turns else ", then ".join(words[turn] for turn in turns)
