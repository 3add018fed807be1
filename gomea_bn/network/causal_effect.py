"""What a change of one column does to another one, if the arrows of the graph are causes.

The estimate is that of the network under the change, corrected by its errors in the rows. They are weighted such that,
to first order, an error in one conditional has no effect on the estimate, and their spread over the rows is that of
the estimate (Robins, Rotnitzky & Zhao, "Estimation of regression coefficients when some regressors are not always
observed", 1994; Chernozhukov et al., "Double/debiased machine learning for treatment and structural parameters", 2018).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log, log10, sqrt
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.data.content_order import row_order
from gomea_bn.data.dates import date_texts, name_in_words
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, is_real
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.conditionals import INTERVAL
from gomea_bn.network.edges import equivalence_class
from gomea_bn.network.graph import Parents, back_door_set, on_paths, reachable
from gomea_bn.network.inference.answers import reduced
from gomea_bn.network.inference.engine import engine_for
from gomea_bn.network.inference.evidence import EvidenceReader
from gomea_bn.network.inference.question import Evidence
from gomea_bn.network.inference.row_cells import RowCells
from gomea_bn.network.matched_rows import LEAST_ROWS
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.rows import groups_of, rows_for
from gomea_bn.texts import counted, listed, percent, shown_name

# rows of a longer table that an effect is computed from
_MOST_ROWS = 20_000
# quantiles that stand for the distribution of a number in a row
_N_QUANTILES = 15
# levels of a treatment that are compared unless two are named
_MOST_LEVELS = 8


@dataclass(frozen=True, eq=False)
class CausalEffect:
    """Differences of one column, the outcome, between values that another column, the treatment, is set to.

    Attributes
    ----------
    of, on : str
        Treatment and outcome.
    adjusted_for : tuple of str
        A minimal set of columns that closes every back-door path of the graph, in column order; empty if none is open.
    contrasts : DataFrame
        By pair of values of the treatment, and by level of an outcome of more than two levels: "from" and "to";
        "outcome", what differs, in words; "difference" with the ends "low" and "high" of its 90 % interval; and
        "unadjusted", the difference in the rows as they are, with "unadjusted_low" and "unadjusted_high". What differs
        is the mean of an outcome of numbers, in its units, or the probability of a level.
    n_rows : int
        Number of rows behind the differences.
    sentences : tuple of str
        What the numbers rest on.
    """

    of: str
    on: str
    adjusted_for: tuple[str, ...]
    contrasts: pd.DataFrame
    n_rows: int
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        treatment, lines = shown_name(name_in_words(self.of)), []
        for start, end, outcome, *numbers in self.contrasts.itertuples(index=False):
            sizes = _signed(numbers)
            between = f" (90 % interval {sizes[1]} to {sizes[2]})" if numbers[1] < numbers[2] else ""
            lines.append(
                f"{treatment} set from {_value_text(self.of, start)} to {_value_text(self.of, end)} changes the "
                f"{outcome} by {sizes[0]}{between}. Unadjusted, it differs by {sizes[3]} ({sizes[4]} to {sizes[5]})."
            )
        return "\n".join((*lines, *self.sentences))


def causal_effect(
    network: NetworkLike,
    of: str,
    on: str,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    values: Sequence[object] | None = None,
) -> CausalEffect:
    """Return the effect of one column on another one; see `DiscretizedBayesNet.causal_effect`."""
    reader = EvidenceReader(network)
    of, on = reader.variable(of, "of"), reader.variable(on, "on")
    if of == on:
        raise GomeaBnError(f"of and on must be two variables, got '{of}' twice.")
    parents: dict[str, Sequence[str]] = {name: network.parents(name) for name in network.names}
    if on in reachable(parents, [of]):
        raise _of_effect(network, parents, of, on)
    if len(network.levels.get(of, (0, 1))) < 2:
        raise GomeaBnError(f"'{of}' has one level, {network.levels[of][0]!r}; an effect needs two values.")
    has_effect = bool(on_paths(parents, of, on))
    chosen = back_door_set(parents, of, on) if has_effect else set()
    adjusted_for = tuple(name for name in network.names if name in chosen)
    rows = _Rows(network, data, of, on, adjusted_for)
    pairs = _pairs(reader, rows, values)
    compared = _Levels(rows) if of in network.levels else _Numbers(rows)
    records = []
    for pair in pairs:
        plain = compared.unadjusted(*pair)
        adjusted = compared.adjusted(*pair) if adjusted_for else plain if has_effect else np.zeros_like(plain)
        ends = [network.levels[of][code] for code in pair] if of in network.levels else pair
        for k, name in enumerate(rows.outcome_names):
            records.append((*ends, name, *rows.interval(adjusted[:, k]), *rows.interval(plain[:, k])))
    columns = ["from", "to", "outcome", "difference", "low", "high", "unadjusted"]
    contrasts = pd.DataFrame(records, columns=[*columns, "unadjusted_low", "unadjusted_high"])
    sentences = [
        *(_of_graph(network, parents, of, on, adjusted_for) if has_effect else [_no_path(of, on)]),
        *(compared.notes(pairs) if adjusted_for else ()),
        *rows.notes,
    ]
    return CausalEffect(of, on, adjusted_for, contrasts, rows.n_rows, tuple(sentences))


class _Rows:
    """The rows with values of treatment, outcome and what is adjusted for, and the network's answers to them."""

    def __init__(
        self,
        network: NetworkLike,
        data: pd.DataFrame | Table | str | os.PathLike[str],
        of: str,
        on: str,
        adjusted_for: tuple[str, ...],
    ) -> None:
        self.network, self.of, self.on = network, of, on
        self.notes: list[str] = []
        self._engine = engine_for(network)
        self._reader = EvidenceReader(self._engine.network)
        counts = None
        if isinstance(data, Table) and (weighted := data.all_rows) is not None:
            data, counts = weighted.table, weighted.weights
        data = data if isinstance(data, Table) else source_frame(data)
        table, groups = rows_for(network, data), groups_of(network, data)
        columns = [column for column in table.columns if column.name in (of, on, *adjusted_for)]
        chosen = np.flatnonzero(~np.logical_or.reduce([column.is_missing for column in columns]))
        if len(chosen) < LEAST_ROWS:
            raise GomeaBnError(
                f"An effect needs at least {LEAST_ROWS} rows with values of "
                f"{listed((repr(column.name) for column in columns), 5)}, got {len(chosen)}."
            )
        if left_out := table.n_rows - len(chosen):
            self.notes.append(
                f"{counted(left_out, 'row')} of {table.n_rows:,} without a value of one of these columns "
                f"{'is' if left_out == 1 else 'are'} left out."
            )
        if len(chosen) > _MOST_ROWS:
            # which rows they are must not depend on their order
            chosen = chosen[row_order([column.values[chosen] for column in columns])]
            chosen = chosen[np.random.default_rng(0).permutation(len(chosen))[:_MOST_ROWS]]
            self.notes.append(f"The differences come from {_MOST_ROWS:,} random rows.")
        values = {column.name: column.values[chosen] for column in columns}
        self.n_rows = len(chosen)
        self.weights = np.ones(self.n_rows) if counts is None else counts[chosen] / counts[chosen].mean()
        # numbers of the groups whose rows are one observation
        self._groups = None
        if groups is not None:
            self._groups = np.unique(groups.codes[chosen], return_inverse=True)[1]
            if not self._groups.any():
                raise GomeaBnError(
                    f"An effect needs rows of at least two groups: all {self.n_rows:,} rows have one value of "
                    f"'{groups.column}', and count as one observation."
                )
            self.notes.append(f"Intervals take the rows of each '{groups.column}' for one observation.")
        self.treatment = values[of]
        self.others = {name: values[name] for name in adjusted_for}
        self._of_levels = _outcomes_of_levels(network, on)
        self.outcome = values[on][:, None] if self._of_levels is None else self._of_levels[values[on]]
        self.outcome_names = _outcome_names(network, on, self._of_levels)

    def mean(self, of_rows: NDArray[np.float64]) -> Any:
        """Return the mean over the rows, the first axis."""
        return np.average(of_rows, axis=0, weights=self.weights)

    def interval(self, of_rows: NDArray[np.float64]) -> tuple[float, float, float]:
        """Return the mean of rows (n_rows,) and the ends of its 90 % interval."""
        mean = float(self.mean(of_rows))
        terms = self.weights * (of_rows - mean)
        if self._groups is not None:
            terms = np.bincount(self._groups, terms)
        n_free = len(terms) - 1
        variance = float(np.square(terms).sum()) * len(terms) / n_free
        # the spread of few groups is unsure, so that their intervals are those of Student's t
        half = float(scipy.special.stdtrit(n_free, (1 + INTERVAL) / 2)) * sqrt(variance) / self.n_rows
        return mean, mean - half, mean + half

    def expected(self, treatment: NDArray[Any] | float) -> NDArray[np.float64]:
        """Return the expected outcomes given a treatment and what is adjusted for, float64 (n_rows, n_outcomes)."""
        known = {self.of: np.broadcast_to(treatment, self.n_rows), **self.others}
        if (of_levels := self._of_levels) is not None:
            return self._answers(self.on, known, lambda tables: tables @ of_levels)
        return self._answers(
            self.on,
            known,
            lambda tables: self._reader.point(self.on, tables, "mean")[:, None],
            lambda cells: cells.point("mean")[:, None],
        )

    def level_probabilities(self) -> NDArray[np.float64]:
        """Return the probabilities of the treatment's levels given what is adjusted for, float64 (n_rows, n_levels)."""
        return self._answers(self.of, self.others, lambda tables: tables)

    def quantiles(self) -> NDArray[np.float64]:
        """Return quantiles of a continuous treatment given what is adjusted for, float64 (n_rows, n_quantiles)."""
        shares = (np.arange(_N_QUANTILES) + 0.5) / _N_QUANTILES
        bins = self._reader.bins[self.of]
        return self._answers(
            self.of,
            self.others,
            lambda tables: np.column_stack([bins.quantiles(tables, share) for share in shares]),
            lambda cells: np.column_stack([cells.quantiles(share) for share in shares]),
        )

    def _answers(
        self,
        target: str,
        known: Mapping[str, NDArray[Any]],
        reduce: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        of_cells: Callable[[RowCells], NDArray[np.float64]] | None = None,
    ) -> NDArray[np.float64]:
        """Return what functions make of P(target | known values) in every row; equal rows are asked about once."""
        reader = self._reader
        values = np.column_stack([np.zeros(self.n_rows), *known.values()])
        distinct, of_rows = np.unique(values, axis=0, return_inverse=True)
        codes = np.full((len(distinct), len(reader.names)), -1, np.int32)
        numbers = np.full(codes.shape, np.nan)
        for name, of_name in zip(known, distinct.T[1:], strict=True):
            v = reader.names.index(name)
            if name in reader.levels:
                codes[:, v] = of_name
            else:
                codes[:, v] = reader.bins[name].codes(of_name)
                numbers[:, v] = np.clip(of_name, *reader.support[name])
        evidence = Evidence(codes, {}, numbers)
        answers, _ = reduced(self._engine, evidence, reader.names.index(target), reduce, of_cells)
        return np.asarray(answers, np.float64)[of_rows.ravel()]


