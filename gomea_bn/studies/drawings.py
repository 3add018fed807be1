"""Drawings of a study as SVG elements, whose colours are classes of the page; texts are escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn.data.dates import name_in_words
from gomea_bn.plots.html import HEIGHT, layers_of, shortened

# pixels of a drawing as wide as a phone
_WIDTH, _LABEL, _NUMBERS = 380, 112, 92
_ROW, _TOP, _BOTTOM = 24, 6, 20
# letters of a label, at most, and the width of one
_LETTERS, _MOST_LETTERS, _LETTER = 16, 24, 7.0
# letters of a cell of a case, and those that its name has at least
_CASE_LETTERS, _FEWEST_LETTERS = 22, 6
# of a layered graph
# widths of arrows
_THIN, _THICK = 1.0, 8.0

Text = Callable[[float], str]


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    names = f' class="{kind}"' if kind else ""
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{names}{end}>{escape(text)}</text>'


def _line(x: float, y: float, u: float, v: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"/>'


def _label(text: str, x: float, y: float, letters: int) -> str:
    """Return the label of a line that ends at x, with the whole text as a tooltip if it is cut."""
    whole = f"<title>{escape(text)}</title>" if len(text) > letters else ""
    shown = escape(shortened(text, letters))
    return f'<text x="{x:.0f}" y="{y:.1f}" text-anchor="end">{whole}{shown}</text>'


def nice_end(value: float) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten, and 1, from a share on."""
    if not value > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * (1 - 1e-9)))


def groups_svg(
    groups: pd.DataFrame, base: float, ends: tuple[float, float], text: Text, title: str, *, has_bars: bool
) -> str:
    """Return the groups of a column: what the rows say, above what the network says, one line per group."""
    # two dates fit, where other labels leave more room to the bars
    letters = min(max([_LETTERS, *map(len, groups["group"])]), _MOST_LETTERS)
    label = _LABEL + (letters - _LETTERS) * _LETTER
    plot = _WIDTH - label - _NUMBERS
    low, high = ends

    def x(value: float) -> float:
        return label + float(np.clip((value - low) / ((high - low) or 1.0), 0, 1)) * plot

    height = _TOP + len(groups) * _ROW + _BOTTOM
    floor = _TOP + len(groups) * _ROW
    parts = [
        _line(x(base), _TOP - 4, x(base), floor, "base"),
        _line(label, floor, label + plot, floor, "axis"),
    ]
    row: Any
    for place, row in enumerate(groups.itertuples()):
        y = _TOP + place * _ROW
        parts.append(_label(str(row.group), label - 8, y + 15, letters))
        if has_bars:
            parts.append(
                f'<rect class="rows" x="{label}" y="{y + 2}" '
                f'width="{max(x(row.share) - label, 0.5):.1f}" height="10"/>'
            )
        else:
            parts.append(f'<circle class="rows-dot" cx="{x(row.share):.1f}" cy="{y + 7}" r="3.5"/>')
        if row.share_low == row.share_low:
            parts.append(_line(x(row.share_low), y + 7, x(row.share_high), y + 7, "error"))
        if row.network_low == row.network_low:
            parts.append(_line(x(row.network_low), y + 17, x(row.network_high), y + 17, "band"))
        parts.append(f'<circle class="net" cx="{x(row.network):.1f}" cy="{y + 17}" r="3.5"/>')
        parts.append(_text(_WIDTH, y + 15, f"{text(row.share)} of {row.rows:,}", "number", "end"))
    parts += [
        _text(label, floor + 14, text(low), "tick"),
        _text(label + plot, floor + 14, text(high), "tick", "end"),
    ]
    return _svg(_WIDTH, height, title, parts)


def calibration_svg(frame: pd.DataFrame, ends: tuple[float, float], text: Text, title: str) -> str:
    """Return what was said against what happened, with a line where both are equal."""
    left, size, top = 52, 260, 10
    low, high = ends

    def place(value: float) -> float:
        return float(np.clip((value - low) / ((high - low) or 1.0), 0, 1)) * size

    parts = [
        _line(left, top, left, top + size, "axis"),
        _line(left, top + size, left + size, top + size, "axis"),
        _line(left, top + size, left + size, top, "base"),
    ]
    row: Any
    for row in frame.itertuples():
        x = left + place(row.said)
        parts += [
            _line(x, top + size - place(row.low), x, top + size - place(row.high), "band"),
            f'<circle class="net" cx="{x:.1f}" cy="{top + size - place(row.happened):.1f}" r="4">'
            f"<title>{escape(f'{text(row.said)} said, {text(row.happened)} of {row.rows:,}')}</title></circle>",
        ]
    parts += [
        _text(left - 6, top + size, text(low), "tick", "end"),
        _text(left - 6, top + 10, text(high), "tick", "end"),
        _text(left, top + size + 15, text(low), "tick"),
        _text(left + size, top + size + 15, text(high), "tick", "end"),
        _text(left + size / 2, top + size + 32, "what the network said", "", "middle"),
        f'<text transform="translate(14 {top + size / 2}) rotate(-90)" text-anchor="middle">what happened</text>',
    ]
    return _svg(left + size + 16, top + size + 40, title, parts)


