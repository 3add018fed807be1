"""Scores of refined networks by plain counting."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from oracles import slow_family_score

from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.cuts.policies import Policy
from gomea_bn.problems.scoring.family_scorer import Family
from gomea_bn.problems.scoring.scored_columns import ScoredVariable


def slow_refined_score(network: DiscretizedBayesNet, frame: pd.DataFrame, method: str) -> float:
    """The score in nats of a network on the rows that its tables were counted from, by counting with dictionaries."""
    names = network.names
    variables = [
        ScoredVariable(name, frame[name].to_numpy(float), 0, (Policy(network.cut_points[name]),))
        if name in network.cut_points
        else ScoredVariable(
            name,
            np.array([network.levels[name].index(level) for level in frame[name]], np.int32),
            len(network.levels[name]),
        )
        for name in names
    ]
    families = [
        Family((v, 0), tuple((names.index(parent), 0) for parent in network.parents(name)))
        for v, name in enumerate(names)
    ]
    charged = len(network.edges) * math.log(max(len(names) - 1, 1)) if method == "density-bd" else 0.0
    return math.fsum(slow_family_score(variables, family, method) for family in families) - charged
