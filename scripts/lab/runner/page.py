"""A report as files: a Markdown section, the published numbers as JSON, and the figures."""

import io
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gomea_bn.errors import GomeaBnError
from gomea_bn.plots.axes import LITERAL
from gomea_bn.runtime.files import write_bytes, write_text
from gomea_bn.texts import counted, listed
from lab.runner.experiment import Experiment, Options, Plan, Row
from lab.runner.report import Figure, Panel, Report, Sheet
from lab.runner.results import failed
from lab.runner.statistics import (
    BEATEN,
    BEHIND,
    EVEN,
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    Claim,
    Finding,
    number,
    summarise,
    verdict,
)

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#333333", "#8c6d31", "#6a3d9a")
_MARKERS = "os^"
_COLUMNS = ("published number", "paper", "ours", "setting", "verdict", "why")
_VERDICTS = (REPRODUCED, BEATEN, EVEN, BEHIND, NOT_REPRODUCED, UNDECIDED, NOT_RUN)
_CLAIMS = "claims.json"
_CLAIMS_HEADING = "Published numbers"
_VERDICT_COLOURS = {
    REPRODUCED: "#0072b2", BEATEN: "#009e73", EVEN: "#56b4e9", BEHIND: "#e69f00", NOT_REPRODUCED: "#d55e00",
    UNDECIDED: "#bbbbbb", NOT_RUN: "#eeeeee",
}  # fmt: skip
# fields of a row that rows of earlier versions lack, in words
_ORIGIN = {"sources": "sources", "finished": "day", "machine": "machine"}
_TABLES_BEGIN = "<details><summary>Tables</summary>"


def write_report(
    folder: Path, experiment: Experiment, plan: Plan | Options, rows: Sequence[Row], n_missing: int = 0
) -> Report:
    """Return the report of rows; writes `report.md`, `claims.json` and a PNG per figure.

    The folder must exist. `n_missing` is the number of tasks without a row.
    """
    report = experiment.report(plan, [row for row in rows if not failed(row)])
    report = replace(report, notes=(*report.notes, *_origins(rows), *_warnings(rows)))
    for figure in report.figures:
        if figure.panels:
            write_bytes(folder / f"{figure.name}.png", draw(figure))
    claims = [dict(zip(_COLUMNS, cells, strict=True)) for cells in claims_sheet(report).rows]
    write_text(folder / _CLAIMS, json.dumps(claims, indent=1, ensure_ascii=False) + "\n")
    n_broken = sum(failed(row) for row in rows)
    write_text(folder / "report.md", markdown_section(experiment, plan, report, n_broken, n_missing))
    return report


def settings_line(experiment: Experiment, plan: Plan | Options) -> str:
    """Return the settings of a plan in words."""
    if not isinstance(plan, Plan):
        values = {name: value for name, value in vars(plan).items() if value not in (None, (), False)}
        return "; ".join(f"{name} {_setting(value)}" for name, value in values.items()) + "."
    limit = " and ".join(
        f"{value:,} {unit}" if isinstance(value, int) else f"{value:g} {unit}"
        for value, unit in ((plan.seconds, "s"), (plan.evaluations, "evaluations"))
        if value is not None
    )
    parts = [
        f"{plan.nets} repetitions",
        f"sizes {', '.join(map(str, plan.sizes))}",
        f"algorithms {', '.join(plan.algorithms)}",
        *([f"variants {', '.join(plan.variants)}"] if plan.variants else []),
        f"at most {limit} per search",
        f"seed {plan.seed}",
    ]
    return "; ".join(parts) + "."


def _setting(value: Any) -> str:
    return ", ".join(map(_setting, value)) if isinstance(value, tuple) else str(value)


def claims_sheet(report: Report) -> Sheet:
    """Return every published number and ours, with the setting and the verdict."""
    rows = [_claim_cells(claim) for claim in report.claims]
    return Sheet(_CLAIMS_HEADING, _COLUMNS, tuple(rows))


