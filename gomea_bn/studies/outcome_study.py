"""`study`: what drives an outcome of a table, how well it is predicted, and what an expert's arrows are worth."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.certainty.graph_tests import edge_verdicts
from gomea_bn.data.censoring import known_outcomes, with_outcome
from gomea_bn.data.columns import outcome_code, same_as_text
from gomea_bn.data.dates import date_texts, name_in_words, number_of, source_name, value_in_words
from gomea_bn.data.sources import source_table
from gomea_bn.data.table import Column, Table
from gomea_bn.data.weights import weighted_table
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Option, check_integer, nearest
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.lazy import offered
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.options import check_target, seed_of
from gomea_bn.learning.target import check_target_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.bin_distributions import BinDistributions
from gomea_bn.network.conditionals.conditionals import INTERVAL
from gomea_bn.network.inference.answer_errors import AnswerErrors, ends_of
from gomea_bn.network.inference.evidence import EvidenceReader
from gomea_bn.network.matched_rows import LEAST_ROWS, effective_rows
from gomea_bn.studies.left_out import LeftOut, fitted_network, left_out
from gomea_bn.studies.value_groups import ValueGroups, groups_of, information
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

VERDICTS = {
    "support": "the rows support it",
    "speak against": "the rows speak against it",
    "do not decide on": "cannot tell",
}
"""Verdicts of `test_graph` on an edge, in words."""

HAS_ARROW = "has this arrow"

PAGES = (".html", ".pdf")
"""Endings of pages."""

EVALUATIONS, SECONDS = 1_500, 10.0
"""Limits of the search by default; of a table without gaps the evaluations end it, so that it can be repeated."""

# of a fold, the latter as a part of the limit of the whole search
_FOLD_EVALUATIONS, _FOLD_PART = 200, 0.4
_FEWEST_ROWS = 50

TELLS_ALL = 0.8
"""Part of the doubt about an outcome, or rank correlation with times, of a column which may be the outcome itself."""


@dataclass(frozen=True, eq=False)
class Case:
    """One row, from the base rate to its figure.

    Attributes
    ----------
    row : int or None
        Position among the rows of the source, counted from 0, or among those of `Study.table` where rows have weights;
        None for the row that was asked about.
    steps : DataFrame
        By column, in the order in which they become known: its "value" in words, and "figure", the answer with it and
        all before it, while other columns vary as in the rows. The column that moves the answer most comes first.
    next : DataFrame
        By column whose cell is missing: the "lowest" and "highest" answer over typical values of its groups,
        widest first.
    figure : float
        The answer with all cells of the row.
    observed : float
        What happened: 1 or 0, or the value of a continuous target; NaN if it is not known.
    """

    row: int | None
    steps: pd.DataFrame
    next: pd.DataFrame
    figure: float
    observed: float


@dataclass(frozen=True, eq=False)
class Study:
    """A table, what happens in it, what drives the outcome, and how well it is predicted.

    Attributes
    ----------
    network : DiscretizedBayesNet
        Learned from all rows.
    table : Table
        The rows, without those in which the outcome is missing or was not seen.
    weights : ndarray of shape (n_rows,), float64, or None
        How much every row counts, 1 on average; None if all count alike.
    target : str or None
        Column of the outcome.
    state : int or None
        Position of the level that is the outcome, None for a continuous target.
    columns : DataFrame
        By column other than the target, those first that tell most: "joined", whether the network has an edge between
        it and the target; "tells", what its groups tell about the outcome in the rows, in bits (of a continuous target:
        about ten groups of it), without what chance adds; "p_value" of a test that the outcome is the same in all its
        groups; "lowest" and "highest" of the network's figures over groups of at least 20 rows, if there are some, and
        these groups, "lowest_at" and "highest_at".
    groups : DataFrame
        One row per column and group of its values: "column", "group", "rows", "share", the share of the rows with the
        outcome, or the mean of a continuous target, with the ends of its 90 % interval, "share_low" and "share_high",
        and the same of the network, "network", "network_low", "network_high": the mean of its answers to these rows.
        The ends are those of `query` given the group; NaN for missing cells.
    left_out : LeftOut or None
        Predictions of rows by networks that had not seen them.
    cases : tuple of Case
        The row that was asked about, if there is one, and then rows of the table from low to high answers.
    expert : DataFrame or None
        One row per edge of an expert: "parent", "child", "verdict" in words, "p_value", "p_weak", the "network", in
        words, and "direction".
    edges : dict of (parent, child) to float
        What the ends of every edge tell about each other, in bits, by groups of their values.
    misleading : dict of str to str
        Columns that had better be left out, and why, in words: they may be known only after the outcome, or say how
        long a row was seen.
    n_without_outcome : int
        Rows that were left out since the outcome is missing in them.
    warnings : tuple of GomeaBnWarning
        What reading and learning warned of.
    seed : int
    is_timed : bool
        Whether a limit on seconds may have ended a search, so that another run may differ a little.

    Examples
    --------
    >>> from gomea_bn import study
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> frame = random_network(4, random_state=1).sample(200, random_state=1)
    >>> result = study(frame, frame.columns[0], folds=0)
    >>> result.table.n_rows, result.n_without_outcome
    (200, 0)
    """

    network: DiscretizedBayesNet
    table: Table
    weights: NDArray[np.float64] | None
    target: str | None
    state: int | None
    columns: pd.DataFrame
    groups: pd.DataFrame
    left_out: LeftOut | None
    cases: tuple[Case, ...]
    expert: pd.DataFrame | None
    edges: dict[tuple[str, str], float]
    misleading: dict[str, str]
    n_without_outcome: int
    warnings: tuple[GomeaBnWarning, ...]
    seed: int
    is_timed: bool

    @property
    def short_outcome(self) -> str:
        """The outcome in words without a horizon: "returned = 1", or the name of a continuous column."""
        assert self.target is not None
        name = name_in_words(self.target)
        return name if self.state is None else f"{name} = {self.network.levels[self.target][self.state]}"

    @property
    def outcome(self) -> str:
        """The outcome in words, with the horizon of times until an event: "returned = 1 within 30 (days)"."""
        done = self.table.censoring
        if done is None:
            return self.short_outcome
        return f"{self.short_outcome} within {done.horizon:,g} ({name_in_words(done.duration)})"

    @property
    def base(self) -> float:
        """Share of the rows with the outcome, or mean of a continuous target."""
        assert self.target is not None
        return float(np.average(_outcome(self.table, self.target, self.state), weights=self.weights))

    @cached_property
    def quality(self) -> pd.DataFrame | None:
        """How good predictions of left-out rows are; see `LeftOut.quality`."""
        return None if self.left_out is None else self.left_out.quality()

    def write(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write the page of the study, one file that works offline: .html, or .pdf, which a browser prints.

        Raises
        ------
        GomeaBnError
            For another ending, a file that cannot be written, and a PDF without a browser.
        """
        from gomea_bn.runtime.files import write_bytes, write_text

        if not str(path).lower().endswith(PAGES):
            raise GomeaBnError(f"The page of a study must end in {listed(PAGES)}, got {str(path)!r:.80}.")
        text = offered("study_page")(self, title)
        if str(path).lower().endswith(".pdf"):
            write_bytes(path, offered("printed_pdf")(text))
        else:
            write_text(path, text)

    def __repr__(self) -> str:
        """Return in a line what the study is of; the arrays would fill hundreds."""
        of = "" if self.target is None else f"{self.outcome}, "
        size = f"{counted(self.table.n_rows, 'row')}, {counted(len(self.table.columns), 'column')}"
        return f"Study({of}{size}, {counted(len(self.edges), 'edge')})"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        return str(offered("study_part")(self))


