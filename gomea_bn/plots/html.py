"""HTML of tables, networks, fronts and learners for notebooks: a heading, a drawing as SVG, and a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from gomea_bn.data.dates import name_in_words
from gomea_bn.data.table import Column, Table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.effects import ColumnEffects, ParentEffect, shows_effects
from gomea_bn.network.explanations import Explanation
from gomea_bn.network.formats.summary import counts_text
from gomea_bn.network.inference.row_notes import RowFigure, farthest_figures
from gomea_bn.network.recorded import checks_text, ordered_parents, recorded_target
from gomea_bn.network.tables import edge_texts, value_texts
from gomea_bn.plots.effects import MOST_ABREAST, MOST_PANELS
from gomea_bn.plots.network_layout import network_layout
from gomea_bn.texts import counted, percent, text_width

MOST_NODES = 60
_MOST_ROWS = 60
_MOST_LABELS = 8
_MOST_LETTERS = 40
# pixels of a panel of an effect: its width, the height of its drawing, and the room above, below and at its left
_PANEL, _TALL, _ABOVE, _BELOW, _LEFT = 150, 92, 18, 20, 44
# pixels of the bars of rows below a drawing
_ROWS = 16
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# pixels of a graph: boxes, the distance of layers and of neighbours, the border, and the padding of texts
HEIGHT, _LAYER, _GAP, _MARGIN, _PADDING = 24, 58, 14, 8, 16

Points = list[tuple[float, float]]


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
    """Return a network as HTML: counts, its drawing, bins or levels and parents of every variable, and effects."""
    known, counts = network.conditionals, counts_text(network)
    # further columns of texts by variable
    more: dict[str, dict[str, str]] = {}
    if known is not None:
        if known.n_sets:
            counts += f"; averaged over {counted(known.n_sets, 'set')} of cuts"
        smooth = {name: stack.smooth_weight for name, stack in known.stacks.items() if stack.smooth}
        more = {"weight of effects": {name: f"{weight:.2f}" for name, weight in smooth.items()}}
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
    further = (variables, effects_html(network), _rows_next_to_target(network))
    return page_part(type(network).__name__, counts, drawing, checks, *further)


def explanation_html(explanation: Explanation) -> str:
    """Return what an answer rests on as HTML: its sentences, with what the rows say, and what it depends on, folded."""
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in explanation.sentences)
    tables = f"<details><summary>Tables</summary><pre>{escape(str(explanation))}</pre></details>"
    return page_part(f"Explanation of {name_in_words(explanation.target)}", "", sentences, tables)


def figures_html(network: DiscretizedBayesNet, target: str, figures: Iterable[RowFigure]) -> str:
    """Return figures of a network about a target next to those of its rows as a table."""
    labels = network.bin_labels(target)
    rows = [
        (
            f"{name_in_words(figure.column)} {network.bin_labels(figure.column)[figure.given]}",
            f"{name_in_words(target)} {labels[figure.state]}",
            f"{100 * figure.network:.1f} %",
            f"{100 * figure.share:.1f} % of {figure.rows:,.0f}",
            "differ by more than chance" if figure.differs else "",
        )
        for figure in figures
    ]
    return rows_html(["given", "probability of", "network", "rows", ""], rows)


def _rows_next_to_target(network: DiscretizedBayesNet) -> str:
    """Return what network and rows say about the target given each of its neighbours, folded; "" without either."""
    target = recorded_target(network)
    if target is None or network.row_source is None:
        return ""
    # columns with figures of the rows
    near = [*ordered_parents(network, target), *network.children(target)][:10]
    state = 1 if len(network.levels.get(target, ())) == 2 else None
    figures = farthest_figures(network, target, near, state)
    if not figures:
        return ""
    title = f"{escape(name_in_words(target))} next to the rows, where they are farthest apart"
    return f"<details><summary>{title}</summary>{figures_html(network, target, figures)}</details>"


def effects_html(network: DiscretizedBayesNet) -> str:
    """Return a sentence and a drawing of effects for every variable that shows them, folded; "" without one."""
    shown = [network.column_effects(name) for name in network.names if shows_effects(network, name)]
    parts = [
        f"<p><b>{escape(shortened(effects.name))}</b>: {escape(effects.sentence)}.</p>{effects_svg(network, effects)}"
        for effects in shown[:_MOST_ROWS]
    ]
    return f"<details><summary>Effects of parents</summary>{''.join(parts)}</details>" if parts else ""


def effects_svg(network: DiscretizedBayesNet, effects: ColumnEffects) -> str:
    """Return the effects of parents as an SVG element, one panel per parent; see `gomea_bn.plots.plot_effect`."""
    shown, outcomes = effects.effects[:MOST_PANELS], effects.shown_outcomes[:6]
    has_band = len(outcomes) == 1
    ends = [(one.lows, one.highs) if has_band else (one.means, one.means) for one in shown]
    low = min(float(lows[:, list(outcomes)].min()) for lows, _ in ends)
    high = max(float(highs[:, list(outcomes)].max()) for _, highs in ends)
    n_lines = ceil(len(shown) / MOST_ABREAST)
    n_abreast = ceil(len(shown) / n_lines)
    tall = _ABOVE + _TALL + _ROWS + _BELOW
    key = HEIGHT if len(outcomes) > 1 else 0
    width, height = _LEFT + n_abreast * _PANEL, n_lines * tall + key
    panels = []
    for k, effect in enumerate(shown):
        x, y = _LEFT + k % n_abreast * _PANEL, k // n_abreast * tall + key
        child = effects.name if k % n_abreast == 0 else None
        panels.append(
            f'<g transform="translate({x} {y})">{_panel(network, effect, outcomes, (low, high), child)}</g>'
        )
    names = [shortened(str(effects.levels[outcome]), 14) for outcome in outcomes] if key else []
    at = float(_LEFT)
    for name, colour in zip(names, _COLOURS, strict=False):
        panels.append(
            f'<text x="{at:.0f}" y="14" fill="{colour}" font-size="11.5" font-weight="bold">{escape(name)}</text>'
        )
        at += text_width(name) + _PADDING
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" style="max-width: 100%; height: auto" font-family="sans-serif" font-size="11" fill="#333">'
        f"<title>{escape(effects.sentence)}</title>{''.join(panels)}</svg>"
    )


def _panel(
    network: DiscretizedBayesNet,
    effect: ParentEffect,
    outcomes: Sequence[int],
    span: tuple[float, float],
    child: str | None,
) -> str:
    """Return the panel of one parent as SVG elements, with the ends of the vertical axis of a child if one is given."""
    edges = effect.edges if effect.is_continuous else np.arange(len(effect.values) + 1) - 0.5
    width, floor = _PANEL - 18, _ABOVE + _TALL

    def x(value: float) -> float:
        return float((value - edges[0]) / (edges[-1] - edges[0])) * width

    def y(value: float) -> float:
        return floor - (value - span[0]) / ((span[1] - span[0]) or 1.0) * (_TALL - 4)

    def rect(left: float, right: float, top: float, bottom: float, colour: str) -> str:
        sides = f'width="{max(right - left, 0.5):.1f}" height="{max(bottom - top, 0):.1f}"'
        return f'<rect x="{left:.1f}" y="{top:.1f}" {sides} fill="{colour}"/>'

    # a gap between levels
    gap = 0.0 if effect.is_continuous else 0.12
    cells = [(x(a + gap), x(b - gap)) for a, b in pairwise(edges.tolist())]
    bottom = floor + _ROWS
    parts = [
        rect(a + 0.3, b - 0.3, bottom - share * (_ROWS - 3), bottom, "#b8b8b8")
        for (a, b), share in zip(cells, effect.heights.tolist(), strict=True)
    ]
    at = [x(value) for value in effect.values.tolist()]
    for outcome, colour in zip(outcomes, _COLOURS, strict=False):
        lows, highs = ([y(v) for v in of[:, outcome].tolist()] for of in (effect.lows, effect.highs))
        means = [y(v) for v in effect.means[:, outcome].tolist()]
        if len(outcomes) == 1 and effect.is_continuous:
            around = [*zip(at, highs, strict=True), *list(zip(at, lows, strict=True))[::-1]]
            parts.append(f'<path d="{_path(around)}Z" fill="#cfe2f3"/>')
        elif len(outcomes) == 1:
            parts += [
                rect(a, b, high, low, "#cfe2f3") for (a, b), high, low in zip(cells, highs, lows, strict=True)
            ]
        lines = (
            [list(zip(at, means, strict=True))]
            if effect.is_continuous
            else [[(a, m), (b, m)] for (a, b), m in zip(cells, means, strict=True)]
        )
        parts += [
            f'<path d="{_path(line)}" fill="none" stroke="{colour}" stroke-width="1.8"/>' for line in lines
        ]
    parts.append(f'<path d="M0 {_ABOVE}V{bottom}H{width}" fill="none" stroke="#777"/>')
    title = f"{shortened(name_in_words(effect.parent), 16)} ({percent(effect.share)})"
    parts.append(f'<text x="0" y="12" font-weight="bold">{escape(title)}</text>')
    if child is not None:
        texts = [f"{end:.2f}" for end in span] if child in network.levels else [f"{end:.3g}" for end in span]
        if name_in_words(child) != child and span[0] < span[1]:
            texts = value_texts(child, span)
        parts += [
            f'<text x="-4" y="{y(value) + 4:.1f}" text-anchor="end">{escape(text)}</text>'
            for value, text in zip(span, texts, strict=False)
        ]
    return "".join(parts) + _ticks(network, effect, cells, width)


def _ticks(
    network: DiscretizedBayesNet, effect: ParentEffect, cells: Sequence[tuple[float, float]], width: float
) -> str:
    """Return the ends of a range below a panel, or names of levels where they fit."""
    below = _ABOVE + _TALL + _ROWS + 13
    if effect.is_continuous:
        low, high = effect.values[[0, -1]].tolist()
        texts = value_texts(effect.parent, [low, high]) if low < high else [f"{low:.4g}"]
        ends = zip(("start", "end"), (0.0, float(width)), texts, strict=False)
        return "".join(
            f'<text x="{at}" y="{below}" text-anchor="{anchor}">{escape(text)}</text>'
            for anchor, at, text in ends
        )
    room = max(int(width / len(cells) / 6.5), 1)
    names = [shortened(str(level), room) for level in network.levels[effect.parent]]
    # one letter of many levels tells nothing
    if room < 2 and any(len(str(level)) > room for level in network.levels[effect.parent]):
        names = [f"{len(cells)} levels"]
        cells = [(0.0, float(width))]
    return "".join(
        f'<text x="{(a + b) / 2:.1f}" y="{below}" text-anchor="middle">{escape(name)}</text>'
        for (a, b), name in zip(cells, names, strict=True)
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{'L' if k else 'M'}{a:.1f} {b:.1f}" for k, (a, b) in enumerate(points))


def layers_of(
    labels: Mapping[str, str], edges: Sequence[tuple[str, str]]
) -> tuple[dict[str, tuple[float, float, float]], list[Points], float, float]:
    """Return a graph in layers, in pixels: boxes of nodes, arrows of edges, and width and height of the drawing.

    `labels` are those of the nodes. A box has its centre, x and y, and its width. An arrow leads through its points.
    """
    widths = {name: text_width(label) + _PADDING for name, label in labels.items()}
    layout = network_layout(list(labels), edges, widths=widths, gap=_GAP)

    def in_pixels(points: Iterable[tuple[float, float]]) -> Points:
        return [(x + _MARGIN, y * _LAYER + _MARGIN + HEIGHT / 2) for x, y in points]

    places = dict(zip(layout["nodes"], in_pixels(layout["nodes"].values()), strict=True))
    arrows = []
    for parent, child in edges:
        (x, y), (u, v) = places[parent], places[child]
        sign = 1 if v > y else -1
        bends = in_pixels(layout["bends"][parent, child])
        arrows.append([(x, y + sign * HEIGHT / 2), *bends, (u, v - sign * (HEIGHT / 2 + 2))])
    boxes = {name: (x, y, widths[name]) for name, (x, y) in places.items()}
    width = max(x + of_box / 2 for x, _, of_box in boxes.values()) + _MARGIN
    return boxes, arrows, width, max(y for _, y in places.values()) + HEIGHT / 2 + _MARGIN


def network_svg(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> str:
    """Return a graph in layers as an SVG element; one with more than 60 nodes as a sentence that says so."""
    if len(names) > MOST_NODES:
        return f"<p>The drawing is left out: it would have {len(names)} nodes, more than {MOST_NODES}.</p>"
    labels = {name: shortened(name) for name in names}
    places, arrows, width, height = layers_of(labels, edges)
    lines = [
        f'<path d="{_path(points)}" fill="none" stroke="#0072b2" marker-end="url(#gomea-bn-arrow)"/>'
        for points in arrows
    ]
    boxes = [
        f'<g><title>{escape(name)}</title><rect x="{x - of_box / 2:.1f}" y="{y - HEIGHT / 2:.1f}" '
        f'width="{of_box:.1f}" height="{HEIGHT}" rx="5" fill="#fff" stroke="#555"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="12.5" fill="#111">'
        f"{escape(labels[name])}</text></g>"
        for name, (x, y, of_box) in places.items()
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
