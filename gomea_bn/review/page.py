"""The review page: a self-contained HTML file in which an expert compares networks and chooses one."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import GomeaBnError, check_integer, nearest
from gomea_bn.runtime.files import written

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.data.table import Table
    from gomea_bn.front.front import Front
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

_SCRIPTS = (
    "elements.js",
    "model.js",
    "view.js",
    "filters.js",
    "rules.js",
    "scatter.js",
    "choose.js",
    "drawing.js",
    "zoom.js",
    "overview.js",
    "picture.js",
    "search.js",
    "graph.js",
    "bars.js",
    "edge.js",
    "words.js",
    "density.js",
    "effects.js",
    "variable.js",
    "findings.js",
    "rows.js",
    "answers.js",
    "cards.js",
    "target.js",
    "prediction.js",
    "decide.js",
    "page.js",
)
_WORKER_SCRIPTS = ("junction_tree.js", "sampling.js", "insight.js", "inference_worker.js")
_LARGEST_PLAIN = 1_000_000
"""Number of characters above which the data are compressed."""


def review_page(
    front: Front,
    path: str | os.PathLike[str] | None = None,
    *,
    max_networks: int = 200,
    test_graph: bool = False,
    title: str | None = None,
) -> str:
    """Return a page, as HTML text, on which a person filters and compares the networks of a front and chooses one.

    The page is a single file that works offline. Its button "Save decision" downloads decision.json, which contains
    the front's `run_hash`, the id of the chosen network (its position in `front`), the shortlist, notes, weights
    (only if a slider was moved) and filters. The page does not attribute to the expert the columns and bins that
    `ExpertNetwork.fitted` added. Of a probability table with more than 200 rows the page shows 200 rows, and says so.

    The page answers: bins, levels and typed values of some columns are evidence, and the distributions of all columns
    given the evidence are exact, as those of `DiscretizedBayesNet.query`. Where a network has too large tables for
    exact answers, the page estimates them from 20,000 drawn cases, and says so with the error.

    The page opens on the network that `Front.recommended` names, with the reason. For a front with the objective
    "target" it first shows how well networks predict that column on rows that their tables leave out: from
    `front.table`, or else from "predictions" in `front.record`, without which the page says that there are none.

    Over the histogram of a variable the page draws the marginal density of the network, as
    `gomea_bn.plots.plot_density` does. If its tables are too large, the density comes from a sample of 10,000 rows. If
    there are too many such networks, it is left out, and the page says so.

    Parameters
    ----------
    front : Front
        At least one network; all networks have the same variables. Edges and bins are compared with `front.expert`.
        Histograms come from `front.table` or else from "columns" in `front.record`; a damaged one is left out, and
        the page says so.
    path : path, optional
        File to write the page to. If writing fails, an existing file is unchanged.
    max_networks : int
        Largest number of networks on the page, at least 1. A larger front is thinned by `Front.thin`, and the page
        says so.
    test_graph : bool
        Whether to test the graph of `front.expert` on `front.table` (`gomea_bn.certainty.test_graph`), which takes
        seconds to minutes. The page then says whether the rows reject the graph, and next to every edge whether they
        support, reject or miss it.
    title : str, optional
        Text above the page's headline, for example the name of the study.

    Raises
    ------
    GomeaBnError
        If the networks, or the expert's network, differ in their variables, or if the file cannot be written. Also
        for a test without an expert's network or a table, and as `gomea_bn.certainty.test_graph`.
    """
    from gomea_bn.review.page_data import front_data

    check_integer("max_networks", max_networks, 1)
    _check_title(title)
    shown, ids = front, list(range(len(front)))
    if len(front) > max_networks:
        shown = front.thin(max_networks)
        position_of = {original: position for position, original in enumerate(front.original_index)}
        ids = [position_of[original] for original in shown.original_index]
    return written(_page(front_data(front, shown, ids, title, test_graph=test_graph)), path)


def network_report(
    network: DiscretizedBayesNet,
    table: Table | pd.DataFrame | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    record: Mapping[str, Any] | None = None,
    test_graph: bool = False,
    title: str | None = None,
) -> str:
    """Return a page, as HTML text, that shows one network, its graph, bins, probability tables and origin, and answers.

    The page gives the distributions of all columns under evidence, see `review_page`.

    Parameters
    ----------
    network : DiscretizedBayesNet
        Network to show. Answers on the page come from its tables over the shown bins. Of a network with conditionals
        the page also draws their marginal density as a dashed line.
    table : Table or DataFrame, optional
        Rows from which the network was learned, for histograms and counts. Without it they come from "columns" in
        `record`.
    path : path, optional
        File to write the page to. If writing fails, an existing file is unchanged.
    record : mapping, optional
        Facts to list on the page, such as the seed, parameters and score; the network's metadata by default.
    test_graph : bool
        Whether to test the graph of the network on the table, as of `review_page`.
    title : str, optional
        Text above the page's headline.

    Raises
    ------
    GomeaBnError
        If the table lacks a variable of the network, or if the file cannot be written. Also for a test without a
        table, and as `gomea_bn.certainty.test_graph`.
    """
    from gomea_bn.data.table import Table
    from gomea_bn.network.rows import table_for
    from gomea_bn.review.page_data import network_data

    _check_title(title)
    if table is not None and not isinstance(table, Table):
        table = table_for(network, table, allow_missing=True)
    if table is not None and not set(network.names) <= set(table.names):
        missing = [name for name in network.names if name not in table.names]
        hint = nearest(missing[0], table.names)
        raise GomeaBnError(
            f"The table has no column {missing[0]!r}, which is a variable of the network.{hint} Pass the table "
            "from which the network was learned."
        )
    facts = network.metadata if record is None else record
    return written(_page(network_data(network, table, facts, title, test_graph=test_graph)), path)


def _check_title(title: str | None) -> None:
    if title is not None and not isinstance(title, str):
        raise GomeaBnError(f"title must be text, got {title!r:.80}.")


def _page(data: dict[str, Any]) -> str:
    """Return the HTML text of a page, in which data are never parsed as HTML or run as a script."""
    style, script = style_of("gomea_bn.review", "page.css"), page_script()
    policy = (
        f"default-src 'none'; script-src '{source_hash(script)}'; style-src '{source_hash(style)}'; "
        "img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "style": style,
        "script": script,
        "worker": worker_script(),
        "data": _data_element(data),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html"))


def page_script() -> str:
    """Return the script of every page: all script files in one function, so that they share one scope."""
    return '(() => {\n"use strict";\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "})();\n"


def worker_script() -> str:
    """Return the script that computes answers; the page starts it in a worker."""
    return '"use strict";\n' + "\n".join(_asset(name) for name in _WORKER_SCRIPTS)


def _data_element(data: dict[str, Any]) -> str:
    """Return the script element that contains the data as JSON, compressed if they are long."""
    # ASCII excludes line separators and lone surrogates; without "<" the data cannot end the element
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    if len(text) <= _LARGEST_PLAIN:
        return f'<script type="application/json" id="data">{text}</script>'
    # the greatest level takes three times as long for 2 % less
    packed = base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
    return f'<script type="application/gzip" id="data">{packed}</script>'


def style_of(package: str, name: str) -> str:
    """Return the rules of a page: those of all pages, and then those of a file in the assets of a package."""
    return _asset("base.css") + resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


def source_hash(text: str) -> str:
    """Return what a policy of a page allows, of a script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return resources.files("gomea_bn.review").joinpath("assets", name).read_text(encoding="utf-8")