def study(
    data: pd.DataFrame | NDArray[Any] | Table | str | os.PathLike[str],
    target: str | None = None,
    *,
    state: object = None,
    expert: ExpertNetwork | Sequence[tuple[str, str]] | str | os.PathLike[str] | None = None,
    row: Mapping[str, object] | None = None,
    folds: int = 4,
    learner: BayesNetLearner | None = None,
    duration: str | None = None,
    horizon: float | None = None,
    kinds: Mapping[str, str] | None = None,
    groups: str | None = None,
    random_state: int | None = 0,
    tell: Callable[[str], None] | None = None,
) -> Study:
    """Return what drives an outcome of a table, how well it is predicted, and what an expert's arrows are worth.

    A network is learned from all rows, with the target's parents chosen by left-out rows, and once more without each
    fold of them, for predictions of rows that it has not seen.

    Parameters
    ----------
    data : DataFrame, array, Table or path
        Rows; cells may be missing. Rows without the outcome are left out. Columns of an array are named "x0", "x1", ...
    target : str, optional
        Column of the outcome. Without one the study says which columns go together.
    state : level, optional
        Level of a discrete target that is the outcome: by default 1, true or yes, or else the rarest level.
    expert : ExpertNetwork, sequence of (parent, child), or path, optional
        Edges of an expert, on each of which the rows give a verdict.
    row : mapping of str to value, optional
        What is known about one new row, by column: a number, a level or a date. The study shows how it comes to its
        figure, and what to measure next.
    folds : int
        Number of folds, from 2 on; 0 judges nothing.
    learner : BayesNetLearner, optional
        Options of the network; by default those of `BayesNetLearner` with a search of at most 1,500 evaluations and
        10 seconds. Those of a fold have at most 200 evaluations, and .4 of the limit on seconds.
    duration, horizon, kinds, groups
        As of `BayesNetLearner`: with a `duration` the outcome is the event within the horizon, and rows that were seen
        until then count for those that were not.
    random_state : int or None
        Seed. The same rows, options and seed give the same study, unless a limit on seconds ends a search.
    tell : callable, optional
        Is called with a line at every step.

    Raises
    ------
    GomeaBnError
        For an unknown or constant target, a level that it does not have, or more than twelve levels, fewer than 50 rows
        with the outcome known, edges of unknown columns, cells of a row that its columns cannot have, and tables that
        cannot be learned from.

    Examples
    --------
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> frame = random_network(4, random_state=1).sample(200, random_state=1)
    >>> result = study(frame, frame.columns[0], folds=0)
    >>> print(sorted(result.columns.index) == sorted(frame.columns[1:]))
    True
    """
    if folds != 0:
        check_integer("folds", folds, 2)
    tell = tell or (lambda _line: None)
    seed = seed_of(random_state)
    if learner is None:
        learner = BayesNetLearner(max_seconds=SECONDS, max_evaluations=EVALUATIONS)
    if not isinstance(learner, BayesNetLearner):
        raise GomeaBnError(f"learner must be a BayesNetLearner or None, got {learner!r:.80}.")
    chosen = learner.get_params(deep=False)
    options: dict[str, Any] = {**chosen}
    options |= {"random_state": seed, "target": target, "kinds": None, "groups": None, "missing": "available"}
    options |= {
        "duration": duration or chosen["duration"],
        "horizon": chosen["horizon"] if horizon is None else horizon,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GomeaBnWarning)
        table = read = source_table(
            data,
            kinds=kinds or chosen["kinds"],
            missing="available",
            max_levels=chosen["max_levels"],
            groups=groups or chosen["groups"],
            duration=options["duration"],
        )
        # weights draw the rows to search anew from those that have the outcome
        given = table.all_rows
        if given is not None:
            table = replace(given.table, weighted=True)
        of_rows = None if given is None else given.weights
        n_read, code, positions = table.n_rows, None, np.arange(table.n_rows)
        if target is not None:
            table, code, positions = _with_outcome(table, target, state, options)
        n_without = n_read - table.n_rows
        misleading = {} if target is None else _misleading(table, target, code, options["duration"])
        of_rows = None if of_rows is None else of_rows[positions]
        table, shown, weights, rows = _searched_and_counted(table, of_rows, options)
        positions = np.arange(shown.n_rows) if rows is None else positions[rows]
        asked = None if row is None else _cells_of(row, table, target)
        rules = None if expert is None else _expert_of(expert)
        if rules is not None:
            rules.mentioned(table)
        tell(f"Learning from {counted(shown.n_rows, 'row')} and {counted(len(table.columns), 'column')} ...")
        network = fitted_network(options, table)
    given_now = [one.message for one in caught if isinstance(one.message, GomeaBnWarning)]
    said = tuple({str(note): note for note in (*read.warnings, *given_now)}.values())
    codings = {column.name: groups_of(column) for column in shown.columns}
    judged: LeftOut | None = None
    if target is not None and folds:
        most_evaluations, most_seconds = options["max_evaluations"], options["max_seconds"]
        small = {
            **options,
            "max_evaluations": min(most_evaluations or _FOLD_EVALUATIONS, _FOLD_EVALUATIONS),
            "max_seconds": None if most_seconds is None else _FOLD_PART * most_seconds,
        }
        judged = left_out(shown, weights, target, code, small, folds, seed, tell)
    columns, of_groups = pd.DataFrame(), pd.DataFrame()
    cases: tuple[Case, ...] = ()
    if target is not None:
        tell("Comparing the network with the rows ...")
        of_groups = _groups(network, shown, weights, target, code, codings)
        columns = _columns(network, shown, weights, target, code, codings, of_groups)
        cases = _cases(network, shown, positions, target, code, codings, asked)
    verdicts = None
    if rules is not None:
        tell("Testing the expert's arrows ...")
        # rows without the outcome say as much about other arrows, and `test-graph` has them too
        is_as_read = read.all_rows is None and options["duration"] is None
        verdicts = _verdicts(rules, network, read if is_as_read else table)
    edges = {
        (parent, child): information(codings[parent].codes, codings[child].codes, weights)
        for parent, child in network.edges
    }
    return Study(
        network, shown, weights, target, code, columns, of_groups, judged, cases, verdicts, edges, misleading,
        n_without, said, seed, options["max_seconds"] is not None,
    )  # fmt: skip


