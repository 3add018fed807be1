"""`test_graph`: does the data reject a graph? Missing edges, superfluous edges, and the graph as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.data.sources import AVAILABLE, source_table
from gomea_bn.data.table import MAX_LEVELS, Table
from gomea_bn.errors import GomeaBnError, check_integer
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.parts import random_generator
from gomea_bn.network.rows import evidence_for
from gomea_bn.problems.family_scorer import ScoredFamily
from gomea_bn.texts import counted, listed, shown_name

# errors of verdicts, and rate of false discoveries
_LEVEL = 0.05
# values of permuted columns that are in memory at the same time
_BLOCK = 2**21
# permutations for each edge, whose p-value is not part of the test of the graph
_OF_EDGES = 99
# missing edges in printed words
_MOST_LISTED = 20
# sums of the same counts in another order differ by rounding
_DECIMALS = 8
# what a weak relation has, as the square of w (Cohen, "Statistical power analysis", 1988)
_WEAK = 0.1**2


@dataclass(frozen=True, eq=False)
class GraphTest:
    """Whether rows reject a graph over the bins and levels of their columns.

    Attributes
    ----------
    p_value : float
        Probability of rows that contradict the graph as much as these, if the graph is true; 1 if it lacks no edge.
        Where the rows contradict it more than all permutations it is drawn below what these resolve, and `sentence`
        says "at most".
    missing : DataFrame
        Pairs without an edge, smallest `p_value` first: "parent", "child", "gain", the score in nats that adding the
        edge gains, "p_value" of the independence of the two given the parents of the child, "q_value", the
        false-discovery rate of this pair and all before it (Benjamini & Hochberg, 1995), "p_weak", the probability of
        rows that show as little as these if the relation is a weak one, w = .1 (Cohen, 1988), and "verdict". The data
        "miss" the edge if `q_value` is below .05, and otherwise "do not miss" it if `p_weak` is. Else they "do not
        decide on" it: they are too few to tell a weak relation from none.
    present : DataFrame
        Edges of the graph, largest `gain` first, with the same columns: "gain" is the score that removing the edge
        gains, and "p_value" that of the independence of the two given the other parents of the child. By the same
        rule the data "support" the edge, "speak against" it, or "do not decide on" it.
    n_rows, n_permutations : int
        Numbers of rows that were tested, and of permutations.
    n_incomplete : int
        Number of rows with missing values, which were left out.
    n_edge_rows : int
        Number of rows on which the edges of the graph were tested; of an expert also those with missing values in
        columns that he does not mention.
    """

    p_value: float
    missing: pd.DataFrame
    present: pd.DataFrame
    n_rows: int
    n_permutations: int
    n_incomplete: int = 0
    n_edge_rows: int = 0

    @property
    def sentence(self) -> str:
        """Whether the rows reject the whole graph, in words."""
        verb = "reject" if self.p_value < _LEVEL else "do not reject"
        rows = counted(self.n_rows, "row")
        if self.n_incomplete:
            rows = (
                f"{self.n_rows:,} of {self.n_rows + self.n_incomplete:,} rows, those without missing values,"
            )
        return f"{rows} {verb} the graph (p {self._shown_p_value})."

    @property
    def _shown_p_value(self) -> str:
        """The p-value of the graph in words: below what the permutations resolve it is drawn, and has a bound."""
        least = -np.expm1(self.missing["child"].nunique() * np.log1p(-1 / (1 + self.n_permutations)))
        if self.p_value > least:
            return f"= {self.p_value:.3g}"
        # a bound above the level would not say why the rows reject the graph
        drawn = f", drawn as {self.p_value:.2g}" if least >= _LEVEL else ""
        return f"at most {least:.2g}{drawn}"

    @property
    def notes(self) -> dict[tuple[str, str], str]:
        """What the data say, by (parent, child): about every edge, and about missing ones with `q_value` below .05."""
        return verdict_texts(self.present) | verdict_texts(self._missed)

    @property
    def _missed(self) -> pd.DataFrame:
        return self.missing[self.missing["q_value"] < _LEVEL]

    def note(self, first: str, second: str) -> str:
        """Return what the data say about a pair of columns, as in `notes`.

        Raises
        ------
        GomeaBnError
            For a pair that was not tested: a column is unknown, or has the same bin or level in all rows.
        """
        notes = verdict_texts(self.present) | verdict_texts(self.missing)
        for pair in ((first, second), (second, first)):
            if pair in notes:
                return notes[pair]
        raise GomeaBnError(
            f"'{first}' and '{second}' were not tested: they must be two columns of the network that vary."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; the frames are lists of rows."""
        return {
            "p_value": self.p_value,
            "n_rows": self.n_rows,
            "n_incomplete": self.n_incomplete,
            "n_edge_rows": self.n_edge_rows,
            "n_permutations": self.n_permutations,
            "missing": self.missing.to_dict(orient="records"),
            "present": self.present.to_dict(orient="records"),
        }

    def __str__(self) -> str:
        notes = {True: verdict_texts(self.present), False: verdict_texts(self._missed)}
        lines = [
            f"  {shown_name(first)} {'→' if is_edge else '—'} {shown_name(second)}: {text}"
            for is_edge, of_pairs in notes.items()
            for (first, second), text in list(of_pairs.items())[: None if is_edge else _MOST_LISTED]
        ]
        n_more = len(notes[False]) - _MOST_LISTED
        if n_more > 0:
            lines.append(
                f"  … and {counted(n_more, 'more edge')} that the data miss, all in `missing` (--json)."
            )
        of_edges = [f"Its edges are tested on {counted(self.n_edge_rows, 'row')}:"]
        return "\n".join([self.sentence, *(of_edges if self.n_edge_rows > self.n_rows else []), *lines])