def lines_svg(frame: pd.DataFrame, kinds: Mapping[str, str], title: str, across: str, up: str) -> str:
    """Return lines over shares, one per column of a frame, each with a class of its own."""
    left, width, height, top = 60, 300, 200, 10
    ends = float(frame.index.min()), float(frame.index.max())
    high = float(frame.drop(columns="act on all", errors="ignore").to_numpy().max())
    high = max(high, float(frame.to_numpy()[0].max()), 1e-6)
    low = -0.15 * high

    def x(value: float) -> float:
        return left + (value - ends[0]) / ((ends[1] - ends[0]) or 1.0) * width

    def y(value: float) -> float:
        return top + height - (value - low) / (high - low) * height

    parts = [
        _line(left, top, left, top + height, "axis"),
        _line(left, y(0), left + width, y(0), "base"),
    ]
    for name, kind in kinds.items():
        if name not in frame:
            continue
        values = frame[name]
        # a line ends where it leaves the drawing
        shown = values[(values >= low).cumprod().astype(bool)]
        points = " ".join(
            f"{x(at):.1f},{y(value):.1f}"
            for at, value in zip(shown.index.tolist(), shown.tolist(), strict=True)
        )
        parts.append(
            f'<polyline class="line {kind}" points="{points}"><title>{escape(name)}</title></polyline>'
        )
    parts += [
        _text(left - 6, y(0) + 4, "0", "tick", "end"),
        _text(left - 6, y(high) + 8, f"{100 * high:.2g}", "tick", "end"),
        _text(left, top + height + 15, f"{100 * ends[0]:.0f} %", "tick"),
        _text(left + width, top + height + 15, f"{100 * ends[1]:.0f} %", "tick", "end"),
        _text(left + width / 2, top + height + 32, across, "", "middle"),
        f'<text transform="translate(14 {top + height / 2}) rotate(-90)" text-anchor="middle">{escape(up)}</text>',
    ]
    return _svg(left + width + 16, top + height + 40, title, parts)


def waterfall_svg(
    steps: Sequence[tuple[str, float]], base: float, figure: float, text: Text, change: Text, title: str
) -> str:
    """Return the way from the base to a figure; each step has its label and the answer after it."""
    values = [base, *(value for _, value in steps), figure]
    low, high = min(values), max(values)
    room = 0.05 * ((high - low) or abs(high) or 1.0)
    low, high = low - room, high + room
    label = 150
    plot = _WIDTH - label - _NUMBERS

    def x(value: float) -> float:
        return label + (value - low) / (high - low) * plot

    def line(place: int, name: str, number: str, drawn: str) -> str:
        y = _TOP + place * _ROW
        whole = f"<title>{escape(name)}</title>"
        column, equals, value = name.rpartition(" = ")
        # a short value says more than the end of a long name
        room = _CASE_LETTERS - len(equals + value)
        cut = (
            shortened(name, _CASE_LETTERS)
            if room < _FEWEST_LETTERS
            else shortened(column, room) + equals + value
        )
        shown = escape(cut)
        return f'<text x="{label - 8}" y="{y + 15}" text-anchor="end">{whole}{shown}</text>{drawn}' + _text(
            _WIDTH, y + 15, number, "number", "end"
        )

    def bar(place: int, start: float, end: float) -> str:
        y, kind = _TOP + place * _ROW, "up" if end >= start else "down"
        a, b = sorted((x(start), x(end)))
        following = _line(x(end), y + 18, x(end), y + _ROW + 5, "base")
        return f'<rect class="{kind}" x="{a:.1f}" y="{y + 5}" width="{max(b - a, 1):.1f}" height="13"/>{following}'

    def mark(place: int, value: float) -> str:
        return f'<circle class="net" cx="{x(value):.1f}" cy="{_TOP + place * _ROW + 11}" r="5"/>'

    parts = [line(0, "all rows", text(base), mark(0, base))]
    before = base
    for place, (name, value) in enumerate(steps, start=1):
        parts.append(
            line(place, name, f"{change(value - before)} → {text(value)}", bar(place, before, value))
        )
        before = value
    last = len(steps) + 1
    parts.append(line(last, "this row", text(figure), mark(last, figure)))
    return _svg(_WIDTH, _TOP + (last + 1) * _ROW, title, parts)


