"""Fronts for the tests of the review page: small, quick, and with names that try to break a page."""

import base64
import gzip
import html.parser
import json

import numpy as np

from gomea_bn import DiscretizedBayesNet, Front, read_table
from gomea_bn.data import Table
from gomea_bn.front.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Objective
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