class _Levels:
    """Differences between levels of a treatment, by row.

    Errors of the network in the rows of a level are weighted by the inverse of its probability given what is adjusted
    for, which counts as at least 5 / (sqrt(n) ln n) (Gruber et al., "Data-adaptive selection of the propensity score
    truncation level for inverse-probability-weighted and targeted maximum likelihood estimators", 2022).
    """

    def __init__(self, rows: _Rows) -> None:
        self._rows = rows
        self._least = min(5 / (sqrt(rows.n_rows) * log(rows.n_rows)), 0.1)
        self._probabilities: NDArray[np.float64] | None = None

    def adjusted(self, start: int, end: int) -> NDArray[np.float64]:
        """Return the terms whose mean is the difference, float64 (n_rows, n_outcomes)."""
        rows = self._rows
        if self._probabilities is None:
            self._probabilities = rows.level_probabilities()
        probabilities = np.maximum(self._probabilities, self._least)
        first, second = (
            self._corrected(level, rows.expected(level), probabilities[:, level]) for level in (start, end)
        )
        return second - first

    def unadjusted(self, start: int, end: int) -> NDArray[np.float64]:
        """Return the terms whose mean is the difference in the rows as they are, float64 (n_rows, n_outcomes)."""
        first, second = (self._corrected(level, 0.0, 1.0) for level in (start, end))
        return second - first

    def _corrected(self, level: int, expected: Any, probabilities: Any) -> NDArray[np.float64]:
        rows = self._rows
        weights = (rows.treatment == level) / probabilities
        weights = (weights / rows.mean(weights))[:, None]
        errors = rows.outcome - expected
        # weights that sum to the number of rows leave a mean error exactly
        shift = rows.mean(weights * errors)
        return np.asarray(expected + shift + weights * (errors - shift))

    def notes(self, pairs: Sequence[tuple[int, int]]) -> list[str]:
        """Return the sentence on rows without comparison, if there are more than a few."""
        assert self._probabilities is not None
        levels = sorted({level for pair in pairs for level in pair})
        is_rare = self._probabilities[:, levels].min(axis=1) < self._least
        share = float(self._rows.mean(is_rare.astype(np.float64)))
        # share of the rows from which on those without comparison are named
        if share <= 0.01:
            return []
        return [
            f"In {percent(share)} of the rows one of the values is all but impossible given what is adjusted for: "
            "there the difference rests on the network, not on rows that can be compared."
        ]