def _misleading(table: Table, target: str, code: int | None, duration: str | None) -> dict[str, str]:
    """Return columns whose figures may mislead, and why, in words.

    They may be known only after the outcome: their cells are missing where the outcome is absent or where it is there,
    all rows of one of their levels have it or lack it, or they rise or fall with the times until the event. Or they
    rise or fall with the times that rows without the event were seen, as a date of entry does: the late rows whose
    outcome is known are those that had it early.
    """
    from scipy.stats import spearmanr

    found: dict[str, str] = {}
    others = [column for column in table.columns if column.name not in (target, duration)]
    if code is None:
        return found
    has_outcome = table.columns[table.names.index(target)].values == code
    outcomes = has_outcome.astype(np.int64)
    doubt = information(outcomes, outcomes, None)
    for column in others:
        if column.n_missing and doubt > 0:
            is_missing = column.is_missing.astype(np.int64)
            if information(is_missing, outcomes, None) >= TELLS_ALL * doubt:
                where = "without" if np.average(outcomes, weights=is_missing) < 0.5 else "with"
                found[column.name] = (
                    f"may be known only afterwards, since it is missing in the rows {where} the outcome"
                )
        for level, name in enumerate(column.levels or ()):
            of_level = has_outcome[column.values == level]
            share = float(np.mean(has_outcome == of_level[0])) if len(of_level) >= LEAST_ROWS else 1.0
            # probability of a level whose rows are all alike, from which on chance may make one
            if len(np.unique(of_level)) == 1 and share ** len(of_level) < 1e-9:
                verb = "have" if of_level[0] else "lack"
                found.setdefault(
                    column.name,
                    f"may be known only afterwards, since all {len(of_level):,} rows with {name} {verb} the outcome",
                )
    if duration is None or duration not in table.names:
        return found
    time = name_in_words(duration)
    reasons = (
        (np.ones(table.n_rows, np.bool_), f"may be known only afterwards, since it goes with {time} itself"),
        (
            ~has_outcome,
            "says how long rows without the outcome were seen, as a date of entry does, so that its figures mislead",
        ),
    )
    times = np.asarray(table.columns[table.names.index(duration)].values, np.float64)
    for column in others:
        numbers = _numbers(column)
        is_known = ~np.isnan(numbers) & ~np.isnan(times)
        for of_reason, reason in reasons:
            rows = np.flatnonzero(is_known & of_reason)
            if len(rows) < LEAST_ROWS or np.ptp(numbers[rows]) == 0 or np.ptp(times[rows]) == 0:
                continue
            if abs(float(spearmanr(numbers[rows], times[rows])[0])) >= TELLS_ALL:
                found.setdefault(column.name, reason)
    return found


