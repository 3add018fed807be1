"""Random networks for the tests, and the slow plain-Python twins of what networks compute."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from gomea_bn import DiscretizedBayesNet, Shape

NOTHING: Mapping[str, Any] = MappingProxyType({})
HOSTILE_NAMES = [
    "a b", "a_b", "a/b", "é", "1x", "network", "Network", "table1", "q\"uo'te", "日本", "a\nb", "-",
    "x;y", "{z}", "A_B", "variable probability", "//c", "/*c*/", "x=1", "default-2", "x_1x", "%20",
    "tablee3", "\\N", "a, b", "class", "x|y", "Default", "  padded", "(p)",
]  # fmt: skip
HOSTILE_LEVELS = [
    ("a b", "a_b", ""), (1, "1", 2.5), ("table", "default1", "}"), (True, False), ("only",), ("never",),
    ("é", "ü", "//", '"', "\n"), (-5, 1e-7, 1e20, 10**25), ("<5", "5-12", "12+", "a, b"),
]  # fmt: skip


RAIN_AND_HEIGHT: dict[str, Any] = {
    "names": ["rain", "height"],
    "edges": [("rain", "height")],
    "cut_points": {"height": [1.0, 2.5]},
    "support": {"height": (0.0, 4.0)},
    "levels": {"rain": ["no", "yes"]},
    "tables": {"rain": [0.25, 0.75], "height": [[0.5, 0.25, 0.25], [0.1, 0.9, 0.0]]},
}


def rain_and_height(**changes: Any) -> DiscretizedBayesNet:
    """Return a network of a discrete and a continuous variable, with some other parts."""
    parts = {**RAIN_AND_HEIGHT, **changes}
    return DiscretizedBayesNet(parts.pop("names"), parts.pop("edges"), **parts)


def small_network(
    seed: int,
    n_variables: int = 4,
    *,
    names: list[str] | None = None,
    levels: list[tuple] | None = None,
    max_bins: int = 4,
    max_parents: int = 2,
    zeros: bool = False,
) -> DiscretizedBayesNet:
    """Return a random network, about half continuous, whose variables are not in topological order."""
    rng = np.random.default_rng(seed)
    names = names or [f"v{position}" for position in range(n_variables)]
    levels = levels or [("lo", "hi"), (0, 1, 2), (False, True)]
    cut_points, support, discrete = {}, {}, {}
    for name in names:
        if rng.random() < 0.5:
            cut_points[name] = np.unique(rng.normal(size=rng.integers(0, max_bins)))
            support[name] = (float(rng.uniform(-20, -10)), float(rng.uniform(10, 20)))
        else:
            discrete[name] = levels[rng.integers(len(levels))]
    cards = {name: len(cut_points[name]) + 1 if name in cut_points else len(discrete[name]) for name in names}
    order = [names[position] for position in rng.permutation(len(names))]
    parents = {}
    for position, name in enumerate(order):
        chosen = rng.permutation(order[:position])[: rng.integers(0, max_parents + 1)].tolist()
        parents[name] = [other for other in names if other in chosen]
    tables = {}
    for name in names:
        table = rng.dirichlet(np.ones(cards[name]), size=tuple(cards[parent] for parent in parents[name]))
        if cards[name] == 1:
            table[...] = 1.0  # the draw is 1 only to the last bit
        elif zeros:
            table[..., 0] = 0.0
            table /= table.sum(axis=-1, keepdims=True)
        tables[name] = table
    return DiscretizedBayesNet(
        names,
        [(parent, name) for name in names for parent in parents[name]],
        cut_points=cut_points,
        support=support,
        levels=discrete,
        tables=tables,
        pseudo_count=float(seed),
        metadata={"seed": seed},
    )


def network_with(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    *,
    cut_points: Mapping[str, Any] = NOTHING,
    support: Mapping[str, Any] = NOTHING,
    levels: Mapping[str, Any] = NOTHING,
    **parts: Any,
) -> DiscretizedBayesNet:
    """Return a network of these parts, which may lack continuous or discrete columns."""
    return DiscretizedBayesNet(names, edges, cut_points=cut_points, support=support, levels=levels, **parts)


def simple_network(
    levels: Mapping[str, Any],
    edges: Iterable[tuple[str, str]],
    rng: np.random.Generator | None = None,
    *,
    cuts: Mapping[str, Sequence[float]] = NOTHING,
    **tables: Any,
) -> DiscretizedBayesNet:
    """Return a network of columns with cuts between 0 and 10 and then of columns with numbers or names of levels.

    Tables that are not given are random or uniform.
    """
    edges = list(edges)
    texts = {
        name: tuple(f"{name}{code}" for code in range(given)) if isinstance(given, int) else tuple(given)
        for name, given in levels.items()
    }
    cards = {name: len(of_name) + (name in cuts) for name, of_name in [*cuts.items(), *texts.items()]}
    for name in cards:
        shape = [*(cards[parent] for parent in cards if (parent, name) in edges), cards[name]]
        cells = np.ones(shape) if rng is None else rng.random(shape) + 0.01
        tables.setdefault(name, cells / cells.sum(axis=-1, keepdims=True))
    support = dict.fromkeys(cuts, (0.0, 10.0))
    return network_with(list(cards), edges, cut_points=cuts, support=support, levels=texts, tables=tables)


def one_column(
    cuts: Any, support: Any, table: Any, *, shape: Shape | None = None, name: str = "x", **parts: Any
) -> DiscretizedBayesNet:
    """Return a network of one continuous column."""
    if shape is not None:
        parts["shapes"] = {name: shape}
    return network_with(
        [name], [], cut_points={name: cuts}, support={name: support}, tables={name: table}, **parts
    )


def with_parts(network: DiscretizedBayesNet, *, edges: Any = None, **parts: Any) -> DiscretizedBayesNet:
    """Return a network with some other parts, and without the shapes, conditionals and records of the given one."""
    for part in ("cut_points", "support", "levels", "tables"):
        parts.setdefault(part, getattr(network, part))
    return DiscretizedBayesNet(network.names, network.edges if edges is None else edges, **parts)


def padded(network: DiscretizedBayesNet, name: str) -> np.ndarray:
    """Return a table with the second, impossible states that formats give to variables of one state."""
    table = network.tables[name]
    full = np.full([max(2, size) for size in table.shape], 1 / max(2, table.shape[-1]))
    inner = tuple(slice(0, size) for size in table.shape)
    full[(*inner[:-1], slice(None))] = 0.0
    full[inner] = table
    return full


def check_tables_of_pyagrum(
    network: DiscretizedBayesNet, loaded: Any, ids: Sequence[str], *, atol: float
) -> dict[str, str]:
    """Compare the tables of a network that pyAgrum has loaded, and return its variables by name."""
    safe = dict(zip(network.names, ids, strict=True))
    assert set(loaded.names()) == set(ids)
    for name in network.names:
        tensor = loaded.cpt(safe[name])
        axes = [safe[other] for other in (*network.parents(name), name)]
        assert set(tensor.names) == set(axes)
        order = [list(reversed(tensor.names)).index(axis) for axis in axes]
        table = np.array(tensor.toarray()).transpose(order)
        np.testing.assert_allclose(table, padded(network, name), atol=atol, rtol=0)
    return safe


def all_states(network: DiscretizedBayesNet):
    """Yield every combination of codes, as a dict by name."""
    ranges = [range(network.cardinality(name)) for name in network.names]
    for codes in itertools.product(*ranges):
        yield dict(zip(network.names, codes))


def joint_probability(network: DiscretizedBayesNet, codes: dict[str, int]) -> float:
    """Return the probability of one combination of codes."""
    product = 1.0
    for name in network.names:
        cell = tuple(codes[other] for other in (*network.parents(name), name))
        product *= float(network.tables[name][cell])
    return product


def slow_code(network: DiscretizedBayesNet, name: str, value) -> int:
    """Return the bin or level of one value by a walk over the cut points or levels."""
    if name in network.levels:
        return list(network.levels[name]).index(value)
    for code, cut in enumerate(network.cut_points[name].tolist()):
        if value <= cut:
            return code
    return len(network.cut_points[name])


def slow_log_density(network: DiscretizedBayesNet, row: dict) -> float:
    """Return the log density of one row, bin by bin."""
    codes = {name: slow_code(network, name, row[name]) for name in network.names}
    probability = joint_probability(network, codes)
    if probability == 0:
        return -math.inf
    total = math.log(probability)
    for name, cuts in network.cut_points.items():
        edges = [network.support[name][0], *cuts.tolist(), network.support[name][1]]
        total -= math.log(edges[codes[name] + 1] - edges[codes[name]])
    return total
