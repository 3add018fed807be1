"""A summary of a network as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gomea_bn.data.event_times import Censoring, done_text, recorded_censoring
from gomea_bn.errors import GomeaBnError, check_integer, is_integer, is_real, mapping_in
from gomea_bn.network.conditionals.conditionals import INTERVAL, with_cut
from gomea_bn.network.recorded import TARGET, checks_text, cut_short_text, ordered_parents
from gomea_bn.network.tables import MOST_SHOWN_CELLS, value_texts
from gomea_bn.texts import amount, counted, listed, percent, shown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gomea_bn.network.recorded import NetworkLike

_SHOWN_BINS = 6
# of a short text
_MOST_CHILDREN, _MOST_PARENTS = 10, 6


def counts_text(network: NetworkLike) -> str:
    """Return the numbers of variables, edges, bins and free parameters of a network in words."""
    n_bins = sum(len(cuts) + 1 for cuts in network.cut_points.values())
    return (
        f"{counted(len(network.names), 'variable')} ({len(network.cut_points)} continuous, "
        f"{len(network.levels)} discrete), {counted(len(network.edges), 'edge')}, {counted(n_bins, 'bin')}, "
        f"{counted(network.n_parameters, 'free parameter')}"
    )


def to_text(
    network: NetworkLike,
    cut_gains: Mapping[str, NDArray[np.float64]] | None = None,
    *,
    max_table_cells: int = MOST_SHOWN_CELLS,
) -> str:
    """Return a text with counts, then one paragraph per variable, then the edges and which of them are reversible.

    A paragraph has the bins or levels, how a continuous variable is distributed inside its bins, the nats that each of
    its cuts gains if they are given, the parents, and their effects in place of a table of more than `max_table_cells`.
    """
    from gomea_bn.network.bin_distributions import points_text
    from gomea_bn.network.edges import equivalence_class
    from gomea_bn.network.effects import known_words, shows_effects

    check_integer("max_table_cells", max_table_cells, 0)
    edges, of_cuts = network.edges, mapping_in("cut_gains", cut_gains)
    lines = [counts_text(network), ""]
    shown_names = {name: shown_name(name) for name in network.names}
    width = max(map(len, shown_names.values()))
    for name in network.names:
        unit = "bin" if name in network.cut_points else "level"
        labels = network.bin_labels(name)
        shown = " ".join(labels[:_SHOWN_BINS]) + (" …" if len(labels) > _SHOWN_BINS else "")
        lines.append(f"{shown_names[name]:<{width}}  {counted(len(labels), unit):>9}  {shown}")
        details = []
        if name in network.cut_points:
            shape = network.shapes.get(name)
            inside = "uniform inside" if shape is None else "shape of its column inside"
            points = f"; {points_text(shape.points)}" if shape is not None and shape.points else ""
            details = [f"{inside}{points}"]
        gains = of_cuts.get(name)
        if gains is not None or name in network.cut_points:
            details += _of_cuts(network, name, gains)
        if network.conditionals is not None and (stack := network.conditionals.stacks[name]).smooth:
            details.append(stack.words)
        if parents := [shown_names[parent] for parent in ordered_parents(network, name)]:
            has_effects = shows_effects(network, name, max_table_cells)
            known = network.column_effects(name).sentence if has_effects else known_words(network, name)
            details += [f"given {listed(parents)}", known, _curves(network, name)]
        lines += [f"{'':<{width}}  {'':>9}  {detail}" for detail in details if detail]
    if edges:
        reversible = equivalence_class(network).reversible
        lines += [
            "",
            "Edges (the data cannot tell the direction of reversible ones):" if reversible else "Edges:",
        ]
        for parent, child in edges:
            mark = " (reversible)" if (parent, child) in reversible else ""
            lines.append(f"  {shown_names[parent]} → {shown_names[child]}{mark}")
    lines += _left_out(network)
    return "\n".join(lines)


def to_short_text(network: NetworkLike) -> str:
    """Return at most a screen: counts, columns with their parents, the target first, those without relations, notes."""
    names = {name: shown_name(name) for name in network.names}
    joined = {name for edge in network.edges for name in edge}
    lines = [f"{counted(len(names), 'column')}, {counted(len(network.edges), 'edge')}."]
    children = sorted(
        (name for name in network.names if network.parents(name)),
        key=lambda name: (name != network.metadata.get(TARGET), -len(network.parents(name))),
    )
    lines += [
        f"  {names[name]} goes with {listed([names[of] for of in ordered_parents(network, name)], _MOST_PARENTS)}"
        for name in children[:_MOST_CHILDREN]
    ]
    if len(children) > _MOST_CHILDREN:
        lines.append(f"  … and {counted(len(children) - _MOST_CHILDREN, 'more column')} with their own")
    if alone := [names[name] for name in network.names if name not in joined]:
        lines.append(f"Unrelated to all others: {listed(alone, _MOST_CHILDREN)}.")
    record = network.metadata.get("left_out_edges")
    if isinstance(record, Mapping) and isinstance(record.get("edges"), (list, tuple)) and record["edges"]:
        edges = [f"{shown_name(str(parent))} → {shown_name(str(child))}" for parent, child in record["edges"]]
        lines.append(
            f"Left out, since rows that were left out do not need them: {listed(edges, _MOST_PARENTS)}."
        )
    return "\n".join([*lines, *filter(None, [evidence_text(network)])])


def evidence_text(network: NetworkLike) -> str:
    """Return the sentence on rows that the search did not count as the tables do: by weight, or copies; "" if none."""
    weights, copies = network.metadata.get("weights"), network.metadata.get("copies")
    groups = network.metadata.get("groups")
    if isinstance(groups, Mapping) and all(
        is_integer(groups.get(name)) for name in ("groups", "rows", "searched")
    ):
        of_groups = f"{counted(groups['groups'], 'group')} of {groups['rows']:,} rows by {groups['column']!r}"
        if groups["searched"] == groups["rows"]:
            return f"The rows of {of_groups} are hardly more alike than others: all are evidence."
        return (
            f"Rows of a group are no independent observations: of {of_groups}, {groups['searched']:,} rows drawn at "
            "random are evidence for edges and cuts."
        )
    if isinstance(weights, Mapping) and all(is_integer(weights.get(name)) for name in ("rows", "searched")):
        rows = counted(weights["rows"], "row")
        counted_rows = "all by weight" if "sum" in weights else "these"
        further = ", and further rows" if network.metadata.get("updates") else ""
        return (
            f"Graph and cuts come from {weights['searched']:,} of {rows}, chosen by weight; tables count "
            f"{counted_rows}{further}."
        )
    if isinstance(copies, Mapping) and all(is_integer(copies.get(name)) for name in ("rows", "evidence")):
        n_rows, n_copies = copies["rows"], copies["rows"] - copies["evidence"]
        return (
            f"{counted(n_copies, 'row')} of {n_rows:,} ({percent(n_copies / n_rows)}) repeat others more often than "
            f"chance explains. They are no evidence for edges and cuts; tables and densities count them."
        )
    return ""


def _outcome_text(network: NetworkLike) -> str:
    """Return the sentence on the times until an event that the target of a network comes from; "" if there are none."""
    record = recorded_censoring(network.metadata.get("censoring"))
    return "" if record is None else done_text(str(network.metadata.get(TARGET)), Censoring(**record))


def _left_out(network: NetworkLike) -> list[str]:
    """Return lines on the edges that the learner has left out, and on rows that were no evidence for it."""
    lines = []
    record = network.metadata.get("left_out_edges")
    if isinstance(record, Mapping) and is_real(record.get("nats")) and is_real(record.get("error")):
        edges = [f"{shown_name(str(parent))} → {shown_name(str(child))}" for parent, child in record["edges"]]
        best = record.get("best_score")
        score = f", {best:.3f} nats," if is_real(best) else ""
        verb = "gain" if record["nats"] >= 0 else "lose"
        lines += [
            "",
            f"Left out: {listed(edges)}. The best score{score} has "
            f"{'it' if len(edges) == 1 else 'them'}; left-out rows {verb} {amount(abs(record['nats']))} nats a row, "
            f"with a standard error of {amount(record['error'])}.",
        ]
    for text in filter(
        None, (_outcome_text(network), evidence_text(network), cut_short_text(network), checks_text(network))
    ):
        lines += ["", text]
    return lines


def _of_cuts(network: NetworkLike, name: str, gains: NDArray[np.float64] | None) -> list[str]:
    """Return the nats that the cuts of a variable gain, how sure the cuts are, and their intervals, as far as known."""
    cuts, (low, high) = network.cut_points[name].tolist(), network.support[name]
    if gains is not None and len(gains) != len(cuts):
        raise GomeaBnError(
            f"cut_gains['{name}'] must have one number for each of {counted(len(cuts), 'cut')}, got {len(gains)}."
        )
    if not cuts:
        return []
    # as in the labels of the bins
    texts = value_texts(name, [low, *cuts, high])[1:-1]
    more = " …" if len(cuts) > _SHOWN_BINS else ""
    known = network.conditionals
    details: list[str] = []
    if gains is not None:
        parts = [f"{_gain_text(float(gain))} at {text}" for gain, text in zip(gains, texts, strict=True)]
        nouns = "cuts" if len(cuts) > 1 else "the cut"
        details.append(f"nats gained by {nouns}: {listed(parts[:_SHOWN_BINS])}{more}")
    if known is not None and name in known.cut_probabilities:
        shares = known.cut_probabilities[name].tolist()
        parts = [f"{percent(share)} at {text}" for share, text in zip(shares, texts, strict=True)]
        details.append(f"probability of a cut: {listed(parts[:_SHOWN_BINS])}{more}")
    if known is not None and name in known.cut_intervals:
        parts = []
        for text, cut, ends in zip(texts, cuts, known.cut_intervals[name].tolist(), strict=True):
            least, most = with_cut(ends[0], ends[1], cut)
            # the cuts of the best score need not be central, each on its own
            sure = percent(INTERVAL) if [least, most] == ends else f"at least {percent(INTERVAL)}"
            between = f"{sure} between {' and '.join(value_texts(name, [least, most]))}"
            parts.append(f"cut {text}, {between if least < most else 'fixed'}")
        details.append(f"{'; '.join(parts[:_SHOWN_BINS])}{more}")
    return details


def _gain_text(gain: float) -> str:
    """Return the nats that a cut gains, such as "12.3", or "0.4 lost" for one without which the score is higher."""
    size = f"{abs(gain):.1f}"
    return f"{size} lost" if gain < 0 and float(size) else size


def _curves(network: NetworkLike, name: str) -> str:
    """Return by how much curves of the parents are better than the table of a variable, "" if they are not."""
    record = network.metadata.get("curves")
    of_variable = record.get(name) if isinstance(record, Mapping) else None
    if not isinstance(of_variable, Mapping) or not is_real(of_variable.get("nats")):
        return ""
    follows = (
        "smooth curves of these are"
        if name in network.cut_points
        else "a logistic regression on curves of these is"
    )
    nats = f"{of_variable['nats']:.1f}"
    return f"{follows} {f'{nats} nats better than' if float(nats) else 'as good as'} a table of counts"