def _numbers(column: Column) -> NDArray[np.float64]:
    """Return the cells of a column as numbers, NaN where they are missing or are none, float64 (n_rows,)."""
    if column.levels is None:
        return np.where(column.is_missing, np.nan, column.values).astype(np.float64)
    # the code of a missing cell is -1
    levels = pd.Series([*column.levels, None], dtype=object)
    numbers = pd.to_numeric(levels, errors="coerce").to_numpy(np.float64)
    return np.asarray(numbers[column.values], np.float64)


def _searched_and_counted(
    table: Table, weights: NDArray[np.float64] | None, options: Mapping[str, Any]
) -> tuple[Table, Table, NDArray[np.float64] | None, NDArray[np.int64] | None]:
    """Return the rows to search, and the rows to count with their weights, None if all count alike, and positions.

    Positions are those among the rows given, None if weights put them in another order or repeat them. Rows count by
    their `weights` if there are some, (n_rows,). Of times until an event they are those whose outcome is known.
    """
    duration = options["duration"]
    searched = with_outcome(table, options["target"], duration, options["horizon"])
    if duration is not None and searched is not table:
        known, rows, of_rows = known_outcomes(table, options["target"], duration, options["horizon"])
        return searched, known, of_rows, rows
    if weights is not None:
        searched = weighted_table(table, weights)
    if searched.all_rows is not None:
        return searched, searched.all_rows.table, searched.all_rows.weights, None
    return searched, searched, None, None if table.weighted else np.arange(searched.n_rows)


