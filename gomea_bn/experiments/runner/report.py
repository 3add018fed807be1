"""What an experiment reports, as data: tables, figures, claims. `page` turns it into HTML and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from gomea_bn.experiments.runner.statistics import Claim, Finding, compare_samples, number, summarise

__all__ = [
    "Figure",
    "Panel",
    "Report",
    "Series",
    "Sheet",
    "by_net",
    "figure_of",
    "group_by",
    "rank_tests",
    "summary_sheet",
    "timed_out",
]


@dataclass(frozen=True)
class Sheet:
    """A table of texts."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Series:
    """One line of a panel: medians, perhaps between quartiles; dashed where it is published and not ours."""

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
    """Panels side by side, so many in a row; `name` is its file's."""

    name: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = 3


@dataclass(frozen=True)
class Report:
    """All that is told about an experiment's rows."""

    sheets: tuple[Sheet, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim | Finding, ...] = ()
    notes: tuple[str, ...] = ()


def group_by(
    rows: Iterable[Mapping[str, Any]], *names: str
) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Return rows by the values that their tasks have under some names, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row["task"][name] for name in names), []).append(row)
    return groups


def by_net(rows: Iterable[Mapping[str, Any]], name: str) -> dict[int, float]:
    """Return one measured number of rows by their repetition."""
    return {row["task"]["net"]: row["measured"][name] for row in rows}


def timed_out(rows: Sequence[Mapping[str, Any]]) -> int:
    """Return how many runs their limit of time ended, or a discretizer's within them."""
    return sum(
        row["measured"].get("stopped_by") == "max_seconds"
        or any(text.startswith("max_seconds ended") for text in row.get("warnings", ()))
        for row in rows
    )


def summary_sheet(
    heading: str,
    key_columns: Sequence[str],
    groups: Mapping[tuple[Any, ...], Sequence[float]],
    beside: Mapping[str, Callable[[tuple[Any, ...]], str]] | None = None,
    note: str = "",
) -> Sheet:
    """Return mean ± sd, median and quartiles of every group, with further columns computed from its key."""
    rows = []
    for key, values in groups.items():
        found = summarise(values)
        own = (str(found.n), found.spread, number(found.median), found.quartiles)
        rows.append((*map(str, key), *own, *(text(key) for text in (beside or {}).values())))
    columns = (*key_columns, "n", "mean ± sd", "median", "quartiles", *(beside or {}))
    return Sheet(heading, columns, tuple(rows), note)


def rank_tests(
    heading: str, key_column: str, groups: Mapping[Any, Mapping[str, Sequence[float]]], note: str = ""
) -> Sheet:
    """Return Mann-Whitney U tests of every pair of algorithms within every group.

    Parameters
    ----------
    heading, key_column : str
    groups : mapping
        From a setting to the values of every algorithm.
    note : str

    Notes
    -----
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
        found = compare_samples(first, second, len(pairs))
        tells = "too few to tell" if found.equal is None else "no" if found.equal else "yes"
        rows.append(
            (str(key), f"{a} / {b}", f"{found.u:g}", f"{found.share:.2f}", f"{found.p_value:.2g}", tells)
        )
    columns = (key_column, "pair", "U", "share above", "p, corrected", "differs at .05")
    told = f"Mann-Whitney U, two-sided; Bonferroni factor {len(pairs)}."
    return Sheet(heading, columns, tuple(rows), f"{told} {note}".strip())


def figure_of(
    label: str, groups: Mapping[float, Sequence[float]], *, published: Mapping[float, float] | None = None
) -> tuple[Series, ...]:
    """Return the line of medians between quartiles over x, and the published one beside it."""
    x = tuple(sorted(groups))
    found = [summarise(groups[one]) for one in x]
    own = Series(
        label,
        x,
        tuple(one.median for one in found),
        tuple(one.low for one in found),
        tuple(one.high for one in found),
    )
    at = tuple(one for one in x if published and one in published)
    if not published or not at:
        return (own,)
    return own, Series(f"{label}, published", at, tuple(published[one] for one in at), dashed=True)
