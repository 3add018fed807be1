"""Samples of published networks, and the one slow scorer that judges every learner in the benchmarks."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from importlib import resources

import numpy as np
import pandas as pd

from gomea_bn.experiments.judge import Codes, Edge, codes_and_cards, family_score, network_score

__all__ = [
    "Codes",
    "Edge",
    "Family",
    "codes_and_cards",
    "consistent_extension",
    "family_score",
    "load_bif_sample",
    "network_score",
    "object_index",
    "random_families",
]

Family = tuple[str, tuple[str, ...]]


def load_bif_sample(name: str, n: int, seed: int) -> tuple[pd.DataFrame, list[Edge], dict[str, list[str]]]:
    """Return a sample of a published network, the network's edges and the levels of its variables.

    Parameters
    ----------
    name : str
        A network that pgmpy ships as BIF: ``"alarm"``, ``"child"``, ``"sachs"``, ...
    n : int
        Number of rows, drawn by ancestral sampling.
    seed : int
        Seed of the NumPy generator.

    Returns
    -------
    frame : DataFrame of shape (n, n_variables)
        Categorical columns in the file's order; the levels that no row takes are categories too.
    edges : list of (parent, child)
    levels : dict of name to list of str
    """
    from pgmpy.readwrite import BIFReader

    path = resources.files("pgmpy") / "utils" / "example_models" / f"{name}.bif.gz"
    reader = BIFReader(string=gzip.decompress(path.read_bytes()).decode())
    model, names = reader.get_model(), list(reader.variable_names)
    cpds = {variable: model.get_cpds(variable) for variable in names}
    levels = {variable: [str(level) for level in cpds[variable].state_names[variable]] for variable in names}
    rng = np.random.default_rng(seed)
    codes: dict[str, Codes] = {}
    while len(codes) < len(names):
        for variable in names:
            parents = cpds[variable].variables[1:]
            if variable in codes or not all(parent in codes for parent in parents):
                continue
            values = cpds[variable].get_values().T  # one row per joint parent state, the last parent fastest
            row = np.zeros(n, dtype=np.int64)
            for parent in parents:
                row = row * len(levels[parent]) + codes[parent]
            steps = np.cumsum(values / values.sum(axis=1, keepdims=True), axis=1)[:, :-1]
            codes[variable] = (rng.random(n)[:, None] >= steps[row]).sum(axis=1)
    frame = pd.DataFrame({v: pd.Categorical.from_codes(codes[v], object_index(levels[v])) for v in names})
    return frame, [(p, v) for v in names for p in cpds[v].variables[1:]], levels


def object_index(levels: Iterable[str]) -> pd.Index:
    """Return the levels as an index of Python strings (pybnesian refuses Arrow's large strings)."""
    return pd.Index(list(levels), dtype=object)


def consistent_extension(
    names: Sequence[str], directed: Iterable[Edge], undirected: Iterable[Edge]
) -> list[Edge]:
    """Return the edges of a DAG with the same skeleton and v-structures as a partially directed graph.

    Parameters
    ----------
    names : sequence of str
    directed : iterable of (parent, child)
    undirected : iterable of (name, name), each edge once or in both directions

    Raises
    ------
    ValueError
        If no such DAG exists.

    Notes
    -----
    Dor and Tarsi (1992): a node without outgoing edges, each of whose undirected neighbours is adjacent to
    all that it touches, can be the last one of the order; it is taken away and the rest treated likewise.
    """
    children: dict[str, set[str]] = {name: set() for name in names}
    parents: dict[str, set[str]] = {name: set() for name in names}
    neighbours: dict[str, set[str]] = {name: set() for name in names}
    edges = list(dict.fromkeys(directed))
    for a, b in edges:
        children[a].add(b)
        parents[b].add(a)
    for a, b in undirected:
        neighbours[a].add(b)
        neighbours[b].add(a)
    touching = {name: children[name] | parents[name] | neighbours[name] for name in names}
    left = list(names)
    while left:
        for sink in left:
            if not children[sink] and all(touching[sink] - {y} <= touching[y] for y in neighbours[sink]):
                break
        else:
            raise ValueError(
                f"The partially directed graph has no consistent extension; {len(left)} nodes remain."
            )
        edges += [(y, sink) for y in names if y in neighbours[sink]]
        left.remove(sink)
        for name in touching[sink]:
            for group in (children, neighbours, touching):
                group[name].discard(sink)
    return edges


def random_families(names: Sequence[str], n: int, max_parents: int, seed: int) -> list[Family]:
    """Return n distinct families (child, parents), uniform in the number 0 .. ``max_parents`` of parents."""
    rng = np.random.default_rng(seed)
    found: dict[Family, None] = {}
    while len(found) < n:
        picked = rng.choice(len(names), size=1 + int(rng.integers(0, max_parents + 1)), replace=False)
        found[names[picked[0]], tuple(names[i] for i in np.sort(picked[1:]))] = None
    return list(found)
