"""The review page: one self-contained HTML file in which an expert looks through networks and chooses one."""

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

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.runtime.atomic_files import write_text

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.front.front import Front
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["network_report", "page_script", "review_page"]

_SCRIPTS = (
    "elements.js",
    "model.js",
    "view.js",
    "filters.js",
    "scatter.js",
    "choose.js",
    "graph.js",
    "words.js",
    "variable.js",
    "decide.js",
    "page.js",
)
_LARGEST_PLAIN = 1_000_000
"""Characters of data above which they are written compressed."""


def review_page(
    front: Front,
    path: str | os.PathLike[str] | None = None,
    *,
    max_networks: int = 200,
    title: str | None = None,
) -> str:
    """Return a page, as HTML text, to filter, look at and compare the networks of a front, and to choose one.

    The page is one file that needs no network and no server. Its button "Save decision" downloads a
    decision.json with the front's `run_hash`, the chosen network's id (its position in `front`), shortlist,
    notes, weights (none before a slider is moved) and filters. Columns and bins that `ExpertNetwork.fitted` had
    to add are not called the expert's. Probabilities are rounded to 0.0001; of a table with more than 200 rows
    the page holds 200 and says so.

    Parameters
    ----------
    front : Front
        At least one network, all over the same variables. Its `expert` is what edges and bins are compared
        with; its `table`, or the "columns" of its record, gives the histograms, damaged ones not: the page says so.
    path : path, optional
        Where to write the page, whole or not at all.
    max_networks : int
        A larger front is thinned to this many by `Front.thin`, and the page says so; at least 1.
    title : str, optional
        Stands above the page's headline, for example the name of the study.

    Raises
    ------
    GomeaBnError
        For networks over different variables, an expert's network over others, or a file that cannot be
        written.
    """
    from gomea_bn.review.page_data import front_data

    if not is_integer(max_networks) or max_networks < 1:
        raise GomeaBnError(f"max_networks must be an integer of at least 1, got {max_networks!r}.")
    _check_title(title)
    shown, ids = front, list(range(len(front)))
    if len(front) > max_networks:
        shown = front.thin(max_networks)
        place = {original: position for position, original in enumerate(front.original_index)}
        ids = [place[original] for original in shown.original_index]
    return _written(front_data(front, shown, ids, title), path)


def network_report(
    network: DiscretizedBayesNet,
    table: Table | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    record: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> str:
    """Return a page, as HTML text, that shows one network: graph, bins, tables and where it comes from.

    Parameters
    ----------
    network : DiscretizedBayesNet
        What a single-objective learner found.
    table : Table, optional
        The rows it was learned from, for histograms and counts; without it, the "columns" of `record`.
    path : path, optional
        Where to write the page, whole or not at all.
    record : mapping, optional
        Shown as it is: seed, parameters, score and so on; the network's metadata by default.
    title : str, optional
        Stands above the page's headline.

    Raises
    ------
    GomeaBnError
        For a table that lacks the network's variables, or a file that cannot be written.
    """
    from gomea_bn.review.page_data import network_data

    _check_title(title)
    if table is not None and not set(network.names) <= set(table.names):
        missing = [name for name in network.names if name not in table.names]
        raise GomeaBnError(
            f"The table has no column {missing[0]!r}, which the network has; pass the table that it was "
            "learned from."
        )
    facts = network.metadata if record is None else record
    return _written(network_data(network, table, facts, title), path)


def _check_title(title: str | None) -> None:
    if title is not None and not isinstance(title, str):
        raise GomeaBnError(f"title must be text, got {title!r:.80}.")


def _written(data: dict[str, Any], path: str | os.PathLike[str] | None) -> str:
    page = _page(data)
    if path is not None:
        write_text(path, page)
    return page


def _page(data: dict[str, Any]) -> str:
    """Return the HTML text of a page; nothing of the data is ever parsed as HTML or run as a script."""
    style, script = _asset("page.css"), page_script()
    policy = (
        f"default-src 'none'; script-src '{_source_hash(script)}'; style-src '{_source_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "style": style, "script": script, "data": _data_element(data)}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset("page.html"))


def page_script() -> str:
    """Return the script of every page: all script files in one function, so that they share one scope."""
    return '(() => {\n"use strict";\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "})();\n"


def _data_element(data: dict[str, Any]) -> str:
    """Return the script element with the data as JSON, compressed when they are long."""
    # ASCII only: no line separators, no lone surrogates; no "<": nothing that could end the element
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    if len(text) <= _LARGEST_PLAIN:
        return f'<script type="application/json" id="data">{text}</script>'
    packed = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    return f'<script type="application/gzip" id="data">{packed}</script>'


def _source_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return resources.files("gomea_bn.review").joinpath("assets", name).read_text(encoding="utf-8")
