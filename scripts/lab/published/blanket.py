"""Predictions of discrete variables from part of their Markov blanket."""

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet


def hit_rate(
    network: DiscretizedBayesNet,
    truth: DiscretizedBayesNet,
    targets: Sequence[str],
    rows: pd.DataFrame,
    share: float,
    generator: np.random.Generator,
) -> float:
    """Return the expected share of right predictions, which are draws from the network's distribution of a target.

    Targets are discrete. A share of the target's Markov blanket in `truth`, rounded up and drawn by the generator, is
    observed; the same variables for all rows.
    """
    try:
        gum: Any = import_module("pyagrum")
    except ImportError:
        raise GomeaBnError('Predictions need pyAgrum: pip install "gomea-bn[experiments]".') from None
    codes = network.discretize(rows)
    model = network.to_pyagrum()
    total = 0.0
    for target in targets:
        blanket = truth.markov_blanket(target)
        n_seen = math.ceil(share * len(blanket) - 1e-9)
        seen = [blanket[i] for i in sorted(generator.permutation(len(blanket))[:n_seen].tolist())]
        engine = gum.LazyPropagation(model)
        engine.addTarget(target)
        posteriors: dict[tuple[int, ...], Any] = {}
        for observed, actual in zip(codes[seen].itertuples(index=False), codes[target], strict=True):
            evidence = tuple(int(code) for code in observed)
            if evidence not in posteriors:
                engine.setEvidence(dict(zip(seen, evidence, strict=True)))
                posteriors[evidence] = engine.posterior(target).toarray()
            total += float(posteriors[evidence][int(actual)])
    return total / (len(targets) * len(rows))
