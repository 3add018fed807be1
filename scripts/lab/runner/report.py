"""The report of an experiment as data: tables, figures and claims. `page` writes it as Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

from lab.runner.statistics import Claim, Finding, compare_samples, number, summarise

Record: TypeAlias = dict[str, Any]
"""Measured values of one method, where a task measures several."""

Text: TypeAlias = Callable[[tuple[Any, ...]], str]
Cells: TypeAlias = Mapping[tuple[Any, ...], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Sheet:
    """A table of texts."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def sheet(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> Sheet:
    """Return a table of the texts of its cells."""
    return Sheet(heading, tuple(columns), tuple(tuple(map(str, row)) for row in rows), note)


@dataclass(frozen=True)
class Series:
    """One line of a panel: medians, perhaps with quartiles; dashed if it is published and not ours."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """The axes of one quantity."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side, `columns` in a row; `name` is the name of its file."""

    name: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = 3


@dataclass(frozen=True)
class Report:
    """Tables, figures, claims and notes of an experiment."""

    sheets: tuple[Sheet, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim | Finding, ...] = ()
    notes: tuple[str, ...] = ()


def group_by(
    rows: Iterable[Mapping[str, Any]], *names: str
) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Return rows by the values of some names of their tasks, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row["task"][name] for name in names), []).append(row)
    return groups


def measured_records(rows: Sequence[Mapping[str, Any]]) -> list[Record]:
    """Return the values of all methods that rows measured as "records"."""
    return [record for row in rows for record in row["measured"]["records"]]


def by_method(of_rows: Sequence[Record]) -> dict[str, list[Record]]:
    """Return records by the names of their methods, in order of appearance."""
    groups: dict[str, list[Record]] = {}
    for record in of_rows:
        groups.setdefault(record["method"], []).append(record)
    return groups


def values_of(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return one measured number of rows."""
    return [row["measured"][name] for row in rows]


def mean_text(cells: Cells, name: str) -> Text:
    """Return the function from the key of a cell to the mean of one measured number."""
    return lambda key: number(summarise(values_of(cells[key], name)).mean)


def median_text(cells: Cells, name: str, part: str = "measured") -> Text:
    """Return the function from the key of a cell to the median of one number, "-" if no row has it."""

    def text(key: tuple[Any, ...]) -> str:
        values = [row[part][name] for row in cells[key] if row[part].get(name) is not None]
        return number(summarise(values).median) if values else "-"

    return text


def by_net(rows: Iterable[Mapping[str, Any]], name: str) -> dict[int, float]:
    """Return one measured number of rows by repetition."""
    return {row["task"]["net"]: row["measured"][name] for row in rows}


def nested(groups: Mapping[tuple[Any, Any], Sequence[float]]) -> dict[Any, dict[str, Sequence[float]]]:
    """Return values by pairs of a setting and a name as values by name, by setting."""
    by_setting: dict[Any, dict[str, Sequence[float]]] = {}
    for (setting, name), values in groups.items():
        by_setting.setdefault(setting, {})[name] = values
    return by_setting


def timed_out(rows: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of runs that were ended by the clock, or whose discretizer was."""
    return sum(
        row["measured"].get("stopped_by") == "max_seconds"
        or any(text.startswith("max_seconds ended") for text in row.get("warnings", ()))
        for row in rows
    )


def summary_sheet(
    heading: str,
    key_columns: Sequence[str],
    groups: Mapping[tuple[Any, ...], Sequence[float]],
    more_columns: Mapping[str, Text] | None = None,
    note: str = "",
) -> Sheet:
    """Return mean ± sd, median and quartiles of every group, and further columns that are computed from its key."""
    rows = []
    for key, values in groups.items():
        summary = summarise(values)
        cells = (str(summary.n), summary.spread, number(summary.median), summary.quartiles)
        rows.append((*map(str, key), *cells, *(text(key) for text in (more_columns or {}).values())))
    columns = (*key_columns, "n", "mean ± sd", "median", "quartiles", *(more_columns or {}))
    return Sheet(heading, columns, tuple(rows), note)


def rank_tests(heading: str, key_column: str, groups: Mapping[Any, Mapping[str, Sequence[float]]]) -> Sheet:
    """Return Mann-Whitney U tests of every pair of algorithms within every group of values by algorithm.

    The Bonferroni factor is the number of tests in the table.
    """
    pairs = [
        (key, a, b, values[a], values[b])
        for key, values in groups.items()
        for a, b in combinations(values, 2)
        if values[a] and values[b]
    ]
    rows = []
    for key, a, b, first, second in pairs:
        test = compare_samples(first, second, len(pairs))
        differs = "too few to tell" if test.equal is None else "no" if test.equal else "yes"
        rows.append(
            (str(key), f"{a} / {b}", f"{test.u:g}", f"{test.share:.2f}", f"{test.p_value:.2g}", differs)
        )
    columns = (key_column, "pair", "U", "share above", "p, corrected", "differs at .05")
    note = f"Mann-Whitney U, two-sided; Bonferroni factor {len(pairs)}."
    return Sheet(heading, columns, tuple(rows), note)


def figures_of(
    groups: Mapping[tuple[Any, Any], Sequence[float]],
    published: Mapping[str, Mapping[float, float]] | None = None,
) -> tuple[Series, ...]:
    """Return the medians and quartiles of every name over x, of values by (x, name), and published values by x."""
    series: list[Series] = []
    for name in dict.fromkeys(name for _, name in groups):
        x = tuple(sorted(x for x, other in groups if other == name))
        summaries = [summarise(groups[size, name]) for size in x]
        medians, lows, highs = zip(*((each.median, each.low, each.high) for each in summaries), strict=True)
        series.append(Series(name, x, medians, lows, highs))
        of_name = (published or {}).get(name, {})
        if known := tuple(size for size in x if size in of_name):
            y = tuple(of_name[size] for size in known)
            series.append(Series(f"{name}, published", known, y, dashed=True))
    return tuple(series)
