"""What the rows say next to an answer: their shares, their number, and whether they differ by more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.lazy import pd
from gomea_bn.network.inference.cell_engine import CellEngine
from gomea_bn.network.inference.engine import engine_for
from gomea_bn.network.inference.evidence import EvidenceReader, is_unknown
from gomea_bn.network.matched_rows import (
    LEAST_ROWS,
    Condition,
    Counts,
    Matched,
    RowSource,
    TableRows,
    limit_of_chance,
    number_of_figures,
    standard_errors_apart,
    with_margins,
)
from gomea_bn.network.recorded import NetworkLike, pair_text, recorded_checks
from gomea_bn.texts import listed, shown_name

# likelihoods of a bin that count as all or nothing of it
_ROUNDING = 1e-9

_NOT_COUNTED = (
    "The network keeps no counts of the rows for this question: only for one or two findings that are shown bins or "
    "levels, as many as fit its file. Give the rows to compare: with_rows in Python, --data in commands."
)


class RowNote(NamedTuple):
    """What the rows say next to an answer.

    `rows` is the number of rows that satisfy the findings, None if they are not known, and `evidence` the number of
    rows without weights that tell as much. `shares` of the rows and probabilities by the `network` are over the bins or
    levels of the targets; those of the network are given the bins of numbers, as those of the rows are.
    """

    words: str
    differs: bool = False
    rows: float | None = None
    evidence: float | None = None
    shares: tuple[float, ...] = ()
    network: tuple[float, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the note as a dict for JSON."""
        entries = {**self._asdict(), "shares": list(self.shares), "network": list(self.network)}
        return entries if self.rows else {key: entries[key] for key in ("words", "differs", "rows")}


def row_note(
    network: NetworkLike,
    targets: Sequence[str],
    evidence: Mapping[str, object],
    answer: Counts | None = None,
    error: float = 0.0,
    state: int | None = None,
) -> RowNote | None:
    """Return what the rows say next to P(targets | evidence); None if nothing is known of them.

    `answer` has the probabilities over the bins or levels of the targets, in any form, and `error` their standard
    error; they are computed if they are not given. `state` is the bin or level that the words are about, by default
    the one that is farthest off, or the most probable one.
    """
    known = {name: value for name, value in evidence.items() if not is_unknown(value)}
    source = network.row_source
    pairs = _recorded_pairs(network, targets, known)
    if source is None:
        return RowNote(pairs) if pairs else None
    question = _Question.of(network, source, targets, known)
    if question is None:
        return RowNote(pairs) if pairs else None
    matched = question.matched(question.findings)
    if matched is None:
        return RowNote(" ".join(filter(None, (_NOT_COUNTED, pairs))))
    if matched.n_rows == 0:
        return RowNote(" ".join(filter(None, ("No row satisfies all findings.", pairs))), rows=0.0)
    is_few = matched.evidence < LEAST_ROWS
    given = None if answer is None else np.reshape(answer, question.cards)
    if given is not None and (is_few or not question.bins_of_numbers):
        probabilities, of_answer = given, error
    elif is_few:
        subject = "1 row satisfies" if round(matched.n_rows) == 1 else f"{matched.n_rows:,.0f} rows satisfy"
        return RowNote(f"{subject} the findings, too few to compare.", rows=matched.n_rows)
    else:
        computed = question.probabilities(question.findings)
        if computed is None:
            return None
        probabilities, of_answer = computed
    comparison = question.compared(question.findings, matched, probabilities, of_answer)
    differs = not is_few and comparison is not None and comparison[0]
    if state is None:
        far = comparison[1] if differs and comparison is not None else int(probabilities.argmax())
    else:
        far = state
    words = question.figures(matched, probabilities, far, few=is_few)
    if differs:
        words += f" {question.reason()}"
    elif pairs:
        words += f" {pairs}"
    return RowNote(
        words,
        differs,
        matched.n_rows,
        matched.evidence,
        tuple(matched.shares.ravel().tolist()),
        tuple(probabilities.ravel().tolist()),
    )


