"""`certify`: proof that the graph of a network has the best score for its bins, or a limit of what it misses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.integer_programme import bounded_optimum
from gomea_bn.data.table import Table
from gomea_bn.errors import check_number
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.graph import topological_order
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.problems.scoring.scores import rounding
from gomea_bn.texts import counted

if TYPE_CHECKING:
    import pandas as pd

# the solver's own tolerance
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Certificate:
    """What is proven about the graph of a network among all graphs with the same bins.

    Attributes
    ----------
    score : float
        Score of the network's graph in nats.
    best_score : float
        Score of the best graph that is known, the network's own included.
    bound : float
        Upper limit of the score of all allowed graphs.
    edges : list of (parent, child)
        Edges of the best known graph.
    scoring_method : str
        Name of the score.
    max_indegree : int
        Largest number of parents of a variable in an allowed graph.
    n_parent_sets : int
        Number of parent sets that an optimum can have: each scores higher than all of its subsets.
    stopped_by : str
        "proof" if the best known graph is proven to be optimal, "max_seconds" or "interrupt".
    seconds : float
        Duration.
    """

    score: float
    best_score: float
    bound: float
    edges: list[tuple[str, str]]
    scoring_method: str
    max_indegree: int
    n_parent_sets: int
    stopped_by: str
    seconds: float

    @property
    def gap(self) -> float:
        """Nats by which the network's graph may be worse than the best one; 0 for a proven optimum."""
        return 0.0 if self.is_optimal else self.bound - self.score

    @property
    def is_optimal(self) -> bool:
        """Whether no allowed graph scores higher than that of the network."""
        return self.bound - self.score <= max(_TOLERANCE, rounding(self.score))

    def __str__(self) -> str:
        parents = counted(self.max_indegree, "parent")
        graphs = f"with at most {parents} per variable and the same bins"
        lines = [f"Score of the graph ({self.scoring_method}): {self.score:.4f} nats."]
        if self.is_optimal:
            lines.append(f"It is optimal: no graph {graphs} has a higher score.")
        elif self.stopped_by == "proof":
            lines.append(
                f"It is not optimal: the best graph {graphs} has {self.best_score:.4f}, {self.gap:.4f} nats more."
            )
        else:
            lines.append(
                f"No graph {graphs} has a score above {self.bound:.4f}, which is {self.gap:.4f} nats more."
            )
            if self.best_score - self.score > rounding(self.score):
                lines.append(f"It is not optimal: a graph with {self.best_score:.4f} is known.")
        reason = {"max_seconds": "the time limit", "interrupt": "an interrupt"}.get(self.stopped_by, "proof")
        lines.append(
            f"{counted(self.n_parent_sets, 'parent set')} after pruning; ended by {reason} after {self.seconds:.1f} s."
        )
        return "\n".join(lines)


def certify(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    max_indegree: int = 3,
    max_seconds: float | None = 60.0,
    knowledge: ExpertKnowledge | None = None,
    scoring_method: str | None = None,
    equivalent_sample_size: float | None = None,
) -> Certificate:
    """Prove that a network's graph has the best score for its bins, or limit what it misses.

    The best graph is found by integer programming: parent sets that score no higher than a subset are pruned, cluster
    cuts tighten the linear relaxation, and HiGHS solves what remains. Any score that is a sum over families can be
    proven.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network; only its graph and its bins count.
    data : DataFrame, Table, or path of a CSV, TSV or Parquet file
        Rows to score; normally those that the network was learned from.
    max_indegree : int
        Largest number of parents in the graphs that are compared.
    max_seconds : float, optional
        Time limit; the bound so far is returned. Scoring the parent sets does not end earlier.
    knowledge : ExpertKnowledge, optional
        Rules that the graphs obey. By default all graphs are compared, with tables of at most a million cells.
    scoring_method : str, optional
        Name of a score, as of `BayesNetLearner`. By default that of the network's metadata, or else "density-bd" with
        continuous columns and "bdeu" without. Scores of tables ("bdeu", "bic", "aic", "k2") take bins as levels.
    equivalent_sample_size : float, optional
        Of BDeu, in rows. By default that of the metadata, or else 1.

    Returns
    -------
    Certificate
        After Ctrl-C with the bound so far.

    Raises
    ------
    GomeaBnError
        For data that the network does not fit, for a network that breaks a rule, and for more than twenty million
        parent sets.

    Notes
    -----
    Bounds hold up to the solver's tolerance of about 1e-6 nats. A network that was learned with curves is judged by its
    tables alone, whose score is lower than `BayesNetLearner.score_`; a warning says so.
    """
    check_number("max_seconds", max_seconds, 0, above=True, optional=True)
    began = perf_counter()
    graphs = GraphScores.of(
        network,
        data,
        max_indegree=max_indegree,
        knowledge=knowledge,
        scoring_method=scoring_method,
        equivalent_sample_size=equivalent_sample_size,
    )
    graphs.check_network()
    score = graphs.score(graphs.parents)
    sets = graphs.parent_sets(prune=True)
    left = None if max_seconds is None else max(max_seconds - (perf_counter() - began), 0.0)
    found = bounded_optimum(sets, [topological_order(graphs.parents, graphs.names)], left)
    best = graphs.score(found.parents)
    best_parents = found.parents
    if score >= best:
        best, best_parents = score, graphs.parents
    bound = max(found.bound + graphs.scorer.constant_score, best)
    return Certificate(
        score=score,
        best_score=best,
        bound=bound,
        edges=graphs.edges(best_parents),
        scoring_method=graphs.method_name,
        max_indegree=graphs.rules.max_indegree,
        n_parent_sets=sum(len(of_child.scores) for of_child in sets),
        stopped_by=found.stopped_by,
        seconds=perf_counter() - began,
    )
