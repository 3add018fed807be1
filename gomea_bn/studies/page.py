"""The page of a study: one HTML file without scripts or outer resources, to read, send and print."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn.data.dates import date_texts, name_in_words
from gomea_bn.data.event_times import time_and_event, yes_codes
from gomea_bn.errors import GomeaBnError, spelling
from gomea_bn.learning.options import CUT_SHORT_WORDS
from gomea_bn.network.formats.summary import evidence_text
from gomea_bn.network.matched_rows import LEAST_ROWS
from gomea_bn.network.recorded import CUT_SHORT, checks_text
from gomea_bn.plots.html import MOST_NODES, page_part, rows_html
from gomea_bn.review.page import source_hash, style_of
from gomea_bn.runtime.fit_clock import PARENTS
from gomea_bn.studies.drawings import (
    around_svg,
    calibration_svg,
    graph_svg,
    groups_svg,
    lines_svg,
    nice_end,
    waterfall_svg,
)
from gomea_bn.studies.left_out import BOOSTING, LINEAR, OURS
from gomea_bn.studies.outcome_study import HAS_ARROW, TELLS_ALL, VERDICTS, Case, Study
from gomea_bn.studies.value_groups import NOT_KNOWN, groups_of, information
from gomea_bn.texts import amount, counted, listed, percent

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_PRINT_SECONDS = 120
# drawn columns, neighbours in the picture, and nodes of a whole graph
_MOST_CARDS, _MOST_NEAR = 24, 16
_MOST_NAMED, _MOST_LISTED = 3, 60
_LEAST_P = 0.05
_CLASSES = {"the rows support it": "support", "the rows speak against it": "against"}
_LINES = {OURS: "net-line", LINEAR: "linear", BOOSTING: "boosting", "act on all": "all"}


def study_page(study: Study, title: str | None = None) -> str:
    """Return the page of a study as HTML text."""
    if title is not None and not isinstance(title, str):
        raise GomeaBnError(f"title must be text, got {title!r:.80}.")
    words = _Words(study)
    sections = words.sections()
    style = style_of("gomea_bn.studies", "study.css") + _rules_of_cases(len(study.cases))
    policy = f"default-src 'none'; style-src '{source_hash(style)}'; base-uri 'none'; form-action 'none'"
    headline = title or words.headline
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{key}"><h2 id="{key}">{escape(name)}</h2>{content}</section>'
        for key, name, content in sections
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(headline)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header><h1 dir="auto">{escape(headline)}</h1><p class="muted">{escape(words.size)}</p>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n<main>{body}</main>\n</body>\n</html>\n'
    )


def study_part(study: Study) -> str:
    """Return a study as a part of a notebook: the paragraph and what drives the outcome."""
    words = _Words(study)
    table = ""
    if study.target is not None:
        rows = [
            (
                name_in_words(str(name)),
                "yes" if row["joined"] else "no",
                f"{words.text(row['lowest'])} at {row['lowest_at']}",
                f"{words.text(row['highest'])} at {row['highest_at']}",
            )
            for name, row in study.columns.iterrows()
        ]
        table = rows_html(["column", "edge", "lowest", "highest"], rows)
    return page_part(
        words.headline, words.size, *(f"<p>{escape(line)}</p>" for line in words.paragraph()), table
    )


def printed_pdf(html: str) -> bytes:
    """Return a page as a PDF that a browser prints.

    Raises
    ------
    GomeaBnError
        If there is no Chromium or Chrome, or if it does not print.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise GomeaBnError(
            "A PDF needs Chromium, Chrome or Edge in PATH; write .html, and print it in any browser."
        )
    with tempfile.TemporaryDirectory() as folder:
        page, pdf = Path(folder, "study.html"), Path(folder, "study.pdf")
        page.write_text(html, encoding="utf-8")
        options = ["--headless", "--disable-gpu", "--no-sandbox", "--no-pdf-header-footer"]
        command = [
            browser,
            *options,
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={pdf}",
            page.as_uri(),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=_PRINT_SECONDS, check=True)
            return pdf.read_bytes()
        except (subprocess.SubprocessError, OSError) as error:
            raise GomeaBnError(
                f"'{browser}' did not print the page: {error}. Write .html, and print it in any browser."
            ) from error


