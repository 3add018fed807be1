"""How sure edges are: posterior probabilities as values, texts, files and a network, and frequencies in networks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, check_number
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.edges import equivalence_class
from gomea_bn.network.graph import reachable
from gomea_bn.network.recorded import EDGE_PROBABILITIES, FAMILY_SCORES, NetworkLike
from gomea_bn.runtime.files import head_of, written
from gomea_bn.texts import counted, listed, shown_name

LARGEST_DIFFERENCE = 0.1
"""Largest difference of the probability of a pair between two chains that have mixed."""

# metadata of a network that a search has found
_OF_SEARCH = ("score", FAMILY_SCORES, "seed", "n_eval", "curves")
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
        Number of sweeps of every chain, the least one of several sets of bins; 0 if exact.
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
    n_completed_tables : int
        Number of completed tables over which the probabilities are means; 0 for a table without missing values.
    has_drawn_bins : bool
        Whether chains drew the bins as well.
    n_draws : int
        How often every chain drew the bins after its start, the least number of several tables.
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
    n_completed_tables: int = 0
    has_drawn_bins: bool = False
    n_draws: int = 0

    @property
    def adjacent(self) -> NDArray[np.float64]:
        """Probability of an edge in either direction, float64 (n_variables, n_variables), symmetric."""
        return np.asarray(self.arcs + self.arcs.T)

    @property
    def has_mixed(self) -> bool:
        """Whether the chains agree: no probability differs by more than .1 between two of them."""
        return self.method == "exact" or self.chain_difference <= LARGEST_DIFFERENCE

    def to_frame(self) -> pd.DataFrame:
        """Return one row per (parent, child), the most probable pairs first.

        Columns `arc` (probability of this edge), `adjacent` (of this edge or its reverse) and `direction` (of this edge
        if there is one, nan where there is none). The first two are those of `BayesNetEnsemble.edge_frequency`. Column
        `kind` says how the network has the edge: "compelled" or "reversible" (all or some Markov-equivalent graphs have
        this direction), or "" for a pair without an edge.
        """
        edges = equivalence_class(self._network)
        kinds = dict.fromkeys(edges.compelled, "compelled") | dict.fromkeys(edges.reversible, "reversible")
        frame = _frame_of_arcs(self.names, self.arcs, self.adjacent, ~np.eye(len(self.names), dtype=np.bool_))
        arc, adjacent = frame["arc"].to_numpy(), frame["adjacent"].to_numpy()
        frame["direction"] = np.divide(arc, adjacent, out=np.full(len(arc), np.nan), where=adjacent > 0)
        pairs = zip(frame["parent"], frame["child"], strict=True)
        frame["kind"] = [kinds.get(pair, "") for pair in pairs]
        return frame

    def recorded_network(self) -> DiscretizedBayesNet:
        """Return the network with these probabilities in its metadata.

        Its JSON file, DOT file, plot, comparison and page then show them.
        """
        return self._network.with_metadata(**{EDGE_PROBABILITIES: self._record()})

    def _record(self) -> dict[str, Any]:
        n = len(self.names)
        # pairs with a smaller probability of an edge are left out of a network's record
        return {
            "method": self.method,
            "max_indegree": self.max_indegree,
            "n_bin_sets": self.n_bin_sets,
            "has_drawn_bins": self.has_drawn_bins,
            "n_draws": self.n_draws,
            "n_candidates": self.n_candidates,
            "n_completed_tables": self.n_completed_tables,
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
                if self.adjacent[i, j] >= 0.005
            ],
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return all probabilities as JSON text; write it to `path` if given.

        "pairs" has [first, second, probability of first → second, of second → first] for every pair whose probability
        of an edge is at least .005.
        """
        content = {**head_of("gomea-bn edge probabilities"), "names": list(self.names)}
        return written(
            json.dumps(content | self._record() | {"threshold": self.threshold()}, indent=1) + "\n", path
        )

    def to_text(self) -> str:
        """Return the probabilities of the network's edges, and of likely edges that it lacks, in words."""
        lines = [f"Probabilities of edges ({'; '.join(self._conditions())}):"]
        rows = self.to_frame()
        edges, others = rows[rows["kind"] != ""], rows[rows["kind"] == ""]
        for parent, child, arc, adjacent, kind in zip(
            *(edges[name] for name in ("parent", "child", "arc", "adjacent", "kind")), strict=True
        ):
            arrow = f"{shown_name(parent)} → {shown_name(child)}"
            reverse = f"{shown_name(child)} → {shown_name(parent)}"
            if adjacent < 0.5:
                words = "no edge is likelier"
            elif kind != "compelled":
                # other graphs may fix it
                words = "in this graph the rows cannot tell the direction"
            elif arc < adjacent / 2:
                words = f"the rows prefer {reverse}, {adjacent - arc:.2f}, to the network's direction"
            else:
                words = "the other edges fix the direction"
            lines.append(f"  {arrow}: {adjacent:.2f}, in this direction {arc:.2f} ({words})")
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
        if np.isnan(self.chain_difference):
            lines.append("  One chain does not show whether it has mixed.")
        elif not self.has_mixed:
            lines.append("  The chains have not mixed: these numbers are not probabilities yet.")
        return "\n".join(lines)

    def _conditions(self) -> list[str]:
        """Return how the probabilities were computed, and given what, in words."""
        sampled = (
            "sampled by one chain"
            if np.isnan(self.chain_difference)
            else f"sampled, chains differ by at most {self.chain_difference:.2f}"
        )
        return [
            "exact" if self.method == "exact" else sampled,
            f"bins drawn with the graphs {counted(self.n_draws, 'time')}"
            if self.has_drawn_bins
            else "given one set of bins"
            if self.n_bin_sets == 1
            else f"means over {counted(self.n_bin_sets, 'set')} of bins",
            *(
                [f"missing cells filled by draws, means over {counted(self.n_completed_tables, 'table')}"]
                if self.n_completed_tables
                else []
            ),
            f"at most {counted(self.max_indegree, 'parent')}",
        ]

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


def edge_frequency(networks: Sequence[NetworkLike]) -> pd.DataFrame:
    """Return the frequency of every arc that occurs in at least one of several networks over the same variables.

    There is one row per (parent, child), the most frequent pairs first. Column `arc` is the share of networks with this
    arc, `adjacent` the share with this arc or its reverse.
    """
    names = networks[0].names
    total = np.zeros((len(names), len(names)))
    for index, network in enumerate(networks):
        if network.names != names:
            raise GomeaBnError(
                f"Networks 0 and {index} have different variables ({', '.join(names)}; "
                f"{', '.join(network.names)}), so their edges cannot be counted together."
            )
        total += network.adjacency_matrix
    return _frame_of_arcs(names, total / len(networks), (total + total.T) / len(networks), total > 0)


def _frame_of_arcs(
    names: tuple[str, ...], arcs: NDArray[np.float64], pairs: NDArray[np.float64], is_row: NDArray[np.bool_]
) -> pd.DataFrame:
    """Return the values of some arcs and of their pairs, all of shape (n, n), as rows, the largest pairs first."""
    parents, children = np.nonzero(is_row)
    frame = pd.DataFrame(
        {
            "parent": pd.Series([names[position] for position in parents], dtype=object),
            "child": pd.Series([names[position] for position in children], dtype=object),
            "arc": arcs[is_row],
            "adjacent": pairs[is_row],
        }
    )
    return frame.sort_values(["adjacent", "arc"], ascending=False, kind="stable", ignore_index=True)
