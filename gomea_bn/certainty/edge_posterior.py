"""`edge_probabilities`: posterior probabilities of edges for given bins, exact or sampled."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.exact_posterior import MOST_EXACT, exact_edge_probabilities
from gomea_bn.certainty.graph_chain import GraphChain, chain_families
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.orders import OrderSearch
from gomea_bn.certainty.parent_sets import ParentSets
from gomea_bn.data.table import Table, column_digests
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, check_choice, check_integer, check_number
from gomea_bn.learning.options import seed_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.equivalence import equivalence_class
from gomea_bn.network.graph import reachable, topological_order
from gomea_bn.network.recorded_edges import EDGE_PROBABILITIES
from gomea_bn.network.rows import table_for
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.runtime.atomic_files import write_text
from gomea_bn.runtime.checkpoints import CheckpointOption, Section, State, opened, option_texts
from gomea_bn.runtime.threads import StopFlag
from gomea_bn.texts import counted, listed, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EdgeProbabilities", "edge_probabilities"]

# chains whose probabilities of a pair differ by more have not mixed
_LARGEST_DIFFERENCE = 0.1
# chains are compared after this number of sweeps, and whenever it has doubled
_FIRST_COMPARISON = 2000
# nats below a subset at which a parent set no longer counts: those of ALARM have a probability of .001 together
_MARGIN = 15.0
# metadata of a network that a search has found
_OF_SEARCH = ("score", "seed", "n_eval", "curves")
# parent sets that chains score: seconds on a thousand rows
_MOST_SETS = 4_000_000
# pairs with a smaller probability of an edge are left out of a network's record
_LEAST_RECORDED = 0.005
# pairs without an edge that a text names
_LIKELY = 0.25


@dataclass(frozen=True)
class EdgeProbabilities:
    """Posterior probabilities of the edges between the variables of a network.

    Attributes
    ----------
    names : tuple of str
        Names of the variables.
    arcs : ndarray of shape (n_variables, n_variables), float64
        Probability of the edge from variable i to variable j at [i, j].
    method : str
        "exact" or "sampled".
    chain_difference : float
        Largest difference of the probability of one arc or pair between two chains; 0 if exact, nan for one chain.
    n_sweeps : int
        Number of sweeps of every chain; 0 if exact.
    stopped_by : str
        "end", or "max_seconds" or "interrupt" for chains that were ended early.
    seconds : float
        Duration.
    max_indegree : int
        Largest number of parents of a variable in the graphs that count.
    n_bin_sets : int
        Number of sets of bins over which the probabilities are means.
    n_candidates : int or None
        Number of candidate parents to which every variable was limited, since there were too many parent sets; None
        without a limit.
    """

    names: tuple[str, ...]
    arcs: NDArray[np.float64]
    method: str
    chain_difference: float
    n_sweeps: int
    stopped_by: str
    seconds: float
    max_indegree: int
    _network: DiscretizedBayesNet = field(repr=False)
    _table: Table = field(repr=False)
    n_bin_sets: int = 1
    n_candidates: int | None = None

    @property
    def adjacent(self) -> NDArray[np.float64]:
        """Probability of an edge in either direction, float64 (n_variables, n_variables), symmetric."""
        return np.asarray(self.arcs + self.arcs.T)

    @property
    def has_mixed(self) -> bool:
        """Whether the chains agree: no probability differs by more than .1 between two of them."""
        return self.method == "exact" or self.chain_difference <= _LARGEST_DIFFERENCE

    def to_frame(self) -> pd.DataFrame:
        """Return one row per (parent, child), the most probable pairs first.

        Columns `arc` (probability of this edge), `adjacent` (of this edge or its reverse) and `direction` (of this edge
        if there is one, nan where there is none). The first two are those of `BayesNetEnsemble.edge_frequency`. Column
        `kind` says how the network has the edge: "compelled" or "reversible" (all or some Markov-equivalent graphs have
        this direction), or "" for an edge that its tables lack.
        """
        import pandas as pd

        parents, children = np.nonzero(~np.eye(len(self.names), dtype=np.bool_))
        arc, adjacent = self.arcs[parents, children], self.adjacent[parents, children]
        edges = equivalence_class(self._network.without_curve_edges())
        kinds = dict.fromkeys(edges.compelled, "compelled") | dict.fromkeys(edges.reversible, "reversible")
        frame = pd.DataFrame(
            {
                "parent": pd.Series([self.names[v] for v in parents], dtype=object),
                "child": pd.Series([self.names[v] for v in children], dtype=object),
                "arc": arc,
                "adjacent": adjacent,
                "direction": np.divide(arc, adjacent, out=np.full(len(arc), np.nan), where=adjacent > 0),
                "kind": [
                    kinds.get((self.names[p], self.names[c]), "")
                    for p, c in zip(parents, children, strict=True)
                ],
            }
        )
        return frame.sort_values(["adjacent", "arc"], ascending=False, kind="stable", ignore_index=True)

    def recorded_network(self) -> DiscretizedBayesNet:
        """Return the network with these probabilities in its metadata.

        Its JSON file, DOT file, plot, comparison and page then show them.
        """
        return self._network.with_metadata(**{EDGE_PROBABILITIES: self._record()})

    def _record(self) -> dict[str, Any]:
        n = len(self.names)
        return {
            "method": self.method,
            "max_indegree": self.max_indegree,
            "n_bin_sets": self.n_bin_sets,
            "n_candidates": self.n_candidates,
            "chain_difference": None if np.isnan(self.chain_difference) else self.chain_difference,
            "has_mixed": bool(self.has_mixed),
            "pairs": [
                [
                    self.names[i],
                    self.names[j],
                    round(float(self.arcs[i, j]), 4),
                    round(float(self.arcs[j, i]), 4),
                ]
                for i in range(n)
                for j in range(i + 1, n)
                if self.adjacent[i, j] >= _LEAST_RECORDED
            ],
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return all probabilities as JSON text; write it to `path` if given.

        "pairs" has [first, second, probability of first → second, of second → first] for every pair whose probability
        of an edge is at least .005.
        """
        content = {"format": "gomea-bn edge probabilities", "format_version": 1, "names": list(self.names)}
        text = json.dumps(content | self._record() | {"threshold": self.threshold()}, indent=1) + "\n"
        if path is not None:
            write_text(path, text)
        return text

    def to_text(self) -> str:
        """Return the probabilities of the network's edges, and of likely edges that it lacks, in words."""
        how = (
            "exact"
            if self.method == "exact"
            else f"sampled, chains differ by at most {self.chain_difference:.2f}"
        )
        of_bins = (
            "given its bins"
            if self.n_bin_sets == 1
            else f"means over {counted(self.n_bin_sets, 'set')} of bins"
        )
        lines = [
            f"Probabilities of edges ({how}; {of_bins}; at most {counted(self.max_indegree, 'parent')}):"
        ]
        rows = self.to_frame()
        edges, others = rows[rows["kind"] != ""], rows[rows["kind"] == ""]
        for parent, child, adjacent, direction, kind in zip(
            *(edges[name] for name in ("parent", "child", "adjacent", "direction", "kind")), strict=True
        ):
            arrow = f"{shown_name(parent)} → {shown_name(child)}"
            lines.append(f"  {arrow}: {adjacent:.2f}, in this direction {adjacent * direction:.2f} ({kind})")
        of_network = {frozenset(edge) for edge in self._network.edges}
        likely = [
            f"{shown_name(parent)} — {shown_name(child)} ({adjacent:.2f})"
            for parent, child, adjacent in zip(
                others["parent"], others["child"], others["adjacent"], strict=True
            )
            if adjacent >= _LIKELY and parent < child and frozenset((parent, child)) not in of_network
        ]
        lines.append(
            f"  Pairs without an edge here, from {_LIKELY}: {listed(likely, 12) if likely else 'none'}."
        )
        if not self.has_mixed:
            lines.append("  The chains have not mixed: these numbers are not probabilities yet.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def threshold(self) -> float:
        """Return the probability at which edges count in the nearest ideal graph.

        An ideal graph has probabilities 0 and 1 only. Among those that split the pairs at a threshold, this is the one
        whose distribution of probabilities is nearest in the L1 norm (Scutari & Nagarajan, "Identifying significant
        edges in graphical models of molecular networks", Artificial Intelligence in Medicine 57, 2013, section 3).
        """
        values = np.sort(self.adjacent[np.triu_indices(len(self.names), 1)])
        if not len(values):
            return 0.5
        # steps of the empirical distribution: a share of the pairs is at most each value
        ends = np.append(values, 1.0)
        lengths = np.diff(np.concatenate(([0.0], ends)))
        shares = np.arange(len(ends)) / len(values)
        distances = [float(np.abs(shares - share) @ lengths) for share in shares]
        first = int(np.argmin(distances))
        # as many pairs stay out as the best share says; half if all or none do
        return float(ends[first]) if 0 < first < len(values) else 0.5

    def consensus_network(self, threshold: float | str = 0.5) -> DiscretizedBayesNet:
        """Return the network of all pairs whose probability of an edge is at least a threshold.

        Each has its more probable direction. A pair that would close a cycle of more probable ones is reversed. Bins,
        shapes and smoothing are those of the network, and tables are counted from the rows.

        Parameters
        ----------
        threshold : float or "auto"
            Probability from 0 to 1. "auto" is `threshold()`.
        """
        if threshold == "auto":
            threshold = self.threshold()
        check_number("threshold", threshold, 0, 1)
        children: dict[str, list[str]] = {name: [] for name in self.names}
        rows = self.to_frame()
        likely = rows[rows["adjacent"] >= threshold]
        for parent, child in zip(likely["parent"], likely["child"], strict=True):
            if child in children[parent] or parent in children[child]:
                continue
            if parent in reachable(children, [child]):
                parent, child = child, parent
            children[parent].append(child)
        network = self._network
        metadata = {name: value for name, value in network.metadata.items() if name not in _OF_SEARCH}
        return DiscretizedBayesNet.from_table(
            self._table,
            [(parent, child) for parent, of_parent in children.items() for child in of_parent],
            network.cut_points,
            pseudo_count=1.0 if network.pseudo_count is None else network.pseudo_count,
            shapes=dict(network.shapes),
            metadata=metadata | {"consensus_threshold": threshold},
        )


def edge_probabilities(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    method: str = "auto",
    max_indegree: int = 3,
    knowledge: ExpertKnowledge | None = None,
    scoring_method: str | None = None,
    equivalent_sample_size: float | None = None,
    edge_cost: float | None = 0.0,
    bins: Sequence[DiscretizedBayesNet] = (),
    n_sweeps: int = 20_000,
    n_chains: int = 4,
    tolerance: float = 0.1,
    max_seconds: float | None = 60.0,
    random_state: Any = None,
    checkpoint: CheckpointOption = None,
) -> EdgeProbabilities:
    """Return the posterior probabilities of edges over the bins of a network, or the mean over several sets of bins.

    With one set, doubt about the bins themselves does not count, and the probabilities are too extreme.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network; its bins count, and its graph starts the first chain.
    data, max_indegree, knowledge, scoring_method, equivalent_sample_size
        As of `certify`. Scores other than marginal likelihoods give approximate posteriors.
    edge_cost : float or None
        Cost of an edge under "density-bd", as of `BayesNetLearner`; None is the cost that the network was learned with.
        0 gives all graphs the same prior probability.
    bins : sequence of DiscretizedBayesNet
        Networks over the same variables, whose bins count instead of those of `network`, such as those of a
        `BayesNetEnsemble`. The probabilities are means over them.
    method : {"auto", "exact", "sampled"}
        "exact": sums over all graphs, for at most 15 variables. "sampled": Markov chains over graphs. "auto": exact for
        at most 15 variables.
    n_sweeps : int
        Largest number of sweeps of a chain, each of which takes as many steps as there are variables. A step draws the
        parents of one to four variables. The first quarter of the sweeps does not count.
    n_chains : int
        Number of chains. The first starts at the order of the network, the others at random orders.
    tolerance : float
        Chains end when the probability of every edge differs by at most this number between any two of them. They are
        compared after 2,000, 4,000, 8,000, ... sweeps.
    max_seconds : float, optional
        Time limit of all chains together.
    random_state : int, numpy Generator, RandomState or None
        Seed of the chains. It repeats the result unless the time limit or Ctrl-C ended a chain.
    checkpoint : Checkpoint or path, optional
        Folder for checkpoints of sampled chains, from which a run that was killed can go on; see
        `gomea_bn.Checkpoint`. The exact method and several sets of bins have none.

    Returns
    -------
    EdgeProbabilities
        A warning says if the chains have not mixed.

    Raises
    ------
    GomeaBnError
        As `certify`, for too many variables, and for a checkpoint of other data or options.

    Notes
    -----
    All allowed graphs have the same prior probability, apart from `edge_cost`. Chains leave out parent
    sets that score 15 nats less than one of their subsets. Where there are more than four million parent sets (more
    than 75 variables with three parents), every variable has only its most likely candidate parents, by the score of a
    family with a single parent; a warning says so.
    """
    check_choice("method", method, ("auto", "exact", "sampled"))
    check_integer("n_sweeps", n_sweeps, 1)
    check_integer("n_chains", n_chains, 1)
    check_number("tolerance", tolerance, 0, 1)
    check_number("max_seconds", max_seconds, 0, above=True, optional=True)
    check_number("edge_cost", edge_cost, 0, optional=True)
    seed = seed_of(random_state)
    began = perf_counter()
    if bins:
        if checkpoint is not None:
            raise GomeaBnError("A checkpoint is for the bins of one network; leave out checkpoint or bins.")
        options = {
            "method": method,
            "max_indegree": max_indegree,
            "knowledge": knowledge,
            "scoring_method": scoring_method,
            "equivalent_sample_size": equivalent_sample_size,
            "edge_cost": edge_cost,
            "n_sweeps": n_sweeps,
            "n_chains": n_chains,
            "tolerance": tolerance,
            "random_state": seed,
        }
        return _mean_over_bins(network, bins, data, max_seconds, options)
    graphs = GraphScores.of(
        network,
        data,
        max_indegree=max_indegree,
        knowledge=knowledge,
        scoring_method=scoring_method,
        equivalent_sample_size=equivalent_sample_size,
        edge_cost=edge_cost,
    )
    n = len(graphs.names)
    is_exact = method == "exact" or (method == "auto" and n <= MOST_EXACT)
    if is_exact and n > MOST_EXACT:
        raise GomeaBnError(f"Exact probabilities are for at most {MOST_EXACT} variables, got {n}.")
    table = graphs.table
    if is_exact:
        sets = graphs.parent_sets(prune=False)
        arcs = exact_edge_probabilities(sets)
        seconds = perf_counter() - began
        return EdgeProbabilities(
            graphs.names, arcs, "exact", 0.0, 0, "end", seconds, max_indegree, network, table
        )
    options = {
        "network": network,
        "max_indegree": max_indegree,
        "knowledge": knowledge,
        "scoring_method": scoring_method,
        "equivalent_sample_size": equivalent_sample_size,
        "edge_cost": edge_cost,
        "n_sweeps": n_sweeps,
        "n_chains": n_chains,
        "tolerance": tolerance,
        "max_seconds": max_seconds,
        "random_state": seed,
    }
    section = opened(
        checkpoint,
        "edge_probabilities",
        lambda: option_texts(options),
        lambda: {f"column {name!r}": digest for name, digest in column_digests(table).items()},
        free=() if random_state is not None else ("random_state",),
    )
    n_candidates = _candidates(n, max_indegree)
    if n_candidates is not None:
        graphs = graphs.with_candidates(n_candidates)
        warnings.warn(
            GomeaBnWarning(
                f"Every variable has only its {n_candidates} most likely candidate parents: {n} variables with at most "
                f"{max_indegree} parents have more than {_MOST_SETS:,} parent sets."
            ),
            stacklevel=2,
        )
    stop = StopFlag(max_seconds)
    generators = np.random.default_rng(seed).spawn(n_chains)
    chains = _chains(graphs, graphs.parent_sets(prune=True, margin=_MARGIN), generators)
    means, steps = _run_chains(chains, n_sweeps, tolerance, stop, section)
    result = EdgeProbabilities(
        names=graphs.names,
        arcs=means.mean(axis=0),
        method="sampled",
        chain_difference=_difference(means),
        n_sweeps=steps,
        stopped_by=stop.reason or "end",
        seconds=perf_counter() - began,
        max_indegree=max_indegree,
        n_candidates=n_candidates,
        _network=network,
        _table=table,
    )
    _warn_of_chains(result)
    return result


def _warn_of_chains(result: EdgeProbabilities) -> None:
    if result.chain_difference > _LARGEST_DIFFERENCE:
        warnings.warn(
            GomeaBnWarning(
                f"The chains have not mixed: they differ by up to {result.chain_difference:.2f} in the probability of "
                f"an edge after {result.n_sweeps:,} sweeps each. Raise n_sweeps or max_seconds."
            ),
            stacklevel=3,
        )


def _mean_over_bins(
    network: DiscretizedBayesNet,
    bins: Sequence[DiscretizedBayesNet],
    data: pd.DataFrame | Table | str | os.PathLike[str],
    max_seconds: float | None,
    options: Mapping[str, Any],
) -> EdgeProbabilities:
    """Return the means of the probabilities over the bins of several networks, each with its share of the time."""
    began = perf_counter()
    table = table_for(network, data)
    results: list[EdgeProbabilities] = []
    for position, of_bins in enumerate(bins):
        if of_bins.names != network.names:
            raise GomeaBnError(f"bins[{position}] must have the variables of the network in the same order.")
        left = max_seconds
        if left is not None:
            left = max(left - (perf_counter() - began), 0.1) / (len(bins) - position)
        with warnings.catch_warnings():
            # once for all of them
            warnings.filterwarnings("ignore", "The chains have not mixed", GomeaBnWarning)
            if position:
                warnings.simplefilter("ignore", GomeaBnWarning)
            results.append(edge_probabilities(of_bins, table, max_seconds=left, **options))
        if results[-1].stopped_by == "interrupt":
            break
    first = results[0]
    mean = replace(
        first,
        arcs=np.mean([result.arcs for result in results], axis=0),
        chain_difference=max(result.chain_difference for result in results),
        n_sweeps=min(result.n_sweeps for result in results),
        stopped_by=next((result.stopped_by for result in results if result.stopped_by != "end"), "end"),
        seconds=perf_counter() - began,
        n_bin_sets=len(results),
        _network=network,
        _table=table,
    )
    _warn_of_chains(mean)
    return mean


def _candidates(n: int, max_indegree: int) -> int | None:
    """Return the number of candidate parents per variable that the number of parent sets allows, None for all."""

    def too_many(candidates: int) -> bool:
        return n * sum(comb(candidates, size) for size in range(max_indegree + 1)) > _MOST_SETS

    most = n - 1
    while most > max_indegree and too_many(most):
        most -= 1
    return None if most == n - 1 else most


def _chains(
    graphs: GraphScores, sets: list[ParentSets], generators: list[np.random.Generator]
) -> list[GraphChain]:
    """Return a chain for every generator, which starts at the best graph of an order."""
    search, families = OrderSearch(sets), chain_families(sets)
    chains = []
    for k, generator in enumerate(generators):
        order = list(topological_order(graphs.parents, graphs.names))
        if k:
            order = generator.permutation(len(sets)).tolist()
        if search.score(search.choices(order)) == -np.inf:
            order = graphs.required_order
        chains.append(GraphChain(families, search.choices(order), order, generator))
    return chains


def _run_chains(
    chains: list[GraphChain], n_sweeps: int, tolerance: float, stop: StopFlag, section: Section
) -> tuple[NDArray[np.float64], int]:
    """Return the mean probabilities of every chain, (n_chains, n, n), and the number of sweeps."""
    taken, agree, comparison = 0, False, _FIRST_COMPARISON

    def state() -> State:
        return {
            "seconds": stop.seconds,
            "taken": taken,
            "agree": agree,
            "comparison": comparison,
            "chains": [chain.state() for chain in chains],
        }

    def restore(saved: State) -> None:
        nonlocal taken, agree, comparison
        taken, agree, comparison = saved["taken"], saved["agree"], saved["comparison"]
        stop.start_clock(saved["seconds"], stop.max_seconds)
        for chain, of_chain in zip(chains, saved["chains"], strict=True):
            chain.restore(of_chain)
        stop.check_deadline()

    section.resume(restore)
    section.keep(state)
    with stop.catching_interrupts():
        # chains take turns, so that the clock ends them at the same step
        while taken < n_sweeps and not agree and not stop.reason:
            for chain in chains:
                chain.sweep()
            taken += 1
            if taken == comparison:
                agree = _difference(_means(chains)) <= tolerance
                comparison *= 2
            section.write_if_due()
            stop.check_deadline()
    section.close()
    return _means(chains), taken


def _means(chains: list[GraphChain]) -> NDArray[np.float64]:
    return np.array([chain.mean_probabilities() for chain in chains])


def _difference(means: NDArray[np.float64]) -> float:
    """Return the largest difference of a probability of an arc or a pair between two chains; nan for one chain."""
    if len(means) < 2:
        return float("nan")
    pairs = means + means.transpose(0, 2, 1)
    return float(max(np.ptp(means, axis=0).max(), np.ptp(pairs, axis=0).max()))
