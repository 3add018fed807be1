"""Fronts for the tests of the review page: small, quick, and with names that try to break a page."""

import base64
import gzip
import html.parser
import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import DiscretizedBayesNet, Front, read_table
from gomea_bn.data import Table
from gomea_bn.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, TARGET, Objective
from gomea_bn.network.tables import PseudoCount
from gomea_bn.simulation import random_network

HOSTILE_NAMES = [
    "</script><script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 1'>",
    "\"quotes' and `ticks`", "very long " * 40 + "name", "עברית שם", "اسم المتغير", "😀 👩‍👩‍👧",
    "a\nb\u2028c\u2029d", "日本語の変数名", "&lt;b&gt; {{data}} ${x} \\u003c", "%20#network=1&pin=2", "__proto__",
]  # fmt: skip
PRICE = Objective("price <b>", "Price of <measuring>", '€ per "person"', "cheaper")


def learned_table(n_variables: int, n_rows: int, seed: int, names: list[str] | None = None) -> Table:
    """Return rows drawn from a random network, with other column names if given."""
    frame = random_network(n_variables, random_state=seed).sample(n_rows, seed)
    if names:
        frame.columns = names
    return read_table(frame)


def random_candidate(table: Table, rng: np.random.Generator, order: np.ndarray) -> DiscretizedBayesNet:
    """Return a network over a table: edges along an order, quantile bins."""
    names = table.names
    edges = []
    for position in range(1, len(order)):
        for tail in rng.choice(position, min(position, int(rng.poisson(1.1))), replace=False):
            edges.append((names[order[tail]], names[order[position]]))
    cuts = {}
    for column in table.columns:
        if column.is_continuous:
            cuts[column.name] = np.unique(np.quantile(column.values, np.arange(1, rng.integers(2, 5)) / 5))
    return DiscretizedBayesNet.from_table(table, edges, cuts)


def example_front(
    *,
    n_networks: int = 12,
    n_variables: int = 6,
    n_rows: int = 200,
    n_objectives: int = 3,
    seed: int = 1,
    names: list[str] | None = None,
    expert: bool = True,
    keep_table: bool = True,
    record: dict | None = None,
) -> Front:
    """Return a front of random networks; values are drawn so that no network is better than another."""
    rng = np.random.default_rng(seed)
    table = learned_table(n_variables, n_rows, seed, names)
    order = rng.permutation(n_variables)
    networks = [random_candidate(table, rng, order) for _ in range(n_networks)]
    share = np.sort(rng.random(n_networks))
    columns = [
        20 - 5 * share,
        np.rint(40 + 1000 * share**2 + np.arange(n_networks)),
        3 * rng.random(n_networks),
    ]
    values = np.column_stack([*columns, rng.random(n_networks)])[:, :n_objectives]
    return Front(
        [MISFIT, COMPLEXITY, EXPERT_DISTANCE, PRICE][:n_objectives],
        values,
        networks,
        table=table if keep_table else None,
        expert=random_candidate(table, rng, order[::-1]) if expert else None,
        record={"seed": seed, **(record or {})},
    )


def question_front(
    *,
    target: str = "died",
    n_rows: int = 400,
    seed: int = 7,
    pseudo_count: PseudoCount = 1.0,
    metadata: dict[str, Any] | None = None,
    missing: float = 0.0,
    names: dict[str, str] | None = None,
) -> Front:
    """Return a front about one column, "died" or "cost", of networks from none to four predictors."""
    rng = np.random.default_rng(seed)
    age, creatinine = rng.normal(60, 12, n_rows), np.exp(rng.normal(0, 0.4, n_rows))
    grade, noise = rng.integers(1, 4, n_rows), rng.normal(size=n_rows)
    risk = (age - 60) / 12 + 0.8 * (grade - 2) + 2.4 * np.log(creatinine) - 1
    died = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-risk)), "yes", "no")
    cost = (1000 + 300 * risk + rng.normal(scale=250, size=n_rows)).round(-1)
    columns = {"age": age.round(1), "creatinine": creatinine.round(2), "grade": grade.astype(str)}
    frame = pd.DataFrame({**columns, "noise": noise, "died": died, "cost": cost})
    if missing:
        frame.loc[rng.random(n_rows) < missing, "age"] = np.nan
    own = dict(zip(frame.columns, frame.columns)) | (names or {})
    table = read_table(frame.rename(columns=own), kinds={own["age"]: "continuous"}, missing="keep")
    other = "cost" if target == "died" else "died"
    chains = [
        [],
        [("age", target)],
        [("age", target), ("creatinine", target)],
        [("age", target), ("creatinine", target), (target, "grade")],
        [("age", target), ("creatinine", target), ("grade", target), (target, other)],
    ]
    networks = []
    for n_bins, edges in itertools.product((2, 3), chains):
        inside = {name for edge in edges for name in edge} | {target}
        cuts = {
            own[name]: np.nanquantile(frame[name], np.arange(1, n_bins) / n_bins) if name in inside else []
            for name in ("age", "creatinine", "noise", "cost")
        }
        arcs = [(own[parent], own[child]) for parent, child in edges]
        networks.append(
            DiscretizedBayesNet.from_table(table, arcs, cuts, pseudo_count=pseudo_count, metadata=metadata)
        )
    rows = np.arange(len(networks))
    losses = 0.62 - 0.02 * rows - 0.01 * (rows % 5)
    sizes = [network.n_parameters for network in networks]
    record = {"seed": seed, "parameters": {"target": own[target], "misfit": "left-out"}}
    return Front(
        [replace(TARGET, unit="nats per row"), COMPLEXITY],
        np.column_stack([losses, sizes]),
        networks,
        table=table,
        record=record,
    )


class Elements(html.parser.HTMLParser):
    """Collects what a browser would find: tags with attributes, and the text inside script and style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts[-1] += data

    def all(self, tag):
        return [(attributes, text) for (name, attributes), text in zip(self.tags, self.texts) if name == tag]


def page_data(page: str) -> dict:
    """Return the data of a page as a browser would read them."""
    for attributes, text in Elements(page).all("script"):
        if attributes.get("id") == "data":
            if attributes["type"] == "application/gzip":
                text = gzip.decompress(base64.b64decode(text)).decode()
            return json.loads(text)
    raise AssertionError("the page has no data")


def stored(family: dict) -> np.ndarray:
    """Return the probabilities of a family that the page holds."""
    return np.frombuffer(base64.b64decode(family["t"]), "<f8")


def edges_in(data: dict, network: dict) -> set[tuple[str, str]]:
    names = [variable["name"] for variable in data["variables"]]
    return {
        (names[parent], names[child])
        for child, family in enumerate(network["f"])
        for parent in data["families"][child][family]["p"]
    }