class _Numbers:
    """Differences between numbers of a treatment, by row.

    Errors of the network may go with a broken line of the treatment's normal score, which breaks at both values: they
    are regressed on what the columns that are adjusted for leave of its functions.
    """

    def __init__(self, rows: _Rows) -> None:
        self._rows = rows
        self._values, counts = np.unique(rows.treatment, return_counts=True)
        shares = (np.cumsum(counts) - counts / 2) / rows.n_rows
        # shares between which normal scores go on
        self._scores = scipy.special.ndtri(np.clip(shares, 0.01, 0.99))

    def adjusted(self, start: float, end: float) -> NDArray[np.float64]:
        """Return the terms whose mean is the difference, float64 (n_rows, n_outcomes)."""
        rows, line = self._rows, self._broken_line(start, end)
        rest = line(rows.treatment) - line(rows.quantiles()).mean(axis=1)
        # share of its variance that columns which are adjusted for must leave of a number
        if rows.mean(rest[:, 0] ** 2) < 1e-3:
            raise GomeaBnError(
                f"'{rows.of}' is all but determined by {listed(map(repr, rows.others))}: no rows differ in it alone."
            )
        errors = rows.outcome - rows.expected(rows.treatment)
        change = rows.expected(end) - rows.expected(start)
        return np.asarray(change + self._moves(rest, line(end) - line(start)) * errors)

    def unadjusted(self, start: float, end: float) -> NDArray[np.float64]:
        """Return the terms whose mean is the difference of a broken line that is fitted to the rows as they are."""
        rows, line = self._rows, self._broken_line(start, end)
        of_rows, change = line(rows.treatment), line(end) - line(start)
        rest = of_rows - rows.mean(of_rows)
        errors = rows.outcome - rows.mean(rows.outcome)
        roots = np.sqrt(rows.weights)[:, None]
        coefficients, *_ = np.linalg.lstsq(roots * rest, roots * errors)
        return np.asarray(change @ coefficients + self._moves(rest, change) * (errors - rest @ coefficients))

    def _broken_line(self, start: float, end: float) -> Callable[[Any], NDArray[np.float64]]:
        """Return the functions of a line that breaks at two values; their values are along a further axis."""
        breaks = np.interp([start, end], self._values, self._scores)

        def of_values(values: Any) -> NDArray[np.float64]:
            scores = np.interp(values, self._values, self._scores)
            return np.stack([scores, *(np.maximum(scores - one, 0.0) for one in breaks)], axis=-1)

        return of_values

    def _moves(self, rest: NDArray[np.float64], change: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much an error in every row moves the difference, float64 (n_rows, 1)."""
        gram = self._rows.mean(rest[:, :, None] * rest[:, None, :])
        return np.asarray(rest @ (np.linalg.pinv(gram, hermitian=True) @ change))[:, None]

    def notes(self, pairs: Sequence[tuple[float, float]]) -> list[str]:
        """Return nothing: errors are regressed over all rows."""
        return []


def _outcomes_of_levels(network: NetworkLike, name: str) -> NDArray[np.float64] | None:
    """Return the outcomes of the levels of a column, float64 (n_levels, n_outcomes); None for a continuous column."""
    levels = network.levels.get(name)
    if levels is None:
        return None
    if len(levels) == 2:
        return np.array([[0.0], [1.0]])
    return np.array(levels, np.float64)[:, None] if all(map(is_real, levels)) else np.eye(len(levels))


def _outcome_names(network: NetworkLike, name: str, of_levels: NDArray[np.float64] | None) -> list[str]:
    """Return the outcomes of a column in words."""
    shown = shown_name(name_in_words(name))
    if of_levels is None or of_levels.shape[1] < len(of_levels) != 2:
        return [f"mean of {shown}"]
    labels = network.bin_labels(name)
    return [f"probability of {shown} = {labels[level]}" for level in of_levels.argmax(axis=0)]


def _pairs(reader: EvidenceReader, rows: _Rows, values: Sequence[object] | None) -> list[tuple[Any, Any]]:
    """Return the pairs of numbers, or of codes of levels, of the treatment that are compared."""
    of, treatment, levels = rows.of, rows.treatment, rows.network.levels.get(rows.of)
    if values is None and levels is None:
        ends = np.quantile(treatment, (0.25, 0.75)).tolist()
        # most rows may have the same number
        start, end = ends if ends[0] < ends[1] else (float(treatment.min()), float(treatment.max()))
        if start == end:
            raise GomeaBnError(f"'{of}' has one value in the rows, {start:g}; an effect needs two values.")
        return [(start, end)]
    present = set(treatment.tolist())
    if levels is not None and len(present) < 2:
        level = levels[present.pop()]
        raise GomeaBnError(f"'{of}' has one level in the rows, {level!r}; an effect needs two values.")
    if values is None:
        if len(present) > _MOST_LEVELS:
            raise GomeaBnError(
                [
                    f"'{of}' has {len(present)} levels in the rows, more than the {_MOST_LEVELS} that are compared "
                    "unless two are named by ",
                    Option("values"),
                    ".",
                ]
            )
        first, *others = sorted(present)
        return [(first, other) for other in others]
    if isinstance(values, (str, Mapping)) or not hasattr(values, "__len__") or len(values) != 2:
        raise GomeaBnError(
            f"values must be two values of '{of}', the one to start from first, got {values!r:.80}."
        )
    stated = [reader.value(of, value, f"values[{k}]") for k, value in enumerate(values)]
    if levels is None:
        reader.warn_of_outside({of: [number for one in stated for number in one.outside]})
        ends = [reader.inside(of, float(one.value)) for one in stated if one.value is not None]
    else:
        ends = [one.code for one in stated]
        for code in ends:
            if code not in present:
                raise GomeaBnError(
                    f"values: no row has '{of}' = {levels[code]!r} and all other values that it needs."
                )
    if ends[0] == ends[1]:
        raise GomeaBnError(f"values must be two different values of '{of}', got {values!r:.80}.")
    return [(ends[0], ends[1])]


def _no_path(of: str, on: str) -> str:
    """Return the sentence on columns that no directed path joins."""
    cause, outcome = (shown_name(name_in_words(name)) for name in (of, on))
    return f"No path of arrows leads from {cause} to {outcome}: by the graph, the effect is zero."


def _of_effect(network: NetworkLike, parents: Parents, of: str, on: str) -> GomeaBnError:
    """Return the error of a column that is an effect of the other one by the graph."""
    path = on_paths(parents, on, of)
    doubtful = [
        f"'{parent}' → '{child}'"
        for parent, child in equivalence_class(network).reversible
        if {parent, child} <= path
    ]
    hints = [f"ask for the effect of '{on}' on '{of}'"]
    if doubtful:
        hints.append("learn again and forbid an edge that is known to point the other way")
    return GomeaBnError(
        f"'{on}' is a cause of '{of}' in this graph, by itself or through other columns, so that '{of}' has no "
        f"effect on it." + (f" Rows cannot tell the direction of {listed(doubtful, 5)}." if doubtful else ""),
        hints,
    )


def _of_graph(
    network: NetworkLike, parents: Parents, of: str, on: str, adjusted_for: tuple[str, ...]
) -> list[str]:
    """Return what the graph says about an effect, in words."""
    cause, outcome = (shown_name(name_in_words(name)) for name in (of, on))
    names = listed(shown_name(name_in_words(name)) for name in adjusted_for)
    sentences = [
        f"The difference is adjusted for {names}: this closes every back-door path of the graph."
        if adjusted_for
        else "Nothing is adjusted for: the graph has no open back-door path.",
        f"It is an effect if the arrows are causes. A common cause of {cause} and {outcome} that is not measured would "
        "make it wrong.",
    ]
    path = on_paths(parents, of, on)
    doubtful = [
        f"{shown_name(name_in_words(parent))} → {shown_name(name_in_words(child))}"
        for parent, child in equivalence_class(network).reversible
        if of in (parent, child) or {parent, child} <= path
    ]
    if doubtful:
        sentences.append(
            f"Rows cannot tell the direction of {listed(doubtful, 5)}; with another one the effect would be another."
        )
    binned = [name for name in adjusted_for if name in network.cut_points]
    if network.conditionals is None and binned:
        of_bins = listed(map(shown_name, map(name_in_words, binned)))
        sentences.append(
            f"The network knows {of_bins} by bins alone: what differs inside a bin is not adjusted for."
        )
    return sentences


def _signed(numbers: Sequence[float]) -> list[str]:
    """Return differences with their signs and three digits of the largest one."""
    largest = max(map(abs, numbers))
    digits = max(2 - int(np.floor(log10(largest))), 0) if largest > 0 else 0
    texts = [f"{number:+,.{digits}f}" for number in numbers]
    return [text if text.strip("+-0.,") else "0" for text in texts]


def _value_text(name: str, value: Any) -> str:
    """Return a value of a treatment in words."""
    if not isinstance(value, float):
        return str(value)
    texts = date_texts(np.array([value]), name, 1.0)
    return f"{value:.4g}" if texts is None else texts[0]