def _with_outcome(
    table: Table, target: str, state: Any, options: Mapping[str, Any]
) -> tuple[Table, int | None, NDArray[np.int64]]:
    """Return the rows that have the outcome, the position of its level, and those of the rows in the source."""
    if not isinstance(target, str) or target not in table.names:
        hint = nearest(str(target), table.names)
        left = table.left_out.get(str(target))
        why = f" It was left out ({left}); name its kind to take it in." if left else hint
        raise GomeaBnError([Option("target"), f" must be a column of the table, got {target!r:.80}.{why}"])
    column = table.columns[table.names.index(target)]
    positions = np.delete(np.arange(table.n_rows + len(table.dropped_rows)), list(table.dropped_rows))
    if column.n_missing:
        known = np.flatnonzero(~column.is_missing)
        table, positions = table.take(known), positions[known]
        column = table.columns[table.names.index(target)]
    check_target(options["target"], table)
    check_target_of(options, table, table.n_rows)
    if table.n_rows < _FEWEST_ROWS:
        raise GomeaBnError(
            f"A study needs at least {_FEWEST_ROWS} rows with a value of {target!r}, got {table.n_rows}."
        )
    if column.levels is None:
        if state is not None:
            raise GomeaBnError(
                [Option("target"), f" {target!r} is continuous and has no level {state!r:.80}; leave it out."]
            )
        return table, None, positions
    levels = column.levels
    counts = np.bincount(column.values, minlength=len(levels))
    if state is None:
        return table, outcome_code(levels, counts), positions
    code = levels.index(_level_of(column, state, "target"))
    if not counts[code]:
        raise GomeaBnError([Option("target"), f" {target!r}: no row has the level {state!r:.80}."])
    return table, code, positions


def _cells_of(row: Mapping[str, object], table: Table, target: str | None) -> dict[str, Any]:
    """Return the cells of a row that was asked about, each a level or a number of its column."""
    if target is None:
        raise GomeaBnError(
            [Option("row"), " is a row whose outcome is wanted; name the outcome as ", Option("target")]
        )
    if not isinstance(row, Mapping):
        raise GomeaBnError(
            [Option("row"), f" must give values by column, such as {{'age': 70}}, got {row!r:.80}."]
        )
    names = {source_name(name): name for name in table.names} | {name: name for name in table.names}
    cells = {}
    for given, value in row.items():
        name = names.get(str(given))
        if name is None:
            raise GomeaBnError(
                [Option("row"), f": unknown column {given!r:.80}.{nearest(str(given), names)}"]
            )
        if name == target:
            raise GomeaBnError(
                [Option("row"), f" has the outcome {name!r}, which is what it is asked for; leave it out."]
            )
        column = table.columns[table.names.index(name)]
        if column.levels is None:
            number = number_of(value, name)
            try:
                cells[name] = float(value) if number is None else number  # type: ignore[arg-type]
            except (TypeError, ValueError):
                cells[name] = np.nan
            if not np.isfinite(cells[name]):
                wanted = f" {name!r} must be {value_in_words(name)}, got {value!r:.80}."
                raise GomeaBnError([Option("row"), wanted])
        else:
            cells[name] = _level_of(column, value, "row")
    return cells


