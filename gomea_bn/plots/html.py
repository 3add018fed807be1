"""HTML of tables, networks, fronts and learners for notebooks: a heading, a drawing as SVG, and a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from gomea_bn.data.table import Column, Table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.formats.summary import counts_text
from gomea_bn.network.recorded import checks_text, ordered_parents
from gomea_bn.network.tables import edge_texts
from gomea_bn.plots.network_layout import network_layout
from gomea_bn.texts import counted, text_width

_MOST_NODES = 60
_MOST_ROWS = 60
_MOST_LABELS = 8
_MOST_LETTERS = 40
# pixels
_HEIGHT, _LAYER, _GAP, _MARGIN, _PADDING = 24, 58, 14, 8, 16


def page_part(title: str, details: str = "", *parts: str) -> str:
    """Return a division with a title in bold, details next to it, and parts that are HTML already."""
    heading = f"<b>{escape(title)}</b> {escape(details)}".rstrip()
    return f'<div style="font-family: sans-serif"><p>{heading}</p>{"".join(parts)}</div>'


def rows_html(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of texts, which are escaped; beyond 60 rows the last line says how many are left out."""
    all_rows = list(rows)
    head = "".join(f'<th style="text-align: left">{escape(column)}</th>' for column in columns)
    lines = [
        "".join(
            f'<td style="text-align: left">{escape(shortened(str(cell), 4 * _MOST_LETTERS))}</td>'
            for cell in row
        )
        for row in all_rows[:_MOST_ROWS]
    ]
    if len(all_rows) > _MOST_ROWS:
        lines.append(f'<td colspan="{len(columns)}">… and {len(all_rows) - _MOST_ROWS} more</td>')
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shortened(text: str, most: int = _MOST_LETTERS) -> str:
    """Return a text of at most `most` letters, the last one an ellipsis if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def table_html(table: Table) -> str:
    """Return a table of data as HTML: its size, and the kind, range and rule of every column."""
    rows = [(column.name, _kind(column), _range(column), column.reason) for column in table.columns]
    size = f"{counted(table.n_rows, 'row')}, {counted(len(table.columns), 'column')}"
    missing = f", {counted(table.n_missing, 'missing value')}" if table.n_missing else ""
    notes = "".join(f"<p>{escape(note.text(str))}</p>" for note in table.notes)
    return page_part("Table", size + missing, notes, rows_html(["column", "kind", "values", "rule"], rows))


def _kind(column: Column) -> str:
    if column.is_continuous:
        return "continuous"
    return "ordered" if column.ordered else "discrete"


def _range(column: Column) -> str:
    """Return the levels, or the smallest and the largest value."""
    if column.levels is not None:
        return _labels([str(level) for level in column.levels])
    low, high = column.observed.min(), column.observed.max()
    return " to ".join(edge_texts([low, high])) if low < high else f"{low:g}"


def _labels(labels: Sequence[str]) -> str:
    shown = ", ".join(shortened(label) for label in labels[:_MOST_LABELS])
    return shown + (f" and {len(labels) - _MOST_LABELS} more" if len(labels) > _MOST_LABELS else "")


def network_html(network: DiscretizedBayesNet) -> str:
    """Return a network as HTML: counts, its drawing, and bins or levels, parents and line of every variable."""
    known, counts = network.conditionals, counts_text(network)
    # further columns of texts by variable
    more: dict[str, dict[str, str]] = {}
    if known is not None:
        counts += f"; averaged over {counted(len(known.copies), 'set')} of cuts"
        more = {"weight of its line": {name: f"{line.weight:.2f}" for name, line in known.lines.items()}}
    rows = [
        (
            name,
            counted(network.cardinality(name), "bin" if name in network.cut_points else "level"),
            _labels(network.bin_labels(name)),
            ", ".join(map(shortened, ordered_parents(network, name))),
            *(texts.get(name, "") for texts in more.values()),
        )
        for name in network.names
    ]
    table = rows_html(["variable", "size", "bins or levels", "parents", *more], rows)
    drawing = network_svg(network.names, network.edges)
    checks = f"<p>{escape(text)}</p>" if (text := checks_text(network)) else ""
    variables = f"<details><summary>Variables</summary>{table}</details>"
    return page_part(type(network).__name__, counts, drawing, checks, variables)


def network_svg(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> str:
    """Return a graph in layers as an SVG element; one with more than 60 nodes as a sentence that says so."""
    if len(names) > _MOST_NODES:
        return f"<p>The drawing is left out: it would have {len(names)} nodes, more than {_MOST_NODES}.</p>"
    labels = {name: shortened(name) for name in names}
    widths = {name: text_width(label) + _PADDING for name, label in labels.items()}
    layout = network_layout(names, edges, widths=widths, gap=_GAP)
    places = {
        name: (x + _MARGIN, y * _LAYER + _MARGIN + _HEIGHT / 2) for name, (x, y) in layout["nodes"].items()
    }
    width = max(places[name][0] + widths[name] / 2 for name in names) + _MARGIN
    height = max(y for _, y in places.values()) + _HEIGHT / 2 + _MARGIN
    lines = []
    for parent, child in edges:
        bends = [(x + _MARGIN, y * _LAYER + _MARGIN + _HEIGHT / 2) for x, y in layout["bends"][parent, child]]
        (x, y), (u, v) = places[parent], places[child]
        sign = 1 if v > y else -1
        points = [(x, y + sign * _HEIGHT / 2), *bends, (u, v - sign * (_HEIGHT / 2 + 2))]
        path = " ".join(f"{'L' if k else 'M'}{a:.1f} {b:.1f}" for k, (a, b) in enumerate(points))
        lines.append(f'<path d="{path}" fill="none" stroke="#0072b2" marker-end="url(#gomea-bn-arrow)"/>')
    boxes = [
        f'<g><title>{escape(name)}</title><rect x="{x - widths[name] / 2:.1f}" y="{y - _HEIGHT / 2:.1f}" '
        f'width="{widths[name]:.1f}" height="{_HEIGHT}" rx="5" fill="#fff" stroke="#555"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="12.5" fill="#111">'
        f"{escape(labels[name])}</text></g>"
        for name, (x, y) in places.items()
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" style="max-width: 100%; height: auto">'
        '<defs><marker id="gomea-bn-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#0072b2"/></marker></defs>'
        f"{''.join(lines)}{''.join(boxes)}</svg>"
    )


def learner_html(learner: Any) -> str:
    """Return a learner of one network as HTML: its options, and after `fit` the search and the network."""
    if not hasattr(learner, "network_"):
        return page_part(repr(learner), "not fitted")
    figures = [
        ("score", f"{learner.score_:,.2f} nats"),
        ("evaluations", f"{learner.n_eval_:,}"),
        ("seconds", f"{learner.fit_seconds_:.1f}, the best network after {learner.time_to_best_:.1f}"),
        ("stopped by", learner.stopped_by_),
        ("seed", learner.seed_),
        ("rows", f"{learner.table_.n_rows:,}"),
    ]
    shown = network_html(learner.network_)
    return page_part(repr(learner), "", rows_html(["figure", "value"], figures), shown)


def front_html(front: Any) -> str:
    """Return a front as HTML: the objectives of its extreme networks, its knee, and the drawing of the knee."""
    names = list(front.names)
    chosen = {f"least {name}": front.best(name) for name in names}
    chosen["knee"] = front.knee()
    rows = [
        (
            label,
            candidate.index,
            *(f"{candidate.objectives[name]:,.4g}" for name in names),
            len(candidate.network.edges),
        )
        for label, candidate in chosen.items()
    ]
    knee = chosen["knee"].network
    return page_part(
        "Front",
        f"{counted(len(front), 'network')}, {counted(len(names), 'objective')}",
        rows_html(["network", "index", *names, "edges"], rows),
        "<p>The knee:</p>",
        network_svg(knee.names, knee.edges),
    )
