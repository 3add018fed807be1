"""The network that a search ends with: its tables, its score, what it records, and a warning of too few rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning.parameters import plain_options
from gomea_bn.learning.recorded_score import score_record
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.texts import counted

if TYPE_CHECKING:
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.search.search import Found

__all__ = ["final_network", "warn_of_many_probabilities"]


def final_network(
    learner: BayesNetLearner, table: Table, found: Found, *, seed: int, data_digest: str
) -> tuple[DiscretizedBayesNet, float]:
    """Return the network of a search with tables counted from the rows, and its score in nats.

    Parameters
    ----------
    learner : BayesNetLearner
        The options.
    table : Table
        The rows.
    found : Found
        Graph, cuts and counts of the search.
    seed : int
        Seed of the search.
    data_digest : str
        SHA-256 of the rows.

    Raises
    ------
    RuntimeError
        If the network breaks a rule about edges, which is a mistake of the search.
    """
    problem, learned, result = found.problem, found.network, found.result
    cuts = learned.cuts
    cardinality = [len(c.levels) if c.levels else len(cuts[c.name]) + 1 for c in table.columns]
    broken = problem.edge_rules.violations(table.names, learned.edges, cardinality)
    if broken:
        raise RuntimeError(
            f"The learned network breaks the knowledge ({'; '.join(broken)}); please report this."
        )
    method, rule = problem.scorer.method, problem.scorer.rule
    # the search charged for void edges, which the network lacks
    score = -float(result.F[0]) + learned.n_void * rule.edge_cost
    network = DiscretizedBayesNet.from_table(
        table,
        [(table.names[parent], table.names[child]) for parent, child in learned.edges],
        cuts,
        pseudo_count=learner.pseudo_count,
        shapes=learned.shapes,
        metadata={
            "scoring_method": method.name,
            "score": score,
            "seed": seed,
            "n_eval": result.n_eval,
            "n_rows": table.n_rows,
            "fixed_cut_points": sorted(learner.cut_points or ()),
            "data_sha256": data_digest,
            "shape": learner.shape,
            **learned.record,
            **score_record(method, rule, plain_options(learner)["penalty"]),
        },
    )
    return network, score


def warn_of_many_probabilities(network: DiscretizedBayesNet, n_rows: int) -> None:
    """Warn the caller of `fit` if a network has more free probabilities than rows, and name its largest table.

    Tables that are computed from conditionals need no rows for each of their probabilities.
    """
    if network.conditionals is not None or network.n_parameters <= n_rows:
        return
    tables = network.tables
    name = max(network.names, key=lambda name: tables[name].size)
    warnings.warn(
        GomeaBnWarning(
            f"The network has {network.n_parameters:,} free probabilities, more than the "
            f"{counted(n_rows, 'row')}. The largest table is that of {name!r}, with "
            f"{counted(tables[name].size, 'cell')}. Few rows decide each of its probabilities.",
            ["allow fewer parents or smaller tables"],
        ),
        stacklevel=3,
    )