def _level_of(column: Column, value: Any, option: str) -> Any:
    """Return the level of a discrete column that a value or text of an option names."""
    levels = column.levels or ()
    fitting = [level for level in levels if level == value or same_as_text(level, value)]
    if not fitting:
        wanted = f" {column.name!r} has no level {value!r:.80}, only {listed(levels, 12)}."
        raise GomeaBnError([Option(option), wanted + nearest(str(value), map(str, levels))])
    return fitting[0]


def _expert_of(expert: object) -> ExpertNetwork:
    if isinstance(expert, ExpertNetwork):
        return expert
    if isinstance(expert, (str, os.PathLike)):
        return ExpertNetwork.from_file(expert)
    return ExpertNetwork.from_edges(expert)  # type: ignore[arg-type]


def _outcome(table: Table, target: str, state: int | None) -> NDArray[np.float64]:
    """Return 1 or 0 for rows with and without the outcome, or the values of a continuous target, (n_rows,)."""
    values = table.columns[table.names.index(target)].values
    return np.asarray(values if state is None else values == state, np.float64)


def _predicted(
    network: DiscretizedBayesNet, frame: pd.DataFrame, target: str, state: int | None
) -> NDArray[np.float64]:
    """Return the probabilities of the outcome, or means of a continuous target, float64 (n_rows,)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        if state is None:
            return network.predict_interval(frame, target, (0.5,))["mean"].to_numpy(np.float64)
        return np.asarray(network.predict_proba(frame, target).to_numpy()[:, state], np.float64)


def _groups(
    network: DiscretizedBayesNet,
    table: Table,
    weights: NDArray[np.float64] | None,
    target: str,
    state: int | None,
    codings: Mapping[str, ValueGroups],
) -> pd.DataFrame:
    """Return rows and network by groups of values; see `Study`."""
    observed = _outcome(table, target, state)
    predicted = _predicted(network, table.to_frame().drop(columns=target), target, state)
    is_number = state is None
    gains = (
        BinDistributions(network, target).means() if is_number else np.eye(network.cardinality(target))[state]
    )
    sureness, reader = AnswerErrors(network, target, gains[None]), EvidenceReader(network)
    limits = (-np.inf, np.inf) if is_number else (0.0, 1.0)
    units = None if table.groups is None else table.groups.codes
    parts = []
    for name in table.names:
        if name == target:
            continue
        coding = codings[name]
        stated, _ = reader.stated_rows({name: coding.statements}, len(coding.statements))
        # a missing cell is no finding
        errors = [*sureness.errors(stated)[:, 0].tolist(), np.nan]
        for code, label in enumerate(coding.all_labels):
            rows = np.flatnonzero(coding.all_codes == code)
            if not len(rows):
                continue
            of_rows = np.ones(len(rows)) if weights is None else weights[rows]
            share, low, high = _share_of_rows(
                observed[rows],
                None if weights is None else of_rows,
                None if units is None else units[rows],
                binary=state is not None,
            )
            figure = float(np.average(predicted[rows], weights=of_rows))
            ends = np.clip(ends_of(figure, errors[code], INTERVAL), *limits)
            parts.append(
                {
                    "column": name, "group": label, "rows": len(rows), "share": share, "share_low": low,
                    "share_high": high, "network": figure, "network_low": ends[0], "network_high": ends[1],
                }
            )  # fmt: skip
    return pd.DataFrame(parts)


def _share_of_rows(
    observed: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    units: NDArray[np.int64] | None,
    *,
    binary: bool,
) -> tuple[float, float, float]:
    """Return a share or mean of rows by weight with the ends of its 90 % interval.

    Shares have Wilson's interval; weighted rows and rows of a group count as many as their variance says.
    """
    from scipy import stats

    n, mean = len(observed), float(np.average(observed, weights=weights))
    deviations = observed - mean
    if weights is not None:
        deviations = deviations * weights / weights.mean()
        units = np.arange(n) if units is None else units
    variance = mean * (1 - mean) / n if binary else (float(observed.var(ddof=1)) / n if n > 1 else np.nan)
    n_units = n
    if units is not None:
        codes = np.unique(units, return_inverse=True)[1]
        n_units = int(codes.max()) + 1
        sums = np.bincount(codes, deviations)
        of_groups = float((sums**2).sum()) / n**2 * n_units / max(n_units - 1, 1)
        if variance > 0 and of_groups > variance:
            n, variance = max(round(n * variance / of_groups), 1), of_groups
    if not binary:
        half = float(stats.t.ppf((1 + INTERVAL) / 2, max(n_units - 1, 1))) * float(np.sqrt(variance))
        return mean, mean - half, mean + half
    z = float(stats.norm.ppf((1 + INTERVAL) / 2))
    middle = (mean + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * float(np.sqrt(mean * (1 - mean) / n + z**2 / (4 * n**2)))
    return mean, max(middle - half, 0.0), min(middle + half, 1.0)


def _columns(
    network: DiscretizedBayesNet,
    table: Table,
    weights: NDArray[np.float64] | None,
    target: str,
    state: int | None,
    codings: Mapping[str, ValueGroups],
    of_groups: pd.DataFrame,
) -> pd.DataFrame:
    """Return what every column tells; see `Study`."""
    observed = _outcome(table, target, state)
    of_target = codings[target].codes if state is None else observed.astype(np.int64)
    joined = {*network.parents(target), *network.children(target)}
    records = {}
    for name in table.names:
        if name == target:
            continue
        coding = codings[name]
        figures = of_groups[(of_groups["column"] == name) & of_groups["group"].isin(coding.labels)]
        enough = figures["rows"] >= LEAST_ROWS
        # a figure of a handful of rows is no headline
        by_figure = figures[enough if enough.any() else ~enough].sort_values("network", kind="stable")
        low, high = by_figure.iloc[0], by_figure.iloc[-1]
        records[name] = {
            "joined": name in joined,
            "tells": information(coding.codes, of_target, weights),
            "p_value": _p_value(coding.codes, observed, weights, binary=state is not None),
            "lowest": low["network"],
            "lowest_at": low["group"],
            "highest": high["network"],
            "highest_at": high["group"],
        }
    frame = pd.DataFrame.from_dict(records, orient="index")
    return frame.sort_values(["joined", "tells"], ascending=False, kind="stable")


def _p_value(
    codes: NDArray[np.int64],
    observed: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    *,
    binary: bool,
) -> float:
    """Return the probability that chance makes groups differ as much: a chi-squared test, or one of ranks.

    Both statistics are the share of the squares, of outcomes or of ranks, that lies between groups, times the number of
    rows (Pearson), or one less (Kruskal and Wallis). Weighted rows are as many as they are worth.
    """
    from scipy import stats

    known = codes >= 0
    groups = np.unique(codes[known], return_inverse=True)[1]
    values = observed[known] if binary else stats.rankdata(observed[known])
    of_rows = np.ones(len(values)) if weights is None else weights[known]
    if not len(values) or not groups.max() or values.min() == values.max():
        return 1.0
    centred = values - np.average(values, weights=of_rows)
    sums, totals = np.bincount(groups, of_rows * centred), np.bincount(groups, of_rows)
    share = float((sums**2 / totals).sum() / (of_rows @ centred**2))
    n = effective_rows(of_rows) - (0 if binary else 1)
    return float(stats.chi2.sf(n * share, int(groups.max())))


def _cases(
    network: DiscretizedBayesNet,
    table: Table,
    positions: NDArray[np.int64],
    target: str,
    state: int | None,
    codings: Mapping[str, ValueGroups],
    asked: Mapping[str, Any] | None,
) -> tuple[Case, ...]:
    """Return a row that was asked about, and rows of the table from low to high answers."""
    frame = table.to_frame().drop(columns=target)
    needed = [name for name in network.markov_blanket(target) if name in frame.columns]
    cases: list[Case] = []
    if asked is not None:
        # what is not said of a new row is not known, so that cells far from the outcome count too
        nothing = frame.iloc[[0]].copy()
        for name in frame.columns:
            nothing[name] = None
        cells = nothing.copy()
        for name, value in asked.items():
            cells[name] = value
        nothing, cells = nothing.astype(frame.dtypes), cells.astype(frame.dtypes)
        of_row = list(dict.fromkeys([*asked, *needed]))
        parts = _steps(network, cells.iloc[0], target, state, codings, of_row, nothing)
        cases.append(Case(None, *parts, float(_predicted(network, cells, target, state)[0]), np.nan))
    complete = np.flatnonzero(~frame[needed].isna().any(axis=1).to_numpy())
    if not (needed and len(complete)):
        return tuple(cases)
    generator = np.random.default_rng(0)
    # rows over which unknown columns of a case vary
    background = frame.iloc[np.sort(generator.choice(complete, min(200, len(complete)), replace=False))]
    figures = _predicted(network, frame, target, state)
    order = np.argsort(figures, kind="stable")
    # eight cases between the ends
    places = np.unique(np.linspace(0, len(order) - 1, 10).round().astype(int)[1:-1])
    observed = _outcome(table, target, state)

    cases += [
        Case(
            int(positions[row]),
            *_steps(network, frame.iloc[row], target, state, codings, needed, background),
            float(figures[row]),
            float(observed[row]),
        )
        for row in order[places]
    ]
    return tuple(cases)


def _steps(
    network: DiscretizedBayesNet,
    cells: pd.Series[Any],
    target: str,
    state: int | None,
    codings: Mapping[str, ValueGroups],
    needed: Sequence[str],
    background: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the steps of a row, and what to measure next; see `Case`."""
    known = [name for name in needed if not pd.isna(cells[name])]

    def answers(sets: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """Return the mean answer over the background with some cells fixed, (n_sets,)."""
        parts = []
        for of in sets:
            part = background.copy()
            for name, value in of.items():
                part[name] = [value] * len(part)
            parts.append(part)
        joined = pd.concat(parts, ignore_index=True).astype(background.dtypes)
        figures = _predicted(network, joined, target, state).reshape(len(sets), -1)
        return np.asarray(figures.mean(axis=1), np.float64)

    alone = answers([{}, *({name: cells[name]} for name in known)])
    order = [known[k] for k in np.argsort(-np.abs(alone[1:] - alone[0]), kind="stable")]
    sequence = [{name: cells[name] for name in order[: k + 1]} for k in range(len(order))]
    steps = pd.DataFrame(
        {
            "value": [_cell_text(cells[name], name) for name in order],
            "figure": answers(sequence) if sequence else np.empty(0),
        },
        index=order,
    )
    fixed = {name: cells[name] for name in order}
    records = {}
    for name in [name for name in needed if name not in known]:
        ends = answers([{**fixed, name: value} for value in codings[name].typical])
        records[name] = {"lowest": float(ends.min()), "highest": float(ends.max())}
    following = pd.DataFrame.from_dict(records, orient="index", columns=["lowest", "highest"])
    widths = following["highest"] - following["lowest"]
    return steps, following.loc[widths.sort_values(ascending=False, kind="stable").index]


def _cell_text(value: Any, name: str) -> str:
    """Return a cell as text, a number with four digits or as a date."""
    if not isinstance(value, float):
        return str(value)
    texts = date_texts(np.array([value]), name, 1.0)
    return f"{value:.4g}" if texts is None else texts[0]


def _verdicts(expert: ExpertNetwork, network: DiscretizedBayesNet, table: Table) -> pd.DataFrame:
    """Return what the rows say about every edge of an expert; see `Study`."""
    tested, n_rows = edge_verdicts(expert, table)
    found = {(row["parent"], row["child"]): row for row in tested.to_dict(orient="records")}
    reversible = set(network.cpdag().reversible)
    records = []
    for parent, child in expert.edges:
        row = found[parent, child]
        if (parent, child) in network.edges:
            of_network = HAS_ARROW
        elif (child, parent) in network.edges:
            of_network = "has the arrow the other way"
        else:
            of_network = "has no arrow between them"
        is_open = not reversible.isdisjoint([(parent, child), (child, parent)])
        direction = "rows cannot tell the direction" if is_open else ""
        records.append(
            {
                "parent": parent, "child": child, "verdict": VERDICTS[row["verdict"]], "p_value": row["p_value"],
                "p_weak": row["p_weak"], "network": of_network, "direction": direction, "rows": n_rows,
            }
        )  # fmt: skip
    return pd.DataFrame(records)