def _claim_cells(claim: Claim | Finding) -> tuple[str, ...]:
    judgement, reason = verdict(claim)
    if isinstance(claim, Finding):
        return claim.quantity, claim.paper, claim.ours, claim.setting, judgement, reason
    paper = number(claim.paper) + ("" if claim.paper_sd is None else f" ± {number(claim.paper_sd)}")
    ours = summarise(claim.ours).spread if claim.ours else "-"
    return claim.quantity, paper, ours, claim.setting, judgement, reason


def markdown_section(
    experiment: Experiment, plan: Plan | Options, report: Report, n_broken: int, n_missing: int
) -> str:
    """Return the section of `docs/results.md`: the setting, every published number, the tables."""
    parts = [
        f"## {experiment.title}: `python scripts/lab {experiment.name}`",
        experiment.source,
        settings_line(experiment, plan),
        *report.notes,
    ]
    if n_broken:
        parts.append(
            f"{n_broken} tasks failed and are not counted below; their tracebacks are in rows.jsonl."
        )
    if n_missing:
        parts.append(f"{n_missing} tasks have not been run yet.")
    parts += [f"![{figure.caption}](./{figure.name}.png)" for figure in report.figures if figure.panels]
    if report.claims:
        parts.append(_markdown_table(claims_sheet(report)))
    if report.sheets:
        tables = [_markdown_table(sheet) for sheet in report.sheets]
        # without published numbers the tables are the result, which summaries keep
        parts += [_TABLES_BEGIN, *tables, "</details>"] if report.claims else tables
    return "\n\n".join(parts) + "\n"


def _markdown_table(sheet: Sheet) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    lines = [line(sheet.columns), "|" + "---|" * len(sheet.columns), *map(line, sheet.rows)]
    heading = f"### {sheet.heading}\n\n" + (f"{sheet.note}\n\n" if sheet.note else "")
    return heading + "\n".join(lines)


