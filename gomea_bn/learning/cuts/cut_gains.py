"""What each cut of a network is worth: the score with it minus the score without it."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.cut_cycle import RefinementSession
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.rows import table_for
from gomea_bn.problems.cuts.policies import Policy
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.scores import recorded_method
from gomea_bn.runtime.threads import in_threads


def cut_gains(
    network: DiscretizedBayesNet, data: pd.DataFrame | Table | str | os.PathLike[str]
) -> dict[str, NDArray[np.float64]]:
    """Return what every cut of a network gains: the score minus the score when the two bins next to it are merged.

    The graph, all other cuts, and the distribution inside the bins stay. So the gain is the change of the score of the
    variable's own family and of its children's families. `DiscretizedBayesNet.summary` prints the gains.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network.
    data : DataFrame, Table, or path of a CSV, TSV or Parquet file
        Rows to score; normally those that the network was learned from. Values may be missing: then gains are of the
        score on available cases, see `BayesNetLearner`.

    Returns
    -------
    dict of str to ndarray of shape (n_bins - 1,)
        Gains in nats by continuous variable, float64, in the order of `network.cut_points`. Cuts are scored under the
        density score that the metadata of the network name, with the costs, penalty and prior there, or else under
        "density-bd". A cut that a user has fixed costs nothing.

    Raises
    ------
    GomeaBnError
        For data that the network does not fit.
    """
    if not isinstance(network, DiscretizedBayesNet):
        raise GomeaBnError(f"network must be a DiscretizedBayesNet, got {type(network).__name__}.")
    method = recorded_method(network.metadata, "density-bd")
    session = RefinementSession(network, table_for(network, data, allow_missing=True), method, None, None)
    variables = session.scored_variables(session.network_cuts)
    for v, cuts in session.network_cuts.items():
        chosen = variables[v].policies[0].chosen
        merged = (Policy(np.delete(cuts, position), chosen) for position in range(len(cuts)))
        variables[v] = variables[v].with_policies([Policy(cuts, chosen), *merged])
    scorer = FamilyScorer(variables, session.method, session.rule)

    def gains_of(v: int) -> NDArray[np.float64]:
        of_thread = scorer.for_thread()
        scores = np.array(
            [_score(of_thread, session, v, policy) for policy in range(len(session.network_cuts[v]) + 1)]
        )
        return np.asarray(scores[0] - scores[1:])

    gains = in_threads(
        gains_of, session.network_cuts, n_threads=-1 if session.table.n_rows > MANY_ROWS else 1
    )
    return {network.names[v]: of_cuts for v, of_cuts in zip(session.network_cuts, gains, strict=True)}


def _score(scorer: FamilyScorer, session: RefinementSession, v: int, policy: int) -> float:
    """Return the score in nats of the families of a variable and its children under a policy of the variable."""
    families = [
        ScoredFamily(
            (child, policy if child == v else 0), tuple((p, policy if p == v else 0) for p in parents)
        )
        for child, parents in enumerate(session.graph.parents)
        if child == v or v in parents
    ]
    return float(scorer.score(families, use_cache=False).sum())