class RowFigure(NamedTuple):
    """A probability of the network given one bin or level of a column, next to the share of the rows that have it.

    `given` and `state` are the positions of the bin or level of the column and of that of the target.
    """

    column: str
    given: int
    state: int
    network: float
    share: float
    rows: float
    differs: bool


def farthest_figures(
    network: NetworkLike, target: str, columns: Sequence[str], state: int | None = None
) -> list[RowFigure]:
    """Return for each of some columns the figure about the target that is farthest off the rows.

    It is that of the level `state`, by default of any bin or level. Columns are left out whose rows are not known or
    too few. Whether figures differ by more than chance is judged for all of them together.
    """
    source = network.row_source
    found: list[tuple[float, RowFigure]] = []
    n_figures = 0
    if source is None:
        return []
    for name in columns:
        counts, computed = source.crossed([name, target]), _joint(network, [name, target], {})
        if counts is None or computed is None or not counts.sum():
            continue
        joint = computed[0]
        if source.has_gaps([name, target]):
            joint = with_margins(joint, counts / counts.sum())
        sizes = counts.sum(axis=1)
        evidence = sizes * source.evidence_of_row / _noise(network, source)
        known = np.flatnonzero((evidence >= LEAST_ROWS) & (joint.sum(axis=1) > 0))
        if not len(known):
            continue
        p = joint[known] / joint[known].sum(axis=1, keepdims=True)
        q = counts[known] / sizes[known, None]
        apart = np.abs(standard_errors_apart(p, q, evidence[known, None], computed[1]))
        shown = apart if state is None else apart[:, [state]]
        n_figures += number_of_figures([apart.shape[1]] * len(known)) if state is None else len(known)
        row, column = np.unravel_index(int(shown.argmax()), shown.shape)
        code = int(column) if state is None else state
        cell = int(known[row])
        figure = RowFigure(
            name, cell, code, float(p[row, code]), float(q[row, code]), float(sizes[cell]), False
        )
        found.append((float(apart[row, code]), figure))
    limit = limit_of_chance(n_figures)
    return [figure._replace(differs=away > limit) for away, figure in found]


def mean_of_rows(network: NetworkLike, target: str, evidence: Mapping[str, object]) -> float:
    """Return the mean of a continuous column over the rows in memory that satisfy findings; NaN if there are none."""
    source = network.row_source
    if not isinstance(source, TableRows):
        return float("nan")
    question = _Question.of(network, source, [target], evidence)
    if question is None:
        return float("nan")
    return source.mean(target, question.conditions)


