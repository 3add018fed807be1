"""Edge frequencies and held-out densities of ensembles, from subsamples and from bootstrap resamples.

Random networks of 8 variables with known edges give the mean frequency of pairs with and without an edge, and the
area under the ROC curve of the frequencies. Iris and Wine of scikit-learn give the mean log density of held-out rows.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np

from gomea_bn import BayesNetEnsemble, BayesNetLearner
from gomea_bn.experiments.confidence import area_under_curve
from gomea_bn.simulation import random_network

RESAMPLINGS = ("subsample", "bootstrap")


def pair_frequencies(n_networks: int, n_rows: int, n_members: int, resampling: str) -> tuple[list, list]:
    """Return the frequencies of pairs that have an edge in the true network, and of all other pairs."""
    frequencies: tuple[list[float], list[float]] = ([], [])
    for seed in range(n_networks):
        truth = random_network(8, random_state=seed)
        rows = truth.sample(n_rows, random_state=seed)
        model = BayesNetEnsemble(
            BayesNetLearner(max_seconds=None, max_evaluations=20_000, density="bins"),
            n_networks=n_members,
            resampling=resampling,
            random_state=seed,
        ).fit(rows)
        adjacent: dict[frozenset[str], Any] = {
            frozenset((str(row.parent), str(row.child))): row.adjacent
            for row in model.edge_frequency().itertuples()
        }
        edges = {frozenset(edge) for edge in truth.edges}
        for pair in map(frozenset, itertools.combinations(truth.names, 2)):
            frequencies[pair not in edges].append(float(adjacent.get(pair, 0.0)))
    return frequencies


def held_out_density(name: str, n_members: int, resampling: str) -> float:
    """Return the mean log density of the held-out rows of a table of scikit-learn, in nats per row, by 5 folds."""
    from sklearn import datasets
    from sklearn.model_selection import KFold

    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    scores = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(frame):
        model = BayesNetEnsemble(
            BayesNetLearner(max_seconds=None, max_evaluations=20_000, density="bins"),
            n_networks=n_members,
            resampling=resampling,
            random_state=0,
        ).fit(frame.iloc[train])
        scores.append(model.score(frame.iloc[test]))
    return float(np.mean(scores))


def main(arguments: list[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=6, help="Number of random networks.")
    parser.add_argument("--rows", type=int, default=400, help="Number of rows of each.")
    parser.add_argument("--members", type=int, default=8, help="Number of networks in an ensemble.")
    options = parser.parse_args(arguments)
    print(f"{'rows drawn':<12}{'true pairs':>12}{'false pairs':>13}{'AUC':>7}{'iris':>9}{'wine':>9}")
    for resampling in RESAMPLINGS:
        of_true, of_false = pair_frequencies(options.networks, options.rows, options.members, resampling)
        densities = [held_out_density(name, options.members, resampling) for name in ("iris", "wine")]
        print(
            f"{resampling:<12}{np.mean(of_true):>12.2f}{np.mean(of_false):>13.2f}"
            f"{area_under_curve(of_true, of_false):>7.2f}{densities[0]:>9.3f}{densities[1]:>9.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
