"""Rows of published Gaussian networks of genes and plants, which pgmpy ships as files of the bnlearn repository."""

import json
from collections.abc import Callable
from functools import partial
from graphlib import TopologicalSorter

import numpy as np
import pandas as pd

from lab.published.tables import published_model
from lab.samples.structural_laws import SALT, Sample


def gaussian_network(n_rows: int, seed: int, name: str) -> Sample:
    """Return rows of one of the networks, its columns in an order that depends on the seed.

    A variable is its intercept plus a coefficient times every parent plus normal noise, whose variance the file has.
    """
    generator = np.random.default_rng([SALT, seed, *name.encode()])
    model = json.loads(published_model(f"{name}.json").read_text("utf-8"))
    values: dict[str, np.ndarray] = {}
    for child in TopologicalSorter(
        {node: of["parents"] for node, of in model["cpds"].items()}
    ).static_order():
        of_child = model["cpds"][child]
        (deviation,) = np.sqrt(of_child["variance"])
        values[child] = deviation * generator.standard_normal(n_rows)
        for term, (coefficient,) in of_child["coefficients"].items():
            values[child] += coefficient * (1.0 if term == "(Intercept)" else values[term])
    names = generator.permutation(model["nodes"]).tolist()
    edges = [(parent, child) for parent, child in model["arcs"]]
    return Sample(pd.DataFrame({k: values[k] for k in names}), dict.fromkeys(names, "continuous"), edges)


GAUSSIAN_NETWORKS: dict[str, Callable[[int, int], Sample]] = {
    name.upper(): partial(gaussian_network, name=name)
    for name in ("ecoli70", "magic-niab", "magic-irri", "arth150")
}
"""Functions of the number of rows and a seed, by the name of the network."""