@dataclass(frozen=True, eq=False)
class _Question:
    """Targets and findings, as conditions on rows and as evidence with the shown bins of numbers."""

    network: NetworkLike
    source: RowSource
    targets: tuple[str, ...]
    conditions: dict[str, Condition]
    evidence: dict[str, object]
    bins_of_numbers: dict[str, int]

    @classmethod
    def of(
        cls,
        network: NetworkLike,
        source: RowSource,
        targets: Sequence[str],
        known: Mapping[str, object],
    ) -> _Question | None:
        """Return a question; None if a finding is a likelihood, which no row can satisfy."""
        reader = EvidenceReader(network)
        if any(isinstance(value, (Mapping, pd.Series)) for value in known.values()):
            return None
        conditions, evidence, numbers = {}, {}, {}
        _, stated = reader.stated(known)
        for (name, (statement,)), value in zip(stated.items(), known.values(), strict=True):
            evidence[name] = value
            if statement.weights is None:
                cells = np.arange(network.cardinality(name)) == statement.code
            else:
                cells = statement.weights > 0
            intervals: tuple[tuple[float, float, str], ...] = ()
            if statement.pieces is not None:
                likelihood = statement.pieces.likelihood
                cells = likelihood > _ROUNDING
                if ((likelihood > _ROUNDING) & (likelihood < 1 - _ROUNDING)).any():
                    intervals = tuple(interval for interval, _ in statement.pieces.inside)
            elif name in network.cut_points:
                numbers[name] = statement.code
                low, high = network.support[name]
                breaks = [low, *network.cut_points[name].tolist(), high]
                lower, upper = breaks[statement.code : statement.code + 2]
                evidence[name] = pd.Interval(lower, upper, closed="right")
            conditions[name] = Condition(cells, intervals)
        return cls(network, source, tuple(targets), conditions, evidence, numbers)

    @property
    def findings(self) -> tuple[str, ...]:
        """Names of the columns of the findings."""
        return tuple(self.conditions)

    @property
    def cards(self) -> tuple[int, ...]:
        """Numbers of bins or levels of the targets."""
        return tuple(map(self.network.cardinality, self.targets))

    def matched(self, findings: Sequence[str]) -> Matched | None:
        """Return the rows that satisfy some of the findings."""
        return self.source.matched(self.targets, {name: self.conditions[name] for name in findings})

    def probabilities(self, findings: Sequence[str]) -> tuple[Counts, float] | None:
        """Return P(targets | some of the findings), by the bins of numbers, and its error; None if it is not known."""
        return _joint(self.network, self.targets, {name: self.evidence[name] for name in findings})

    def compared(
        self, findings: Sequence[str], matched: Matched, probabilities: Counts, error: float
    ) -> tuple[bool, int] | None:
        """Return whether rows differ from probabilities by more than chance, and the position that is farthest off.

        None if gaps of the rows forbid to say.
        """
        columns = [*self.targets, *findings]
        if self.source.has_gaps(columns):
            fitted = self._with_margins_of_rows(columns)
            if fitted is None:
                return None
            probabilities = fitted
        evidence = matched.evidence / _noise(self.network, self.source)
        apart = np.abs(standard_errors_apart(probabilities, matched.shares, evidence, error))
        limit = limit_of_chance(number_of_figures([probabilities.size]))
        return bool(apart.max() > limit), int(apart.argmax())

    def _with_margins_of_rows(self, columns: Sequence[str]) -> Counts | None:
        """Return P(targets | findings) if every column were distributed as in the rows that have values of all of them.

        Which rows have gaps may depend on values. Then only the dependence of the columns can be compared.
        """
        if len(columns) > 3 or any(condition.intervals for condition in self.conditions.values()):
            return None
        like, computed = self.source.crossed(columns), _joint(self.network, columns, {})
        if like is None or computed is None or not like.sum():
            return None
        joint = with_margins(computed[0], like / like.sum())
        findings = columns[len(self.targets) :]
        for axis, name in reversed([*enumerate(findings, start=len(self.targets))]):
            joint = np.take(joint, np.flatnonzero(self.conditions[name].cells), axis).sum(axis=axis)
        total = float(joint.sum())
        return joint / total if total > 0 else None

    def figures(self, matched: Matched, probabilities: Counts, position: int, *, few: bool) -> str:
        """Return one figure of the network and of the rows, in words."""
        place = np.unravel_index(position, self.cards)
        what = " and ".join(
            self._in_words(name, int(cell)) for name, cell in zip(self.targets, place, strict=True)
        )
        of_network, of_rows = probabilities[place], matched.shares[place]
        with_bins = listed([self._in_words(name, cell) for name, cell in self.bins_of_numbers.items()], 5)
        within = f" with {with_bins}" if with_bins else ""
        note = ", too few to compare" if few else ""
        return (
            f"{what}: network {100 * of_network:.1f} %, rows {100 * of_rows:.1f} % of "
            f"{matched.n_rows:,.0f}{_weighed(matched)}{within}{note}."
        )

    def reason(self) -> str:
        """Return which findings, the fewest that suffice, or which missing edge the difference comes from."""
        culprits = self._culprits()
        joined = {frozenset(edge) for edge in self.network.edges}
        near = [*product(culprits, self.targets), *combinations(self.targets, 2)]
        apart = [pair for pair in near if frozenset(pair) not in joined]
        without = (
            f"which has no edge between {shown_name(apart[0][0])} and {shown_name(apart[0][1])}"
            if apart
            else ""
        )
        if without and len(culprits) + len(self.targets) == 2:
            return f"The rows know more than this network, {without}."
        where = " and ".join(self._finding_in_words(name) for name in culprits)
        together = " together" if len(culprits) > 1 else ""
        where = f", given {where}{together}" if where else ""
        missing = f" They know more than this network, {without}." if without else ""
        return f"The rows differ from this network by more than chance{where}.{missing}"

    def _culprits(self) -> tuple[str, ...]:
        """Return the fewest findings given which rows and network differ."""
        findings = self.findings
        # findings of which each two are looked at where the rows differ
        sizes = [0, 1, 2] if len(findings) <= 6 else [0, 1]
        for size in sizes:
            if size >= len(findings):
                break
            for some in combinations(findings, size):
                matched = self.matched(some)
                if matched is None or matched.evidence < LEAST_ROWS:
                    continue
                computed = self.probabilities(some)
                comparison = None if computed is None else self.compared(some, matched, *computed)
                if comparison is not None and comparison[0]:
                    return some
        return findings

    def _in_words(self, name: str, cell: int) -> str:
        return f"{shown_name(name)} {self.network.bin_labels(name)[cell]}"

    def _finding_in_words(self, name: str) -> str:
        cells = np.flatnonzero(self.conditions[name].cells).tolist()
        labels = self.network.bin_labels(name)
        return f"{shown_name(name)} {listed([labels[cell] for cell in cells], 3)}"