def verdict_texts(frame: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return in words what the data say about pairs, by (parent, child), of `GraphTest.present` or `missing`."""
    return {
        (row["parent"], row["child"]): f"the data {row['verdict']} this edge{_reason(row)}"
        for row in frame.to_dict(orient="records")
    }


def _reason(row: Mapping[Any, Any]) -> str:
    """Return what a verdict rests on, in words."""
    p_value = f"p = {row['p_value']:.2g}, q = {row['q_value']:.2g}"
    if row["q_value"] < _LEVEL:
        return f" ({p_value})"
    if row["p_weak"] < _LEVEL:
        return f": a weak relation would have shown ({p_value}; of a weak relation p = {row['p_weak']:.2g})"
    return f": this number of rows cannot tell a weak relation from none ({p_value})"


def test_graph(
    graph: DiscretizedBayesNet | ExpertNetwork,
    table: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    n_permutations: int = 499,
    scoring_method: str | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> GraphTest:
    """Test whether rows reject a graph over given bins, edge by edge and as a whole.

    In a topological order of a true graph every column is independent of the columns before it given its parents. Each
    of these pairs is tested by its gain in log likelihood, against the gains after permuting the child among the rows
    that agree in the bins and levels of its parents. A p-value is the share of permutations that gain as much, or below
    ten of these the tail of a gamma distribution with the mean and the variance of their gains. Given the columns
    before it, the rank of the largest standardised gain of a child among its permutations is uniform. Ranks of
    different children are therefore independent, and the smallest one gives an exact test of the graph. Ties are
    broken at random.

    Parameters
    ----------
    graph : DiscretizedBayesNet or ExpertNetwork
        Graph and bins, of which the rows need not reach all. The bins and levels of an expert's network are completed
        from the table.
    table : DataFrame, Table or path
        Rows. Those with a missing value in a column of the graph are left out, and counted in `n_incomplete`. The
        edges of an expert are tested on all rows without one in the columns that he mentions.
    n_permutations : int
        Permutations of every column, and at most 99 of them for every edge. The p-value of the graph is at least about
        the number of columns divided by it.
    scoring_method : str, optional
        Score of the gains of edges, as of `certify`; by default that of the network.
    random_state : int, Generator or None
        Seed of the permutations. That of all commands and pages is the default, so that they agree.

    Raises
    ------
    GomeaBnError
        For fewer than two rows without missing values, and tables whose columns do not fit the graph.

    Notes
    -----
    Numbers inside a bin count alike: a child that follows a continuous parent more closely than its bins show may
    depend on a third column given the bins, although it does not given the numbers. The graph is then rejected over
    these bins.

    Examples
    --------
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> network = random_network(5, random_state=1)
    >>> result = test_graph(network, network.sample(300, random_state=1), random_state=1)
    >>> print(0 < result.p_value <= 1)
    True
    """
    check_integer("n_permutations", n_permutations, 1)
    given = graph
    if isinstance(given, ExpertNetwork):
        table = _as_read(table)
    graph, rows, n_incomplete = _network_and_rows(given, table)
    generator = random_generator(random_state)
    # first, so that a seed gives the verdicts of `edge_verdicts`
    present, n_edge_rows = _tested_edges(
        given, table, min(n_permutations, _OF_EDGES), generator, scoring_method
    )
    codes = graph.discretize(rows.to_frame()).to_numpy(np.int64)
    position = {name: v for v, name in enumerate(graph.names)}
    parents = {v: [position[parent] for parent in graph.parents(name)] for name, v in position.items()}
    graphs = GraphScores.of(graph, rows, max_indegree=len(position), scoring_method=scoring_method)
    # parent, child, parents of the child with the edge, and gains
    pairs: list[tuple[int, int, list[int], NDArray[np.float64]]] = []
    ranks = []
    before: list[int] = []
    for name in graph.order:
        child = position[name]
        others = [v for v in before if v not in parents[child] and np.ptp(codes[:, v]) > 0]
        if others and np.ptp(codes[:, child]) > 0:
            gains = _permuted_gains(codes, child, parents[child], others, n_permutations, generator)
            pairs += [
                (v, child, [*parents[child], v], of_pair) for v, of_pair in zip(others, gains, strict=True)
            ]
            ranks.append(_rank(gains, generator))
        before.append(child)
    # the smallest of independent uniform numbers
    p_value = float(-np.expm1(len(ranks) * np.log1p(-min(ranks)))) if ranks else 1.0
    missing = _tested_pairs(graphs, parents, pairs, rows.n_rows)
    missing["verdict"] = _verdicts(missing, "miss", "do not miss")
    missing = missing.sort_values("p_value", kind="stable", ignore_index=True)
    return GraphTest(p_value, missing, present, rows.n_rows, n_permutations, n_incomplete, n_edge_rows)


def edge_verdicts(
    graph: DiscretizedBayesNet | ExpertNetwork,
    table: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[pd.DataFrame, int]:
    """Return what rows say about the edges of a graph, as `GraphTest.present`, and the number of tested rows.

    Nothing else is tested, so that this takes a part of the time of `test_graph`, with the same verdicts by the same
    seed. Parameters and errors are those of `test_graph`.
    """
    return _tested_edges(graph, table, _OF_EDGES, random_generator(random_state))


def _tested_edges(
    graph: DiscretizedBayesNet | ExpertNetwork,
    table: pd.DataFrame | Table | str | os.PathLike[str],
    n_permutations: int,
    generator: np.random.Generator,
    scoring_method: str | None = None,
) -> tuple[pd.DataFrame, int]:
    """Return what `edge_verdicts` returns, by some permutations and with gains of a score."""
    if isinstance(graph, ExpertNetwork):
        table = _as_read(table)
        # a gap in a column that the expert does not mention takes no row away
        if mentioned := set(graph.mentioned(table)):
            table = replace(table, columns=tuple(one for one in table.columns if one.name in mentioned))
    network, rows, _ = _network_and_rows(graph, table)
    codes = network.discretize(rows.to_frame()).to_numpy(np.int64)
    graphs = GraphScores.of(network, rows, max_indegree=len(network.names), scoring_method=scoring_method)
    return _present_edges(network, graphs, codes, n_permutations, generator), rows.n_rows


def _as_read(table: pd.DataFrame | Table | str | os.PathLike[str]) -> Table:
    """Return the table that an expert's network is completed from."""
    return source_table(table, kinds=None, missing=AVAILABLE, max_levels=MAX_LEVELS)


def _network_and_rows(
    graph: DiscretizedBayesNet | ExpertNetwork, table: pd.DataFrame | Table | str | os.PathLike[str]
) -> tuple[DiscretizedBayesNet, Table, int]:
    """Return the network of a graph, the rows without missing values, and the number of those with some."""
    if isinstance(graph, ExpertNetwork):
        table = _as_read(table)
        graph = graph.fitted(_complete_rows(table))
    if not isinstance(graph, DiscretizedBayesNet):
        raise GomeaBnError(
            f"graph must be a DiscretizedBayesNet or an ExpertNetwork, got {type(graph).__name__}."
        )
    given = evidence_for(graph, table, allow_missing=True, allow_empty_bins=True)
    rows = _complete_rows(given)
    return graph, rows, given.n_rows - rows.n_rows


def _present_edges(
    graph: DiscretizedBayesNet,
    graphs: GraphScores,
    codes: NDArray[np.int64],
    n_permutations: int,
    generator: np.random.Generator,
) -> pd.DataFrame:
    """Return the tested edges of a graph; see `GraphTest.present`."""
    position = {name: v for v, name in enumerate(graph.names)}
    parents = {v: [position[parent] for parent in graph.parents(name)] for name, v in position.items()}
    edges = []
    for name, of_child in graph.edges:
        parent, child = position[name], position[of_child]
        others = [v for v in parents[child] if v != parent]
        gains = _permuted_gains(codes, child, others, [parent], n_permutations, generator)
        edges.append((parent, child, others, gains[0]))
    present = _tested_pairs(graphs, parents, edges, len(codes))
    present["verdict"] = _verdicts(present, "support", "speak against")
    return present.sort_values("gain", ascending=False, kind="stable", ignore_index=True)


def _complete_rows(table: Table) -> Table:
    """Return the rows without missing values; raises for fewer than two."""
    rows = table.complete_rows()
    if rows.n_rows >= 2:
        return rows
    gaps = {column.name: column.n_missing for column in table.columns if column.n_missing}
    most = sorted(gaps, key=lambda name: -gaps[name])[:3]
    raise GomeaBnError(
        f"A test of the graph needs at least 2 rows without missing values, got {rows.n_rows} of {table.n_rows}. Most "
        f"are missing in {listed([f'{shown_name(name)!r} ({gaps[name]})' for name in most])}.",
        ["fill them, for example by the network's impute", "test a graph without these columns"],
    )


# pytest collects functions of this name
test_graph.__test__ = False  # type: ignore[attr-defined]


def _tested_pairs(
    graphs: GraphScores,
    parents: Mapping[int, list[int]],
    tested: Sequence[tuple[int, int, list[int], NDArray[np.float64]]],
    n_rows: int,
) -> pd.DataFrame:
    """Return a frame of pairs (parent, child, changed parents of the child, permuted gains), with gains in nats."""
    import scipy.stats

    def scores(families: Iterable[tuple[int, list[int]]]) -> NDArray[np.float64]:
        return graphs.scorer.score(
            [ScoredFamily((child, 0), tuple((v, 0) for v in chosen)) for child, chosen in families]
        )

    gains = np.empty(0)
    if tested:
        gains = scores((child, changed) for _, child, changed, _ in tested)
        gains = gains - scores((child, parents[child]) for _, child, _, _ in tested)
    p_values = np.array([_p_value(of_pair) for *_, of_pair in tested], np.float64)
    return pd.DataFrame(
        {
            "parent": [graphs.names[v] for v, *_ in tested],
            "child": [graphs.names[child] for _, child, *_ in tested],
            "gain": gains,
            "p_value": p_values,
            "q_value": scipy.stats.false_discovery_control(p_values),
            "p_weak": [_p_weak(of_pair, n_rows) for *_, of_pair in tested],
        }
    )


def _verdicts(frame: pd.DataFrame, related: str, unrelated: str) -> NDArray[Any]:
    """Return the word `related` for pairs that depend, and `unrelated` for those without as much as a weak relation."""
    depends, is_weaker = frame["q_value"] < _LEVEL, frame["p_weak"] < _LEVEL
    return np.select([depends, is_weaker], [related, unrelated], "do not decide on")


def _permuted_gains(
    codes: NDArray[np.int64],
    child: int,
    parents: list[int],
    others: list[int],
    n_permutations: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return gains in log likelihood of a child by each of some columns, float64 (n_others, 1 + n_permutations).

    The first gain is that of the rows, the others those after permutations of the child among the rows with equal
    parents.
    """
    n_rows = len(codes)
    strata = _codes_of(codes[:, parents])
    of_child = _codes_of(codes[:, [child]])
    card = int(of_child.max()) + 1
    groups = [_codes_of(np.column_stack([strata, codes[:, v]])) for v in others]
    count = np.arange(n_rows + 1, dtype=np.float64)
    terms = count * np.log(np.maximum(count, 1.0))
    # permutations change the counts of triples only
    of_pairs = [
        terms[np.bincount(part)].sum() for part in (_codes_of(np.column_stack([strata, of_child])), *groups)
    ]
    constants = terms[np.bincount(strata)].sum() - of_pairs[0] - np.array(of_pairs[1:])
    by_stratum = np.argsort(strata, kind="stable")
    gains = np.empty((len(others), 1 + n_permutations))
    step = max(_BLOCK // n_rows, 1)
    for start in range(0, 1 + n_permutations, step):
        size = min(step, 1 + n_permutations - start)
        permuted = np.empty((size, n_rows), np.int64)
        # within a stratum the order of the sorted sums is random
        permuted[:, by_stratum] = of_child[np.argsort(strata + generator.random((size, n_rows)), axis=1)]
        if start == 0:
            permuted[0] = of_child
        for k, group in enumerate(groups):
            n_cells = (int(group.max()) + 1) * card
            cells = permuted + group * card + np.arange(size)[:, None] * n_cells
            counts = np.bincount(cells.ravel(), minlength=size * n_cells).reshape(size, n_cells)
            gains[k, start : start + size] = terms[counts].sum(axis=1) + constants[k]
    return np.round(gains, _DECIMALS)


def _codes_of(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the combinations of values in rows, from 0 on, int64 (n_rows,)."""
    if not columns.shape[1]:
        return np.zeros(len(columns), np.int64)
    return np.unique(columns, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _p_value(gains: NDArray[np.float64]) -> float:
    """Return the probability of a gain as large as the first one, given those of permutations after it."""
    permuted = gains[1:]
    n_larger = int((permuted >= gains[0]).sum())
    share = (1 + n_larger) / len(gains)
    mean, variance = permuted.mean(), permuted.var()
    # permutations with at least the observed gain from which on their share is the p-value
    if n_larger >= 10 or variance == 0:
        return share
    tail = scipy.special.gammaincc(mean**2 / variance, gains[0] * mean / variance)
    return float(min(max(tail, 1e-300), share))


def _p_weak(gains: NDArray[np.float64], n_rows: int) -> float:
    """Return the probability of a gain as small as the first one if the relation is a weak one.

    Twice a gain has about a noncentral chi-squared distribution. Its degrees of freedom are twice the mean gain of the
    permutations, which also counts cells with few rows right, and its noncentrality is n w^2.
    """
    import scipy.stats

    freedom = 2 * float(gains[1:].mean())
    return float(scipy.stats.ncx2.cdf(2 * gains[0], freedom, n_rows * _WEAK)) if freedom > 0 else 1.0


def _rank(gains: NDArray[np.float64], generator: np.random.Generator) -> float:
    """Return a number that is uniform on (0, 1) if the first of the columns is like all others; small for large gains.

    The columns are compared by their largest gain, each gain standardised over the columns.
    """
    spread = gains.std(axis=1, keepdims=True)
    standard = (gains - gains.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    largest = np.round(standard.max(axis=0), _DECIMALS)
    n_larger, n_equal = int((largest > largest[0]).sum()), int((largest == largest[0]).sum())
    return (n_larger + (1 - float(generator.random())) * n_equal) / len(largest)
