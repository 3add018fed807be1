"""Samples of published networks, and the one slow scorer that judges every learner in the benchmarks."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Sequence
from importlib import resources

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

Edge = tuple[str, str]
Family = tuple[str, tuple[str, ...]]
Codes = NDArray[np.int64]


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


def codes_and_cards(frame: pd.DataFrame) -> tuple[Codes, list[int]]:
    """Return the level codes, shape (n_rows, n_variables), and the number of levels of each column."""
    codes = np.column_stack([frame[name].cat.codes.to_numpy() for name in frame.columns])
    return codes.astype(np.int64), [len(frame[name].cat.categories) for name in frame.columns]


def family_score(
    codes: Codes, cards: Sequence[int], child: int, parents: Sequence[int], score: str, ess: float
) -> float:
    """Return BDeu or BIC of one family, in nats, recomputed from the counts.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_variables), int
        Level codes, 0 .. cards[i] - 1.
    cards : sequence of int
        Levels per variable, the unobserved ones included; q is the product over the parents.
    child, parents : int, sequence of int
        Column numbers.
    score : {"bdeu", "bic"}
    ess : float
        Equivalent sample size of BDeu: each cell has the prior count ess / (q r). BIC ignores it.

    Notes
    -----
    BDeu: Heckerman, Geiger, Chickering (1995). BIC: log likelihood - (ln n / 2) q (r - 1).
    Cells without rows add nothing to either score, so only the observed ones are visited.
    """
    q, r = math.prod(cards[parent] for parent in parents), cards[child]
    if q * r >= 2**62:
        raise OverflowError(
            f"The table of column {child} has {q * r} cells; family_score counts below 2**62."
        )
    joint = np.zeros(len(codes), dtype=np.int64)
    for parent in parents:
        joint = joint * cards[parent] + codes[:, parent]
    cells, cell_counts = np.unique(joint * r + codes[:, child], return_counts=True)
    _, inverse = np.unique(cells // r, return_inverse=True)
    row_counts = np.bincount(inverse, weights=cell_counts)
    if score == "bdeu":
        row_prior, cell_prior = ess / q, ess / (q * r)
        rows = gammaln(row_prior) - gammaln(row_counts + row_prior)
        return float(rows.sum() + (gammaln(cell_counts + cell_prior) - gammaln(cell_prior)).sum())
    if score == "bic":
        log_likelihood = (cell_counts * np.log(cell_counts / row_counts[inverse])).sum()
        return float(log_likelihood - 0.5 * math.log(len(codes)) * q * (r - 1))
    raise ValueError(f'score must be "bdeu" or "bic", got {score!r}.')


def network_score(frame: pd.DataFrame, edges: Iterable[Edge], score: str, ess: float) -> float:
    """Return the sum of the family scores of a network, in nats; ``edges`` are (parent, child) names."""
    codes, cards = codes_and_cards(frame)
    column = {name: i for i, name in enumerate(frame.columns)}
    parents: dict[str, list[int]] = {name: [] for name in frame.columns}
    for parent, child in edges:
        parents[child].append(column[parent])
    return sum(family_score(codes, cards, column[name], parents[name], score, ess) for name in frame.columns)


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