def _joint(
    network: NetworkLike, targets: Sequence[str], evidence: Mapping[str, object]
) -> tuple[Counts, float] | None:
    """Return P(targets | evidence), (card(first), ...), with its error; None if it is too large or impossible.

    Cells are as coarse as those of a row of many, unless these do not suffice.
    """
    positions = [network.names.index(name) for name in targets]
    engine = engine_for(network)
    stated, _ = EvidenceReader(engine.network).stated(evidence)
    try:
        joint = engine.joint(stated, positions, in_bins=True)
        error = 0.0 if joint.resolution is None else float(np.max(joint.resolution.errors, initial=0.0))
        # error of a probability above which finer cells are asked
        if error > 0.005:
            engine = engine_for(network, is_single=True)
            assert isinstance(engine, CellEngine)
            joint, error = engine.resolved_joint(stated, positions)
    except GomeaBnError:
        # a question that is too large
        return None
    if joint.log_evidence[0] == -np.inf:
        return None
    if joint.errors is not None:
        error = float(joint.errors.max())
    return joint.tables[0].reshape([network.cardinality(name) for name in targets]), float(
        np.nan_to_num(error)
    )


def _noise(network: NetworkLike, source: RowSource) -> float:
    """Return the factor of the variance of rows that also holds the noise of the network.

    An answer about its own rows is nearer to them than their noise. Other rows meet an answer that is about as unsure
    as the share of those rows of the fit that satisfy the findings.
    """
    n_rows: Any = network.metadata.get("n_rows")
    return 1.0 if source.is_own or not is_integer(n_rows) else 1.0 + source.n_rows / max(n_rows, 1)


def _recorded_pairs(network: NetworkLike, targets: Sequence[str], known: Mapping[str, object]) -> str:
    """Return the recorded pairs of a target and another column of a question that are off the rows, in words."""
    checks = recorded_checks(network)
    pairs = [
        pair
        for pair in (() if checks is None else checks.worst)
        if not (columns := {pair["first"], pair["second"]}).isdisjoint(targets)
        and columns <= {*targets, *known}
    ]
    return (
        f"Off the rows of the fit: {'; '.join(pair_text(network, pair) for pair in pairs[:3])}."
        if pairs
        else ""
    )


def _weighed(matched: Matched) -> str:
    """Return words for rows that count by weight, or are no evidence each."""
    differs = abs(matched.evidence - matched.n_rows) > max(0.5, 0.005 * matched.n_rows)
    return f" (by weight; evidence like {matched.evidence:,.0f} rows)" if differs else ""
