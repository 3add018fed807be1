"""A report of one to three pages about a network, to print: what was learned, from which rows, how sure, and limits."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.data.dates import name_in_words
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.edges import equivalence_class
from gomea_bn.network.effects import shows_effects
from gomea_bn.network.formats.summary import counts_text, evidence_text
from gomea_bn.network.inference.row_notes import farthest_figures
from gomea_bn.network.recorded import checks_text, left_out_loss, recorded_edge_probabilities
from gomea_bn.plots.density import plot_density
from gomea_bn.plots.explanation import plot_explanation
from gomea_bn.plots.html import effects_svg, figures_html, network_svg, rows_html
from gomea_bn.runtime.files import write_bytes, write_text
from gomea_bn.texts import counted, listed, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gomea_bn.data.table import Table
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.explanations import Explanation

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_PRINT_SECONDS = 120
_MOST_DENSITIES, _MOST_DRIVERS, _MOST_EFFECTS = 6, 8, 6
_STYLE = """
@page { size: A4; margin: 16mm }
body { font: 10.5pt/1.4 system-ui, sans-serif; color: #111; max-width: 178mm; margin: 1em auto }
h1 { font-size: 18pt; margin: 0 0 .2em } h2 { font-size: 12.5pt; margin: 1.2em 0 .3em; border-bottom: 1px solid #bbb }
p { margin: .4em 0 } table { border-collapse: collapse; font-size: 9.5pt } .subtitle { color: #555 }
td, th { padding: .15em .8em .15em 0; vertical-align: top; border-bottom: 1px solid #eee }
svg { max-width: 100%; height: auto } figure { margin: .5em 0; break-inside: avoid; text-align: center }
.grid { display: grid; grid-template-columns: 1fr 1fr; gap: 2mm } h2 { break-after: avoid }
"""


def run_report(
    network: DiscretizedBayesNet,
    path: str | os.PathLike[str] | None = None,
    *,
    target: str | None = None,
    record: Mapping[str, Any] | None = None,
    table: Table | None = None,
    title: str = "What the table says",
) -> str:
    """Return a report about a network as HTML text that prints on one to three pages.

    Parameters
    ----------
    network : DiscretizedBayesNet
    path : path, optional
        File to write: .html, or .pdf, which a browser prints.
    target : str, optional
        Column whose drivers are named and drawn.
    record : mapping, optional
        Content of run.json, for the origin of the rows.
    table : Table, optional
        Rows that the network was learned from, for histograms, and to set next to what the network says if it does
        not know rows itself.
    title : str
        Headline.

    Raises
    ------
    GomeaBnError
        For an unknown target, a file that cannot be written, and a PDF without a browser.
    """
    if table is not None and network.row_source is None:
        network = network.with_rows(table)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="subtitle">{escape(counts_text(network))}</p>',
        "<h2>What was learned</h2>",
        _findings(network),
        f"<figure>{network_svg(network.names, network.edges)}</figure>",
        *([] if target is None else _drivers(network, target)),
        *_effects(network, target),
        "<h2>From which rows</h2>",
        _origin(network, record or {}),
        "<h2>How the values are distributed</h2>",
        _densities(network, target, table),
        "<h2>How sure</h2>",
        *_sureness(network),
        "<h2>Limits</h2>",
        *_limits(network),
    ]
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>{''.join(parts)}</body></html>\n"
    )
    if path is not None:
        if str(path).lower().endswith(".pdf"):
            write_bytes(path, printed_pdf(text))
        else:
            write_text(path, text)
    return text


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
        page, pdf = Path(folder, "report.html"), Path(folder, "report.pdf")
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
                f"'{browser}' did not print the report: {error}. Write .html, and print it in any browser."
            ) from error


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _findings(network: DiscretizedBayesNet) -> str:
    """Return in words which columns hang together and which stand alone."""
    joined = {name for edge in network.edges for name in edge}
    alone = [name for name in network.names if name not in joined]
    if not joined:
        return _paragraph("No column tells anything about another one.")
    near = {
        name: list(map(name_in_words, [*network.parents(name), *network.children(name)]))
        for name in network.names
    }
    centre = max(network.names, key=lambda name: len(near[name]))
    sentences = [
        "An arrow leads to a column from each column that it depends on directly; other columns are related through "
        f"these. '{name_in_words(centre)}' has the most direct relations: with {listed(near[centre], 8)}."
    ]
    if alone:
        sentences.append(f"Unrelated to all others: {listed(map(name_in_words, alone), 8)}.")
    return _paragraph(" ".join(sentences))


def _drivers(network: DiscretizedBayesNet, target: str) -> list[str]:
    """Return what drives a column: sentences, a drawing and a table."""
    explanation = network.explain(target)
    parts = [
        f"<h2>What drives {escape(name_in_words(target))}</h2>",
        *map(_paragraph, explanation.sentences[: 3 if explanation.rows is None else 4]),
    ]
    frame = explanation.drivers.head(_MOST_DRIVERS)
    if not len(frame):
        return parts
    parts.append(
        f"<figure>{_svg(lambda ax: plot_explanation(explanation, 'drivers', ax), (6.4, 3.0))}</figure>"
    )
    text = explanation.in_words
    rows = [
        (name, f"{row['bits']:.3f}", f"{text(row['lowest'])} to {text(row['highest'])}", row["direction"])
        for name, row in frame.iterrows()
    ]
    columns = ["column", "bits", f"{explanation.quantity}, range", "direction"]
    return [*parts, rows_html(columns, rows), *_rows_of_drivers(network, explanation)]


def _rows_of_drivers(network: DiscretizedBayesNet, explanation: Explanation) -> list[str]:
    """Return a table of what network and rows say where one column is known: drivers, and columns where they differ."""
    target = explanation.target
    columns = list(map(str, explanation.drivers.index))
    compared = farthest_figures(network, target, columns, explanation.state)
    figures = [f for f in compared if f.differs or f.column in columns[:_MOST_DRIVERS]]
    if not figures:
        return []
    parts = [
        _paragraph("The network next to the rows, for each column where they are farthest apart:"),
        figures_html(network, target, figures),
    ]
    joined = {frozenset(edge) for edge in network.edges}
    apart = [f.column for f in figures if f.differs and frozenset((f.column, target)) not in joined]
    if apart:
        parts.append(
            _paragraph(
                "The rows know more than this network, which has no edge between "
                f"{name_in_words(target)} and {listed(map(name_in_words, apart), 8)}."
            )
        )
    return parts


def _effects(network: DiscretizedBayesNet, target: str | None) -> list[str]:
    """Return what columns follow: those whose parents explain most of them, the target first."""
    shown = [network.column_effects(name) for name in network.names if shows_effects(network, name)]
    shown.sort(key=lambda effects: (effects.name != target, -effects.explained))
    if not shown:
        return []
    parts = ["<h2>What columns follow</h2>"]
    for effects in shown[:_MOST_EFFECTS]:
        name = name_in_words(effects.name)
        parts.append(
            f"<figure><p style='text-align: left'><b>{escape(name)}</b>: {escape(effects.sentence)}.</p>"
            f"{effects_svg(network, effects)}</figure>"
        )
    if len(shown) > _MOST_EFFECTS:
        left_out = [name_in_words(effects.name) for effects in shown[_MOST_EFFECTS:]]
        parts.append(_paragraph(f"Not drawn: {listed(left_out, 8)}."))
    return [
        *parts,
        _paragraph(
            "Lines are means, or probabilities of levels, while one column varies; bands hold the central 80 %. Grey "
            "bars show where rows are. Effects are averages over the other columns."
        ),
    ]


def _densities(network: DiscretizedBayesNet, target: str | None, table: Table | None) -> str:
    """Return drawings of the distributions of the target and of the columns nearest to it."""
    by_edges = sorted(network.names, key=lambda name: -len(network.markov_blanket(name)))
    names = by_edges if target is None else [target, *network.markov_blanket(target)]
    figures = [
        f"<figure>{_svg(lambda ax, name=name: plot_density(network, name, table=table, ax=ax), (4.8, 3.0))}</figure>"
        for name in names[:_MOST_DENSITIES]
    ]
    return f'<div class="grid">{"".join(figures)}</div>'


def _origin(network: DiscretizedBayesNet, record: Mapping[str, Any]) -> str:
    """Return where the rows come from, as a table."""
    data, metadata = record.get("data", {}), network.metadata
    facts: list[tuple[str, object]] = [
        ("file", data.get("path")),
        ("rows", f"{n:,}" if isinstance(n := metadata.get("n_rows", data.get("n_rows")), int) else None),
        ("column of weights", data.get("weight")),
        ("rows as evidence", evidence_text(network) or None),
        ("rows left out", len(data.get("dropped_rows", ())) or None),
        ("rows that updates added", sum(metadata.get("updates", ())) or None),
        ("learned", record.get("finished")),
        ("score", f"{record['score']:,.1f} nats" if "score" in record else None),
        ("search", f"{record['counts']['n_eval']:,} networks compared" if "counts" in record else None),
        ("seed", metadata.get("seed")),
    ]
    return rows_html(["", ""], [(name, value) for name, value in facts if value is not None])


def _sureness(network: DiscretizedBayesNet) -> list[str]:
    """Return how sure edges, their directions, and predictions are."""
    parts = []
    if probabilities := recorded_edge_probabilities(network):
        least = sorted(probabilities.items(), key=lambda item: item[1].adjacent)[:_MOST_DRIVERS]
        rows = [(f"{parent} → {child}", percent(of_edge.adjacent)) for (parent, child), of_edge in least]
        parts += [
            _paragraph("The least certain edges, with the probability that the two columns are joined:")
        ]
        parts += [rows_html(["edge", "probability"], rows)]
    else:
        parts.append(_paragraph("Probabilities of the edges were not computed; `gomea-bn confidence` does."))
    reversible = equivalence_class(network).reversible
    if reversible:
        edges = [f"{parent} and {child}" for parent, child in sorted(reversible)]
        parts.append(_paragraph(f"No rows can tell the direction of {listed(edges, 8)}."))
    if text := checks_text(network):
        parts.append(_paragraph(text))
    loss = left_out_loss(network)
    if loss is not None:
        parts.append(
            _paragraph(
                f"A row that the network was not learned from has a log density of about {-loss:.2f} nats."
            )
        )
    return parts


def _limits(network: DiscretizedBayesNet) -> list[str]:
    """Return what readers must not conclude."""
    sentences = [
        "The arrows say what to expect when a value is seen. They are causes only if somebody knows so from elsewhere.",
        "What no column measures is not in the network. Two columns with an unknown common cause look related.",
        "Values outside the range of the rows count as its ends.",
    ]
    n_rows = network.metadata.get("n_rows")
    if isinstance(n_rows, int) and n_rows < 20 * len(network.names):
        sentences.append(
            f"There are {n_rows:,} rows for {counted(len(network.names), 'column')}: weak relations do not show."
        )
    return list(map(_paragraph, sentences))


def _svg(draw: Any, size: tuple[float, float]) -> str:
    """Return what a function draws into axes as SVG, without the head of a file."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasSVG(figure)
    axes: Axes = figure.add_subplot()
    draw(axes)
    text = StringIO()
    figure.savefig(text, format="svg")
    return text.getvalue()[text.getvalue().index("<svg") :]
