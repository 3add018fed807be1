"""Networks as others read them: the protocol of their members, and what their metadata record.

Files may hold any metadata, so whatever is not as expected is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import is_integer, is_real
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.conditionals import CellGrids, WithDensities
from gomea_bn.network.matched_rows import ROW_COUNTS, RowSource
from gomea_bn.network.tables import bin_texts
from gomea_bn.runtime.fit_clock import SEARCH
from gomea_bn.texts import counted, listed, percent, shown_name


class NetworkLike(WithDensities, Protocol):
    """The read-only members of a discretized network; `DiscretizedBayesNet` documents them."""

    @property
    def order(self) -> tuple[str, ...]:
        """Names of the variables with every parent before its children."""

    @property
    def counts(self) -> Mapping[str, NDArray[np.float64]]:
        """Number of rows of the cells of counted tables; empty if unknown."""

    @property
    def cell_grids(self) -> CellGrids:
        """Cells of the columns of a network with conditionals, and its tables over them."""

    @property
    def row_source(self) -> RowSource | None:
        """Rows to set next to answers."""

    def column_effects(self, name: str) -> Any:
        """Return the `ColumnEffects` of a variable."""

    def discretize(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return bin or level codes of rows."""

    def log_density_terms(
        self, frame: pd.DataFrame, of: Collection[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Return ln p(variable | parents) of rows without missing cells, by variable, of all or some variables."""

    def with_fewer_parents(self, parents: Mapping[str, Sequence[str]]) -> NetworkLike:
        """Return the network of tables in which some variables have some of their parents."""

    def sample(self, n: int, random_state: int | None = None, *, values: str = "own") -> pd.DataFrame:
        """Return rows drawn from the network."""


def fixed_columns(network: NetworkLike) -> frozenset[str]:
    """Return the names of the columns whose cuts a user has fixed."""
    return _names(network.metadata.get("fixed_cut_points"))


def counted_parents(network: NetworkLike) -> list[tuple[str, ...]]:
    """Return the parents by which rows of every variable are counted into tables, in column order.

    These are all parents of most variables. Of a variable that follows curves the search has recorded those that its
    table needs, since counts over all of them would be sparse.
    """
    record = network.metadata.get("curves")
    chosen = []
    for name in network.names:
        parents = network.parents(name)
        of_name = record.get(name) if isinstance(record, Mapping) else None
        if isinstance(of_name, Mapping) and isinstance(of_name.get("table_parents"), list):
            parents = tuple(parent for parent in parents if parent in of_name["table_parents"])
        chosen.append(parents)
    return chosen


def parents_by_gain(network: NetworkLike) -> dict[str, list[tuple[str, float]]]:
    """Return parents of every variable with the nats of the score that each adds to those before it, best ones first.

    They are those that the search has recorded; none are recorded of required edges, and in files of other programs.
    """
    record = network.metadata.get("parents")
    found: dict[str, list[tuple[str, float]]] = {name: [] for name in network.names}
    for name, of_name in found.items():
        entries = record.get(name) if isinstance(record, Mapping) else None
        parents = network.parents(name)
        for entry in entries if isinstance(entries, (list, tuple)) else ():
            if (
                isinstance(entry, (list, tuple))
                and len(entry) == 2
                and entry[0] in parents
                and is_real(entry[1])
            ):
                of_name.append((str(entry[0]), float(entry[1])))
    return found


TARGET = "target"
"""Entry of a network's metadata, which a fit for a target writes: its name."""


def recorded_target(network: NetworkLike) -> str | None:
    """Return the column whose parents left-out rows have chosen, which the network predicts; None without one."""
    name = network.metadata.get(TARGET)
    return name if isinstance(name, str) and name in network.names else None


FAMILY_SCORES = "families"
"""Entry of a network's metadata, which a fit writes: the part of every column in the score."""


def family_scores(network: NetworkLike) -> dict[str, float]:
    """Return the recorded score of every variable given its parents, in nats; empty if they do not sum to the score."""
    record: Any = network.metadata.get(FAMILY_SCORES)
    score: Any = network.metadata.get("score")
    if not isinstance(record, Mapping) or set(record) != set(network.names):
        return {}
    # nats by which a sum of scores may differ from that of the search
    if not all(map(is_real, (score, *record.values()))) or abs(sum(record.values()) - score) > 1e-6:
        return {}
    return {name: float(record[name]) for name in network.names}


def ordered_parents(network: NetworkLike, name: str) -> tuple[str, ...]:
    """Return all parents of a variable, those of `parents_by_gain` first and in their order."""
    parents = network.parents(name)
    first = [parent for parent, _ in parents_by_gain(network)[name]]
    return (*first, *(parent for parent in parents if parent not in first))


def known_text(network: NetworkLike, name: str) -> str:
    """Return how many parents carry how much of the score that all add, such as "3 of 6 parents carry 96 % ...".

    It is "" where all parents are needed for nine tenths, and where the gain of a parent is not recorded.
    """
    gains = [max(gain, 0.0) for _, gain in parents_by_gain(network)[name]]
    n_parents, total = len(network.parents(name)), sum(gains)
    if len(gains) < n_parents or not total:
        return ""
    # share of what all parents add
    n_needed = next(n for n in range(1, n_parents + 1) if sum(gains[:n]) >= 0.9 * total)
    if n_needed == n_parents:
        return ""
    share = percent(sum(gains[:n_needed]) / total)
    verb = "carries" if n_needed == 1 else "carry"
    return f"{n_needed} of {counted(n_parents, 'parent')} {verb} {share} of what is known of it"


def columns_of_expert_fit(expert: NetworkLike, entry: str) -> frozenset[str]:
    """Return the names of the columns that `ExpertNetwork.fitted` records in an entry, such as "not_mentioned"."""
    fit = expert.metadata.get("expert_fit")
    return _names(fit.get(entry)) if isinstance(fit, Mapping) else frozenset()


def _names(entry: Any) -> frozenset[str]:
    is_list = isinstance(entry, (list, tuple))
    return frozenset(name for name in entry if isinstance(name, str)) if is_list else frozenset()


def left_out_loss(network: NetworkLike) -> float | None:
    """Return minus the mean log density of a row that is left out of what the columns follow, in nats and their units.

    None without conditionals, and where a column has no such loss.
    """
    known = network.conditionals
    if known is None or set(known.log_losses) != set(network.names):
        return None
    return sum(mean for _, mean, _ in known.log_losses.values())


STABILITY_WORDS = "stability_in_words"
"""Entry of a network's metadata, which `Stability.recorded_network` writes."""


def recorded_stability(network: NetworkLike) -> list[str]:
    """Return the paragraphs on what stays and what moves in repeated searches; none if none or others were recorded."""
    words = network.metadata.get(STABILITY_WORDS)
    return [text for text in words if isinstance(text, str)] if isinstance(words, list) else []


EDGE_PROBABILITIES = "edge_probabilities"
"""Entry of a network's metadata, which `EdgeProbabilities.recorded_network` writes."""


class EdgeProbability(NamedTuple):
    """Posterior probability of an edge in its direction, and of an edge in either direction."""

    arc: float
    adjacent: float


def recorded_edge_probabilities(network: NetworkLike) -> dict[tuple[str, str], EdgeProbability]:
    """Return the recorded probabilities of the edges of a network; empty if none were recorded.

    Edges that only curves need have none. Damaged entries are left out.
    """
    record = network.metadata.get(EDGE_PROBABILITIES)
    if not isinstance(record, dict) or not isinstance(record.get("pairs"), list):
        return {}
    arcs: dict[tuple[str, str], float] = {}
    for pair in record["pairs"]:
        is_named = isinstance(pair, list) and len(pair) == 4 and all(isinstance(n, str) for n in pair[:2])
        if is_named and all(is_real(value) and 0 <= value <= 1 for value in pair[2:]):
            arcs[pair[0], pair[1]], arcs[pair[1], pair[0]] = map(float, pair[2:])
    counted = {
        (parent, child)
        for child, parents in zip(network.names, counted_parents(network), strict=True)
        for parent in parents
    }
    probabilities = {}
    for parent, child in network.edges:
        if (parent, child) in counted:
            arc, reverse = arcs.get((parent, child), 0.0), arcs.get((child, parent), 0.0)
            probabilities[parent, child] = EdgeProbability(arc, min(arc + reverse, 1.0))
    return probabilities


FEWER_CELLS = "fewer_cells"
"""Entry of a column in the record "curves": its table scores more, but has too many cells for a front's objectives."""

CUT_SHORT = "cut_short"
"""Entry of a network's metadata, which a fit writes: what its time limit cut short."""


def cut_short_text(network: NetworkLike) -> str:
    """Return a sentence on what the time limit of a fit cut short, "" if nothing."""
    names = network.metadata.get(CUT_SHORT)
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return ""
    # the search has a sentence of its own
    others = [shown_name(name) for name in names if name != SEARCH]
    parts = ["ended the search before it was done"] if SEARCH in names else []
    parts += [f"cut short: {listed(others)}"] if others else []
    return f"The time limit of the fit {' and '.join(parts)}."


CHECKS = "checks"
"""Entry of a network's metadata, which a fit writes: pairs of columns that are off the rows."""
OF_ROWS = (CHECKS, ROW_COUNTS)
"""Entries of the metadata that set rows next to a network, and that no changed network has."""


class Checks(NamedTuple):
    """Number of compared pairs of columns, number of those that are off, and the rows of `checks` of the worst ones."""

    n_pairs: int
    n_off: int
    worst: list[dict[str, Any]]


def recorded_checks(network: NetworkLike) -> Checks | None:
    """Return what the comparison of all pairs of columns with the rows has found; None if there is no record of it.

    Tables that were counted anew for the graph and the cuts of a network have its metadata, and no conditionals.
    """
    record = None if network.conditionals is None else network.metadata.get(CHECKS)
    if not isinstance(record, dict) or not isinstance(record.get("worst"), list):
        return None
    if not all(is_integer(record.get(number)) for number in ("pairs", "off")):
        return None
    cuts = _cell_cuts(network, record.get("cut_points", {}))
    worst = [_pair(network, entry, cuts) for entry in record["worst"]]
    return Checks(record["pairs"], record["off"], [pair for pair in worst if pair])


MISFITS = "misfits"
"""Part of the entry `CHECKS`: the misfit of every compared column."""


def recorded_misfits(network: NetworkLike) -> dict[str, float]:
    """Return by column how far its probabilities given another column are from those of new rows; empty if unknown.

    They are shares of a standard deviation: a misfit of .1 is an error of .1 sqrt(p (1 - p)) of a probability p.
    """
    record = None if network.conditionals is None else network.metadata.get(CHECKS)
    misfits = record.get(MISFITS) if isinstance(record, Mapping) else None
    if not isinstance(misfits, Mapping):
        return {}
    return {
        name: float(misfits[name])
        for name in network.names
        if is_real(misfits.get(name)) and 0 <= misfits[name] < np.inf
    }


def _cell_cuts(network: NetworkLike, content: Any) -> dict[str, NDArray[np.float64]]:
    """Return the recorded cuts of columns in one shown bin, over whose cells they were compared; no damaged ones."""
    cuts = {}
    for name, of_column in content.items() if isinstance(content, dict) else ():
        if name in network.support and isinstance(of_column, list) and all(map(is_real, of_column)):
            ends = np.array([network.support[name][0], *of_column, network.support[name][1]], np.float64)
            if (np.diff(ends) > 0).all():
                cuts[name] = ends[1:-1]
    return cuts


def _pair(network: NetworkLike, entry: Any, cuts: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return the recorded worst cell of a pair, with its cells or levels as text; empty if it is damaged."""
    columns, cells = (entry.get(key) if isinstance(entry, dict) else None for key in ("columns", "cells"))
    if not (isinstance(columns, list) and isinstance(cells, list) and len(columns) == len(cells) == 2):
        return {}
    numbers = {key: entry.get(key) for key in ("rows", "network", "standard_error")}
    if not all(name in network.names for name in columns) or not all(map(is_real, numbers.values())):
        return {}
    pair: dict[str, Any] = {}
    for place, name, cell in zip(("first", "second"), columns, cells, strict=True):
        labels = (
            bin_texts(name, cuts[name], network.support[name]) if name in cuts else network.bin_labels(name)
        )
        if not (is_integer(cell) and 0 <= cell < len(labels)):
            return {}
        pair |= {place: name, f"{place}_bin": labels[cell]}
    return pair | numbers


def pair_text(network: NetworkLike, pair: Mapping[str, Any]) -> str:
    """Return a row of `checks` in words: the cell, its shares of the rows and by the network, and a missing edge."""
    first, second = (f"{shown_name(pair[place])} {pair[f'{place}_bin']}" for place in ("first", "second"))
    columns = pair["first"], pair["second"]
    without = "" if {columns, columns[::-1]} & set(network.edges) else ", with no edge between them"
    return (
        f"{first} and {second}, {percent(pair['rows'])} of the rows and {percent(pair['network'])} by the network"
        f"{without}"
    )


def checks_text(network: NetworkLike) -> str:
    """Return the sentence on how well pairs of columns agree with the rows; "" if they were not compared."""
    checks = recorded_checks(network)
    if checks is None or not checks.n_pairs:
        return ""
    pairs, within = counted(checks.n_pairs, "pair"), "the rows within four standard errors"
    if not checks.n_off:
        subject = f"All {pairs} of columns" if checks.n_pairs > 1 else "The two columns"
        return f"{subject} agree with {within}."
    verb = "does" if checks.n_off == 1 else "do"
    # pairs that a sentence names
    worst = "; ".join(pair_text(network, pair) for pair in checks.worst[:3])
    return f"{checks.n_off:,} of {pairs} of columns {verb} not agree with {within}. Farthest off: {worst}."