def draw(figure: Figure) -> bytes:
    """Return a figure as PNG, with one legend below all panels; the same data give the same bytes."""
    n_columns = min(figure.columns, len(figure.panels))
    n_rows = -(-len(figure.panels) // n_columns)
    canvas = _canvas(4.6 * n_columns, 3.3 * n_rows)
    lines: dict[str, Any] = {}
    for panel_number, panel in enumerate(figure.panels, 1):
        _draw_panel(canvas.add_subplot(n_rows, n_columns, panel_number), panel, lines)
    if lines:
        n_per_row = min(len(lines), 3 * n_columns)
        canvas.set_figheight(3.3 * n_rows + 0.3 + 0.17 * -(-len(lines) // n_per_row))
        legend = canvas.legend(
            lines.values(), lines.keys(), loc="outside lower center", ncols=n_per_row, fontsize=8
        )
        for text in legend.get_texts():
            text.set(**LITERAL)
    return _png(canvas)


def _canvas(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained", dpi=100)
    FigureCanvasAgg(canvas)
    return canvas


def _png(canvas: Any) -> bytes:
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _draw_panel(axes: Any, panel: Panel, lines: dict[str, Any]) -> None:
    """Draw a panel; `lines` gets the first line of every label, whose colour all panels share.

    If there is only one x, the series are side by side, with their quartiles as bars.
    """
    all_x = sorted({x for series in panel.series for x in series.x})
    for position, series in enumerate(panel.series):
        stem = series.label.removesuffix(", published")
        stems = list(dict.fromkeys([label.removesuffix(", published") for label in lines] + [stem]))
        turn, position_of_colour = divmod(stems.index(stem), len(_COLOURS))
        colour, marker = _COLOURS[position_of_colour], _MARKERS[turn % len(_MARKERS)]
        style = "--" if series.dashed else "-"
        x = series.x if len(all_x) > 1 else [position] * len(series.x)
        (line,) = axes.plot(x, series.y, style, color=colour, marker=marker, markersize=3)
        lines.setdefault(series.label, line)
        if series.low and len(all_x) == 1:
            axes.vlines(x, series.low, series.high, color=colour)
        elif series.low:
            axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.15, linewidth=0)
    if len(all_x) == 1:
        axes.set_xticks([(len(panel.series) - 1) / 2], [f"{all_x[0]:,g}"], fontsize=7)
    elif panel.log_x and all_x:
        axes.set_xscale("log")
        axes.set_xticks(all_x, [f"{x:,g}" for x in all_x], fontsize=7)
        axes.set_xticks([], minor=True)
    if panel.log_y:
        axes.set_yscale("log")
    axes.set_title(panel.title, fontsize=10, **LITERAL)
    axes.set_xlabel(panel.x_label, **LITERAL)
    axes.set_ylabel(panel.y_label, **LITERAL)
    axes.grid(True, color="#e5e5e5")


def write_summary(folder: Path, names: Sequence[str], path: Path) -> None:
    """Write one file on the experiments in a folder: the verdicts at a glance, then a short section per experiment.

    The folder gets `verdicts.png`, a picture of the verdicts. Links lead to the tables and figures, which stay in the
    folders of the experiments.
    """
    counts: dict[str, Counter[str]] = {}
    topics: dict[str, str] = {}
    misses: list[tuple[str, ...]] = []
    sections = []
    for name in names:
        section = folder / name / "report.md"
        if not section.is_file():
            continue
        link = _link(section.parent, path)
        text = section.read_text(encoding="utf-8").replace("](./", f"]({link}/")
        setting, _, tables = text.partition(f"\n### {_CLAIMS_HEADING}\n")
        setting = setting.partition(_TABLES_BEGIN)[0]
        more = (
            f"\n\nEvery number, means and rank tests: [{name}/report.md]({link}/report.md).\n"
            if tables
            else "\n"
        )
        sections.append(setting.rstrip() + more)
        claims = _verdicts(folder / name)
        if claims:
            counts[name] = Counter(claim["verdict"] for claim in claims)
            # "## Topic: `command`"
            topics[name] = setting.lstrip().partition("\n")[0].removeprefix("## ").partition(": `")[0]
        misses += _misses(name, [claim for claim in claims if claim["verdict"] == NOT_REPRODUCED])
    total = sum(counts.values(), Counter[str]())
    lines = [
        (name, *(str(count[each]) if count[each] else "-" for each in _VERDICTS), topics.get(name, ""))
        for name, count in {**counts, "all": total}.items()
    ]
    glance = [_markdown_table(Sheet("At a glance", ("experiment", *_VERDICTS, "topic"), tuple(lines)))]
    if total:
        picture = folder / "verdicts.png"
        write_bytes(picture, _draw_verdicts(counts))
        glance.insert(0, f"![Verdicts by experiment]({_link(picture, path)})")
    if misses:
        glance.append(
            _markdown_table(Sheet("Not reproduced", ("experiment", *_COLUMNS[:4], "why"), tuple(misses)))
        )
    write_text(path, "\n\n".join([_HEAD, *glance, _VERDICT_RULES, *sections]))


def _link(target: Path, path: Path) -> str:
    """Return the address of a file or folder in a Markdown file."""
    return quote(Path(os.path.relpath(target.absolute(), path.parent.absolute())).as_posix())


def _origins(rows: Sequence[Row]) -> list[str]:
    """Return a note for every code and machine that made rows: which and when, and what its rows do not hold."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((_code(row), _machine(row)), []).append(row)
    notes = []
    for (code, machine), group in groups.items():
        days = _days("finished", group) or _days("committed", group, "committed ")
        article = "The " if len(groups) == 1 else ""
        verb = "was" if len(group) == 1 else "were"
        origin = ", ".join(part for part in (code, days, machine) if part)
        unknown = [words for field, words in _ORIGIN.items() if not any(field in row for row in group)]
        note = f"{article}{counted(len(group), 'row')} {verb} made {origin}."
        notes.append(f"{note} Not recorded: {listed(unknown)}." if unknown else note)
    return notes


def _code(row: Row) -> str:
    sources = f" (sources {row['sources']})" if "sources" in row else ""
    return f"by version {row['version']}{sources}" if "version" in row else "by an unknown version"


def _machine(row: Row) -> str:
    machine = row.get("machine")
    if machine is None:
        return ""
    return f"on {machine['cpu']} with {counted(machine['cores'], 'core')} ({machine['platform']})"


def _days(field: str, rows: Sequence[Row], verb: str = "") -> str:
    days = sorted({str(row[field])[:10] for row in rows if field in row})
    if not days:
        return ""
    return f"{verb}on {days[0]}" if len(days) == 1 else f"{verb}from {days[0]} to {days[-1]}"


def _warnings(rows: Sequence[Row]) -> list[str]:
    """Return one sentence for the warnings of runs that differ in names and numbers alone."""
    kinds: dict[str, list[str]] = {}
    for row in rows:
        for text in row.get("warnings", ()):
            first = text.partition(". ")[0]
            kinds.setdefault(re.sub(r"'[^']*'|[0-9][0-9.,]*", "", first), []).append(text)
    return [
        f"{counted(len(texts), 'run')} warned{', for example' if len(set(texts)) > 1 else ''}: {texts[0]}"
        for texts in kinds.values()
    ]


def _misses(name: str, claims: Sequence[dict[str, str]]) -> list[tuple[str, ...]]:
    """Return a line per reason for which published numbers of an experiment are not reproduced."""
    by_reason: dict[str, list[dict[str, str]]] = {}
    for claim in claims:
        # the distance stands before the reason
        by_reason.setdefault(claim["why"].rpartition(": ")[2], []).append(claim)
    lines: list[tuple[str, ...]] = []
    for reason, group in by_reason.items():
        first = group[0]
        cells = tuple(first[column] for column in _COLUMNS[:4])
        if len(group) == 1:
            lines.append((name, *cells, first["why"]))
        else:
            lines.append((name, f"{len(group)} numbers, such as {cells[0]}", *cells[1:], reason))
    return lines


def _draw_verdicts(counts: Mapping[str, Counter[str]]) -> bytes:
    """Return a picture of the share of every verdict by experiment, as PNG."""
    canvas = _canvas(8, 1.1 + 0.28 * len(counts))
    axes = canvas.add_subplot()
    labels = [f"{name} ({count.total()})" for name, count in counts.items()]
    lefts = [0.0] * len(counts)
    for each in _VERDICTS:
        shares = [count[each] / count.total() for count in counts.values()]
        if any(shares):
            axes.barh(labels, shares, left=lefts, color=_VERDICT_COLOURS[each], label=each)
        lefts = [left + share for left, share in zip(lefts, shares, strict=True)]
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="share of the published numbers")
    canvas.legend(loc="outside upper center", ncols=len(_VERDICTS), fontsize=8, frameon=False)
    return _png(canvas)


def _verdicts(folder: Path) -> list[dict[str, str]]:
    """Return the claims of an experiment as `write_report` wrote them; none if an earlier version wrote the report."""
    path = folder / _CLAIMS
    if not path.is_file():
        return []
    try:
        claims: list[dict[str, str]] = json.loads(path.read_bytes())
    except ValueError as error:
        raise GomeaBnError(
            f"'{path}' is damaged ({error}); make it again with python scripts/lab {folder.name} --report-only."
        ) from error
    return claims


_HEAD = (
    "# Results\n\nExperiments of the papers behind this package, run again: every published number next to ours. The "
    "picture and the two tables are the summary; a section per experiment follows, with its setting, its figures and "
    "a link to all of its numbers."
)
_VERDICT_RULES = (
    "### What the verdicts mean\n\n*Reproduced*: the mean of the "
    "published method differs by at most the tolerance of a printed number, or by no more than chance explains "
    "(Welch's 95 % interval). *Beaten*: ours is better by more than that. *Even* and *behind* are verdicts on "
    "another method, or another law of networks, that is compared with the published one. *Undecided*: the runs are "
    "too few. A finding without a number is reproduced if ours shows the same order or direction. The last column "
    "gives the distance of the means, and the reason if it is known. `python scripts/lab NAME` with the options of a "
    "section makes the section and its figures again."
)