def _rules_of_cases(n: int) -> str:
    """Return the style that shows the case whose button is chosen; without scripts, and by the keyboard too."""
    return "".join(
        f"#case-{k}:checked~.all-cases>.case-{k}{{display:block}}"
        f"#case-{k}:checked~.choices>label[for=case-{k}]{{background:var(--blue);color:var(--paper)}}"
        f"#case-{k}:focus-visible~.choices>label[for=case-{k}]{{outline:3px solid var(--ink);outline-offset:2px}}"
        for k in range(n)
    )


def _paragraph(text: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f"<p{name}>{escape(text)}</p>"


def _bullets(lines: Sequence[str]) -> str:
    return '<ul class="list">' + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _p_text(p_value: float) -> str:
    return "p below 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


class _Words:
    """The sentences, tables and drawings of a study."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.is_binary = study.state is not None

    # ---- numbers

    def text(self, value: float) -> str:
        """Return a share, or a value of a continuous target, as text."""
        study = self.study
        if self.is_binary:
            return percent(value)
        assert study.target is not None
        low, high = study.network.support[study.target]
        texts = date_texts(np.array([value]), study.target, high - low)
        return f"{value:.3g}" if texts is None else texts[0]

    def change(self, value: float) -> str:
        """Return a difference as text."""
        if self.is_binary:
            return f"{100 * value:+.1f}".replace("-", "\N{MINUS SIGN}")
        return f"{value:+.3g}".replace("-", "\N{MINUS SIGN}")

    @property
    def headline(self) -> str:
        """The question of the page."""
        if self.study.target is None:
            return "What goes together"
        return f"What goes with {self.study.outcome}"

    @property
    def size(self) -> str:
        """How many rows and columns."""
        table = self.study.table
        return f"{counted(table.n_rows, 'row')}, {counted(len(table.columns), 'column')}."

    def sections(self) -> list[tuple[str, str, str]]:
        """Return key, name and content of all sections."""
        study = self.study
        found = [("paragraph", "In one paragraph", self._first())]
        if study.target is not None:
            found.append(("drives", "What drives it", self._drivers()))
            found.append(("good", "How good on new rows", self._quality()))
            if study.cases:
                found.append(("case", "One case", self._cases()))
        found.append(("picture", "The picture", self._picture()))
        if study.expert is not None:
            found.append(("expert", "An expert's arrows", self._verdicts()))
        found.append(("rows", "From which rows", self._origin()))
        return found

    # ---- in one paragraph

    def paragraph(self) -> list[str]:
        """Return what the page says in a few sentences."""
        study = self.study
        if study.target is None:
            return self._together()
        joined = study.columns[study.columns["joined"]]
        if (done := study.table.censoring) is not None:
            lines = [
                f"{percent(study.base)} have {study.outcome}. Of {done.n_rows:,} rows {done.n_lost:,} were not seen "
                "that long; the others count for them."
            ]
        elif self.is_binary:
            lines = [f"{percent(study.base)} of {study.table.n_rows:,} rows have {study.outcome}."]
        else:
            lines = [
                f"The mean of {study.outcome} is {self.text(study.base)} over {study.table.n_rows:,} rows."
            ]
        if not len(joined):
            lines.append("The network found no column that goes with it.")
        else:
            parts = [
                f"{name_in_words(str(name))} ({self.text(row['lowest'])} at {row['lowest_at']}, "
                f"{self.text(row['highest'])} at {row['highest_at']})"
                for name, row in joined.head(_MOST_NAMED).iterrows()
            ]
            more = (
                f", and {counted(len(joined) - _MOST_NAMED, 'more column')}"
                if len(joined) > _MOST_NAMED
                else ""
            )
            lines.append(f"It goes most with {'; '.join(parts)}{more}.")
        if self._has_open_columns:
            lines.append(
                "The time limit cut short the choice of columns, so more may go with it: raise --max-seconds."
            )
        if (time := self._unused_time()) is not None:
            lines.append(
                f"{name_in_words(time)} looks like how long each row was seen, so rows without the outcome may "
                f"still get it, and these figures mislead: make the page with --duration {time}."
            )
        # the reason why a column may be known only afterwards follows
        if decisive := [name for name in self._decisive(joined) if name not in study.misleading]:
            verb = "decides" if len(decisive) == 1 else "decide"
            lines.append(
                f"{listed(map(name_in_words, decisive))} almost {verb} it alone: leave out what is known only "
                "afterwards (--drop)."
            )
        for name, reason in study.misleading.items():
            lines.append(f"{name_in_words(name)} {reason}: leave it out (--drop).")
        lines += self._good_in_words()
        if study.expert is not None:
            verdicts = study.expert["verdict"].value_counts()
            n_for, n_against, n_open = (int(verdicts.get(word, 0)) for word in VERDICTS.values())
            lines.append(
                f"Of {counted(len(study.expert), 'arrow')} of the expert the rows support {n_for}, speak against "
                f"{n_against}, and cannot tell about {n_open}."
            )
        lines.append(
            "An arrow says what to expect when a value is seen, not what would happen if it were changed."
        )
        return lines

    @property
    def _has_open_columns(self) -> bool:
        """Whether the clock ended the choice of the columns that the outcome depends on."""
        return PARENTS in (self.study.network.metadata.get(CUT_SHORT) or ())

    def _unused_time(self) -> str | None:
        """Return the column that looks like the time until the outcome or the end, if none was named."""
        study = self.study
        if study.table.censoring is not None:
            return None
        # columns of other events say nothing about this one
        columns = [
            column
            for column in study.table.columns
            if column.name == study.target or yes_codes(column) is None
        ]
        found = time_and_event(columns)
        return None if found is None else found[0]

    def _decisive(self, joined: pd.DataFrame) -> list[str]:
        """Return the columns that tell nearly all about an outcome, as its logarithm does."""
        study = self.study
        assert study.target is not None
        column = study.table.columns[study.table.names.index(study.target)]
        codes = (
            groups_of(column).codes
            if study.state is None
            else (column.values == study.state).astype(np.int64)
        )
        doubt = information(codes, codes, study.weights)
        return [str(name) for name in joined.index[joined["tells"] >= TELLS_ALL * doubt]] if doubt > 0 else []

    def _good_in_words(self) -> list[str]:
        quality: Any = self.study.quality
        if quality is None:
            return ["How good predictions are was not judged."]
        if not self.is_binary:
            r2 = quality.loc[(OURS, "r2")]
            error = quality.loc[(OURS, "mae")]
            return [
                f"On rows that it had not seen the network explains {percent(max(r2['value'], 0.0))} "
                "of the variance, and is "
                f"off by {error['value']:.3g} on average."
            ]
        auc = quality.loc[(OURS, "auc")]
        if np.isnan(auc["value"]):
            return []
        return [
            "Of two rows that the network had not seen, one with the outcome and one without, it "
            "gives the higher chance "
            f"to the right one in {percent(auc['value'])} of pairs ({percent(auc['low'])} to "
            f"{percent(auc['high'])}; a "
            "coin: 50 %)."
        ]

    def _together(self) -> list[str]:
        """Return which columns hang together and which stand alone."""
        network = self.study.network
        joined = {name for edge in network.edges for name in edge}
        if not joined:
            return ["No column tells anything about another one."]
        near = {
            name: list(map(name_in_words, [*network.parents(name), *network.children(name)]))
            for name in network.names
        }
        centre = max(network.names, key=lambda name: len(near[name]))
        lines = [
            "An arrow leads to a column from each column that it depends on directly; other columns "
            "are related through "
            f"these. {name_in_words(centre)} has the most direct relations: with {listed(near[centre], 8)}."
        ]
        alone = [name for name in network.names if name not in joined]
        if alone:
            lines.append(f"Unrelated to all others: {listed(map(name_in_words, alone), 8)}.")
        return lines

    def _first(self) -> str:
        return _paragraph(" ".join(self.paragraph()), "lead")

    # ---- what drives it

    def _ends(self, groups: pd.DataFrame) -> tuple[float, float]:
        """Return the ends of the axis that all columns share."""
        # wide intervals of few rows would hide all others
        shown = groups[groups["rows"] >= LEAST_ROWS] if (groups["rows"] >= LEAST_ROWS).any() else groups
        values = shown[["share", "network"]].to_numpy()
        low, high = float(values.min()), float(values.max())
        if self.is_binary:
            return 0.0, min(nice_end(1.1 * high), 1.0)
        room = 0.1 * (high - low)
        return low - room, high + room

    def _drivers(self) -> str:
        study = self.study
        joined = [str(name) for name in study.columns.index[study.columns["joined"]]]
        parts = [
            _paragraph(
                "Every column on its own, the one that tells most first. Grey: what the rows say, "
                "with the number of rows. "
                "Blue: what the network says for these rows, on average. It differs from the rows "
                "where these are few, or where other columns explain them."
                + (" Shares of rows are by weight." if study.weights is not None else "")
            ),
            self._key(),
        ]
        ends = self._ends(study.groups)
        cards = []
        for name in joined[:_MOST_CARDS]:
            row = study.columns.loc[name]
            groups = study.groups[study.groups["column"] == name]
            drawn = groups_svg(
                groups, study.base, ends, self.text, f"{study.outcome} by {name}", has_bars=self.is_binary
            )
            cards.append(
                f'<article class="card"><h3 dir="auto">{escape(name_in_words(name))}</h3>'
                f"{_paragraph(self._in_words(row, groups))}{drawn}</article>"
            )
        parts.append(
            f'<div class="cards">{"".join(cards)}</div>' if cards else _paragraph("No edge was found.")
        )
        if len(joined) > _MOST_CARDS:
            parts.append(_paragraph(f"Not drawn: {listed(map(name_in_words, joined[_MOST_CARDS:]), 20)}."))
        return "".join([*parts, self._unrelated()])

    def _in_words(self, row: Any, groups: pd.DataFrame) -> str:
        """Return what a card shows, in a sentence."""
        few = groups[(groups["rows"] < LEAST_ROWS)]
        note = f" Few rows: {listed(few['group'], 4)}." if len(few) else ""
        return (
            f"The network: from {self.text(float(row['lowest']))} at {row['lowest_at']} to "
            f"{self.text(float(row['highest']))} at {row['highest_at']}.{note}"
        )

    def _key(self) -> str:
        bar = (
            '<rect class="rows" x="0" y="1" width="22" height="10"/>'
            if self.is_binary
            else '<circle class="rows-dot" cx="15" cy="6" r="3.5"/>'
        )
        lines = [
            (bar + '<path class="error" d="M14 6L30 6"/>', "rows, with their 90 % interval"),
            (
                '<path class="band" d="M2 6L28 6"/><circle class="net" cx="15" cy="6" r="3.5"/>',
                "network, with its 90 % interval",
            ),
            ('<path class="base" d="M15 0L15 12"/>', f"all rows: {self.text(self.study.base)}"),
        ]
        items = "".join(
            '<li><svg viewBox="0 0 30 12" width="30" height="12" '
            f'aria-hidden="true">{drawn}</svg>{escape(words)}</li>'
            for drawn, words in lines
        )
        return f'<ul class="key">{items}</ul>'

    def _unrelated(self) -> str:
        columns = self.study.columns[~self.study.columns["joined"]]
        if not len(columns):
            return ""
        lines = []
        for name, row in columns.head(_MOST_LISTED).iterrows():
            of_column = self.study.groups[self.study.groups["column"] == name]
            n_groups = int((of_column["group"] != NOT_KNOWN).sum())
            if n_groups < 2:
                found = "has one value"
            elif row["p_value"] < _LEAST_P:
                found = f"its {n_groups} groups differ ({_p_text(row['p_value'])})"
                if not self._has_open_columns:
                    found += ", but new rows are predicted no better with it than by the other columns alone"
            else:
                found = f"its {n_groups} groups differ no more than by chance ({_p_text(row['p_value'])})"
            lines.append(f"{name_in_words(str(name))}: {found}.")
        tested = "chi-squared tests of their groups" if self.is_binary else "rank tests of their groups"
        chosen = "These columns did not improve predictions of left-out rows."
        if self._has_open_columns:
            chosen = (
                "The time limit cut short the choice of columns, so some of these may go with the outcome: raise "
                "--max-seconds."
            )
        more = len(columns) - _MOST_LISTED
        return "".join(
            [
                "<h3>No edge found</h3>",
                _paragraph(
                    f"{chosen} The numbers are of {tested}, each column on its own.",
                    "small",
                ),
                _bullets(lines),
                _paragraph(f"And {counted(more, 'more column')}.") if more > 0 else "",
            ]
        )

    # ---- how good

    def _quality(self) -> str:
        study = self.study
        judged, quality = study.left_out, study.quality
        if judged is None or quality is None:
            return _paragraph("Not judged: the study was made without folds.")
        share = (judged.n_folds - 1) / judged.n_folds
        parts = [
            _paragraph(
                f"The rows were divided into {judged.n_folds} parts. Each was predicted by a network "
                "that was learned from "
                f"the others, {percent(share)} of the rows, so that no row is predicted by a network "
                "that has seen it. Intervals hold 90 %."
            )
        ]
        if judged.absent:
            parts.append(_paragraph(f"Note: {judged.absent}."))
        measures = {"auc": "pairs ranked right (AUC)", "brier": "mean squared error"}
        if not self.is_binary:
            measures = {
                "r2": "variance explained",
                "mae": "mean error",
                "rmse": "root mean square",
                "coverage": "inside its 90 % interval",
            }
        rows = [
            (method, *(self._measure(quality, method, measure) for measure in measures))
            for method in judged.predictions
        ]
        parts.append(f'<div class="scroll">{_table(["method", *measures.values()], rows)}</div>')
        calibration = judged.calibration()
        ends = (
            (0.0, min(nice_end(float(calibration[["said", "high"]].to_numpy().max())), 1.0))
            if self.is_binary
            else (
                float(calibration[["said", "low"]].to_numpy().min()),
                float(calibration[["said", "high"]].to_numpy().max()),
            )
        )
        drawn = calibration_svg(calibration, ends, self.text, "Calibration")
        figures = [
            f"<figure>{drawn}<figcaption>{escape(self._calibration_in_words(calibration))}</figcaption></figure>"
        ]
        benefit = judged.net_benefit()
        if benefit is not None:
            figures.append(self._benefit(benefit))
        return "".join([*parts, f'<div class="pair">{"".join(figures)}</div>'])

    def _measure(self, quality: Any, method: str, measure: str) -> str:
        if (method, measure) not in quality.index:
            return "—"
        row = quality.loc[(method, measure)]
        text: Callable[[float], str] = (
            percent if measure in ("auc", "r2", "coverage") else lambda value: f"{value:.3g}"
        )
        if np.isnan(row["value"]):
            return "not defined"
        if row["value"] < 0 and measure == "r2":
            return "none"
        return f"{text(row['value'])} ({text(max(row['low'], 0.0))} to {text(row['high'])})"

    def _calibration_in_words(self, frame: pd.DataFrame) -> str:
        misses = frame[(frame["said"] < frame["low"]) | (frame["said"] > frame["high"])]
        highest = frame.iloc[-1]
        what = "When the network says" if self.is_binary else "Where the network expects"
        sentence = (
            f"{what} {self.text(highest['said'])}, its highest tenth, {self.text(highest['happened'])} "
            f"{'had the outcome' if self.is_binary else 'was the mean'}. "
        )
        if len(misses) <= 1:
            return sentence + "Points on the dashed line are right on average; so these are, up to chance."
        return sentence + (
            f"Points on the dashed line are right on average. In {counted(len(misses), 'part')} of {len(frame)} the "
            "difference is more than chance, so take these chances as rough."
        )

    def _benefit(self, benefit: pd.DataFrame) -> str:
        drawn = lines_svg(
            benefit * 1.0, _LINES, "Net benefit", "chance from which one acts", "net gain per 100 rows"
        )
        kinds = {name: kind for name, kind in _LINES.items() if name in benefit}
        items = "".join(
            f'<li><svg viewBox="0 0 30 12" width="30" height="12" aria-hidden="true">'
            f'<path class="line {kind}" d="M0 6L30 6"/></svg>{escape(name)}</li>'
            for name, kind in kinds.items()
        )
        words = (
            "What acting is worth: outcomes found per 100 rows, less the needless acts, each counted "
            "by the chance from "
            "which one acts. Acting on nobody is worth 0. Where a line is above 0 and above “act on "
            "all”, the figures help to decide."
        )
        return f'<figure>{drawn}<ul class="key">{items}</ul><figcaption>{words}</figcaption></figure>'

    # ---- one case

    def _cases(self) -> str:
        cases = self.study.cases
        buttons, labels, parts = [], [], []
        chosen = 0 if cases[0].row is None else len(cases) - 1
        for k, case in enumerate(cases):
            checked = " checked" if k == chosen else ""
            label = f"{self._row(case)}: {self.text(case.figure)}"
            buttons.append(
                f'<input class="pick" type="radio" name="case" id="case-{k}" aria-label="{escape(label)}"{checked}>'
            )
            labels.append(f'<label for="case-{k}">{escape(label)}</label>')
            parts.append(f'<div class="case case-{k}">{self._case(case)}</div>')
        return (
            _paragraph(
                "From all rows to one: every line adds a cell of the row, the one that moves the "
                "figure most first, while "
                "the cells below it vary as in the rows. Choose a row, from low to high figures."
            )
            + '<fieldset><legend class="unseen">Choose a row</legend>'
            f'{"".join(buttons)}<div class="choices">{"".join(labels)}</div>'
            f'<div class="all-cases">{"".join(parts)}</div></fieldset>'
            + _paragraph(
                "For another row: gomea-bn study with --row 'column=value, ...', or study(..., row={...}) in Python.",
                "small",
            )
        )

    def _row(self, case: Case) -> str:
        return "your row" if case.row is None else f"row {case.row + 1}"

    def _case(self, case: Case) -> str:
        steps = [
            (f"{name_in_words(str(name))} = {row['value']}", float(row["figure"]))
            for name, row in case.steps.iterrows()
        ]
        unknown = len(case.next)
        if steps and abs(steps[-1][1] - case.figure) > 1e-9:
            steps.append(("columns together" if not unknown else "cells not known", case.figure))
        drawn = waterfall_svg(steps, self.study.base, case.figure, self.text, self.change, self._row(case))
        if case.row is None:
            share = "of rows" if self.is_binary else "is the mean of rows"
            happened = (
                f"{self.study.outcome}: {self.text(case.figure)} {share} with these cells, by the network."
            )
        elif self.is_binary:
            happened = f"In this row it {'happened' if case.observed else 'did not happen'}."
        else:
            happened = f"In this row it was {self.text(case.observed)}."
        lines = [f"<figure>{drawn}<figcaption>{escape(happened)}</figcaption></figure>"]
        if unknown:
            ends = {name: tuple(map(self.text, row)) for name, row in case.next.iterrows()}
            nexts = [
                f"{name_in_words(str(name))}: from {low} to {high}"
                for name, (low, high) in ends.items()
                if low != high
            ]
            silent = [name_in_words(str(name)) for name, (low, high) in ends.items() if low == high]
            if nexts:
                lines.append(
                    _paragraph("What to measure next, and what the figure would become:") + _bullets(nexts)
                )
            if silent:
                lines.append(_paragraph(f"Not known, and of no weight here: {listed(silent, 8)}.", "small"))
        else:
            lines.append(_paragraph("All cells that the figure depends on are known.", "small"))
        return "".join(lines)

    # ---- the picture

    def _picture(self) -> str:
        study = self.study
        network = study.network
        parts = []
        if study.target is not None:
            near = [
                (str(name), float(row["tells"]), name in network.parents(study.target))
                for name, row in study.columns[study.columns["joined"]].head(_MOST_NEAR).iterrows()
            ]
            shown = {name for name, _, _ in near}
            others = {edge: telling for edge, telling in study.edges.items() if set(edge) <= shown}
            if near:
                # a horizon stands in the headline, and has no room in a box
                drawn = around_svg(study.short_outcome, near, others, f"Around {study.outcome}")
                parts.append(
                    f'<figure class="card picture">{drawn}<figcaption>An arrow is as thick as what the two '
                    "columns tell about each "
                    "other. Grey arrows join columns among themselves. Arrows are no causes unless "
                    "somebody knows so from elsewhere.</figcaption></figure>"
                )
        if not study.edges:
            return "".join(parts) or _paragraph("The network has no arrows.")
        names = {name for edge in study.edges for name in edge}
        if len(names) > MOST_NODES:
            whole = _paragraph(f"The whole graph has {len(names)} columns; gomea-bn review draws it.")
        else:
            drawn = graph_svg(network.names, study.edges, study.target, "The whole graph")
            whole = f'<div class="wide" tabindex="0" role="group" aria-label="The whole graph">{drawn}</div>'
        strongest = sorted(study.edges.items(), key=lambda item: -item[1])[:_MOST_LISTED]
        edges = _bullets(
            [
                f"{name_in_words(parent)} → {name_in_words(child)} ({amount(telling)} bits)"
                for (parent, child), telling in strongest
            ]
        )
        is_open = " open" if study.target is None else ""
        count = counted(len(study.edges), "arrow")
        return "".join(
            [
                *parts,
                f"<details{is_open}><summary>The whole graph: {count}</summary>{whole}</details>",
                f"<details><summary>All arrows as a list</summary>{edges}</details>",
            ]
        )

    # ---- an expert

    def _verdicts(self) -> str:
        frame = self.study.expert
        assert frame is not None
        if not len(frame):
            return _paragraph("The expert gave no arrows.")
        items = []
        row: Any
        for row in frame.itertuples():
            kind = _CLASSES.get(str(row.verdict), "open")
            found = _p_text(row.p_value)
            if kind == "open" and row.p_value < _LEAST_P:
                found += f", which is not enough where {counted(len(frame), 'arrow')} are tested at once"
            why = {
                "support": f"its columns depend on each other given the expert's other arrows ({found})",
                "against": f"these rows would have shown a weak relation ({_p_text(row.p_weak)} if there were one)",
                "open": f"these rows cannot tell a weak relation from none ({found})",
            }[kind]
            direction = f"; {row.direction}" if row.direction else ""
            if kind == "against" and row.network == HAS_ARROW:
                direction += ", since a relation weaker than weak can still help to predict"
            items.append(
                f'<li class="{kind}"><b dir="auto">{escape(name_in_words(row.parent))} → '
                f'{escape(name_in_words(row.child))}</b>: <span class="verdict">{escape(row.verdict)}</span>: '
                f"{escape(why)}. The network {escape(row.network)}{escape(direction)}.</li>"
            )
        return (
            _paragraph(
                f"Each arrow was tested on {frame['rows'].iloc[0]:,} rows, those without missing "
                "cells in the expert's "
                "columns, given the other arrows that lead to the same column. Verdicts are about the relation; a "
                "direction is never proved by such rows alone."
            )
            + f'<ul class="verdicts">{"".join(items)}</ul>'
        )

    # ---- from which rows

    def _origin(self) -> str:
        study, table = self.study, self.study.table
        n_lost = 0 if table.censoring is None else table.censoring.n_lost
        n_read = table.n_rows + len(table.dropped_rows) + study.n_without_outcome + n_lost
        lines = [
            f"{counted(n_read, 'row')} were read; the network has {counted(len(table.columns), 'column')}."
        ]
        if study.n_without_outcome:
            lines.append(f"{counted(study.n_without_outcome, 'row')} without the outcome were left out.")
        if table.dropped_rows:
            lines.append(f"{counted(len(table.dropped_rows), 'row')} with missing cells were left out.")
        notes = [note.text(spelling()) for note in (*table.notes, *study.warnings)]
        for name, why in table.left_out.items():
            if not any(f"'{name}' ({why}" in note for note in notes):
                lines.append(f"The column {name_in_words(name)} was left out: {why}.")
        gaps = {column.name: column.n_missing for column in table.columns if column.n_missing}
        if gaps:
            most = sorted(gaps.items(), key=lambda item: -item[1])
            texts = [f"{name_in_words(name)} ({percent(n / table.n_rows)})" for name, n in most]
            lines.append(
                f"Missing cells: {listed(texts, 12)}. Rows stay, and missing cells count as not known."
            )
        else:
            lines.append("No cell is missing.")
        if table.groups is not None:
            n = len(np.unique(table.groups.codes))
            lines.append(
                f"Rows of one {name_in_words(table.groups.column)} belong together ({n:,} of them): "
                "they are left out together, and intervals count them as one."
            )
        lines += [text for text in (evidence_text(study.network), checks_text(study.network)) if text]
        lines += [text for text in dict.fromkeys(notes) if not text.startswith(CUT_SHORT_WORDS)]
        if study.network.metadata.get(CUT_SHORT):
            lines.append("The time limit left out refinements of the network: raise --max-seconds for them.")
        rows = [(name_in_words(column.name), _kind(column), column.reason) for column in table.columns]
        listing = f'<div class="scroll">{_table(["column", "read as", "because"], rows)}</div>'
        limits = [
            "What no column measures is not here: two columns with an unknown common cause look related.",
            "Values outside the range of the rows count as its ends.",
            "New rows are predicted as well as this page says only if they come from where these rows came from.",
        ]
        return (
            _bullets(lines)
            + f"<details><summary>How every column was read</summary>{listing}</details>"
            + "<h3>What to be careful about</h3>"
            + _bullets(limits)
            + _paragraph(f"Made with seed {study.seed}; {self._repeats()}.", "small")
        )

    def _repeats(self) -> str:
        if self.study.is_timed:
            return "another run may differ a little, since a clock may end its searches"
        return "the same rows and options give the same page"


def _kind(column: object) -> str:
    levels = getattr(column, "levels", None)
    return "numbers" if levels is None else counted(len(levels), "level")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