def _arrow_width(telling: float, most: float) -> float:
    return _THIN + (_THICK - _THIN) * float(np.sqrt(max(telling, 0.0) / most)) if most > 0 else _THIN


_HEADS = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="11" markerHeight="11" '
    'markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>'
)


def around_svg(
    outcome: str, near: Sequence[tuple[str, float, bool]], others: Mapping[tuple[str, str], float], title: str
) -> str:
    """Return an outcome at the right with its neighbours at the left: name, what it tells, whether it is a parent.

    Edges among the neighbours are arcs at the left. Arrows are as thick as what they tell.
    """
    step, box, left = 36, 130, 62
    height = max(len(near), 1) * step + 12
    most = max([telling for _, telling, _ in near], default=0.0)
    most = max([most, *others.values()], default=0.0)
    y_of = {name: 8 + place * step + HEIGHT / 2 for place, (name, _, _) in enumerate(near)}
    at = height / 2
    width_of_outcome = 118
    target_x = _WIDTH - width_of_outcome
    parts = [_HEADS]
    for (parent, child), telling in others.items():
        a, b = y_of[parent], y_of[child]
        bend = min(abs(b - a) * 0.45 + 8, left - 8)
        kind = f'stroke-width="{_arrow_width(telling, most):.1f}"'
        parts.append(
            f'<path class="arrow other" {kind} marker-end="url(#head)" '
            f'd="M{left} {a:.1f}C{left - bend:.1f} {a:.1f} {left - bend:.1f} {b:.1f} {left - 2} {b:.1f}">'
            f"<title>{escape(f'{parent} → {child}')}</title></path>"
        )
    for name, telling, is_parent in near:
        y, start, end = y_of[name], left + box, target_x - 3
        # arrows end side by side at the outcome
        side = at + (y - at) * 0.25
        ends = (start, y, end, side) if is_parent else (end, side, start + 3, y)
        middle = (start + end) / 2
        parts.append(
            f'<path class="arrow" stroke-width="{_arrow_width(telling, most):.1f}" marker-end="url(#head)" '
            f'd="M{ends[0]:.1f} {ends[1]:.1f}C{middle:.1f} {ends[1]:.1f} {middle:.1f} {ends[3]:.1f} '
            f'{ends[2]:.1f} {ends[3]:.1f}"><title>{escape(f"{name}: {telling:.3f} bits")}</title></path>'
        )
        parts.append(_box(left + box / 2, y, box, name))
    parts.append(_box(target_x + width_of_outcome / 2, at, width_of_outcome, outcome, "box outcome"))
    return _svg(_WIDTH, height, title, parts)


def _box(x: float, y: float, width: float, name: str, kind: str = "box") -> str:
    letters = max(int((width - 10) / 7.2), 3)
    name = name_in_words(name)
    return (
        f'<g><title>{escape(name)}</title><rect class="{kind}" x="{x - width / 2:.1f}" y="{y - HEIGHT / 2:.1f}" '
        f'width="{width:.1f}" height="{HEIGHT}" '
        f'rx="5"/>{_text(x, y + 4, shortened(name, letters), "", "middle")}</g>'
    )


def graph_svg(
    names: Sequence[str], edges: Mapping[tuple[str, str], float], marked: str | None, title: str
) -> str:
    """Return a graph in layers, with arrows as thick as what they tell; names that no edge joins are left out."""
    joined = [name for name in names if any(name in edge for edge in edges)]
    labels = {name: shortened(name_in_words(name), 24) for name in joined}
    places, arrows, width, height = layers_of(labels, list(edges))
    most = max(edges.values())
    parts = [_HEADS]
    for ((parent, child), telling), points in zip(edges.items(), arrows, strict=True):
        path = "".join(f"{'L' if k else 'M'}{a:.1f} {b:.1f}" for k, (a, b) in enumerate(points))
        parts.append(
            f'<path class="arrow" stroke-width="{_arrow_width(telling, most):.1f}" '
            f'marker-end="url(#head)" d="{path}">'
            f"<title>{escape(f'{parent} → {child}: {telling:.3f} bits')}</title></path>"
        )
    parts += [_box(*places[name], name, "box outcome" if name == marked else "box") for name in joined]
    return _svg(width, height, title, parts)
