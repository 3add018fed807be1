"""Networks learned from rows with missing values: our scores on available cases against what is done otherwise.

Rows are drawn from networks with known edges, and values are removed completely at random, with a chance that depends
on a column that stays complete, or with a chance that depends on the value itself. Every method gives the F1 score of
its skeleton, the mean log density of complete held-out rows, and the seconds it took.

The oracle, structural EM, completes the rows by draws from the present network and learns again from the completed
rows, beginning with the network of available cases, until the edges repeat (Friedman 1998).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
import pandas as pd
from printing import print_table

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.errors import GomeaBnError
from gomea_bn.experiments.tables import published_network
from gomea_bn.simulation import random_network

MECHANISMS = ("random", "observed", "own")
_MOST_ROUNDS = 5
# rows with a value above the median lose it this many times as often as the others
_ODDS = 4.0


def amputated(
    frame: pd.DataFrame, mechanism: str, share: float, generator: np.random.Generator
) -> pd.DataFrame:
    """Return the frame with a share of its values missing; under "observed" a third of the columns stays complete."""
    ranks = pd.DataFrame({name: _ranks(frame[name]) for name in frame.columns})
    names = list(generator.permutation(frame.columns))
    complete = names[: max(len(names) // 3, 1)] if mechanism == "observed" else []
    result = frame.copy()
    for name in names[len(complete) :]:
        chances = np.full(len(frame), share)
        if mechanism != "random":
            cause = name if mechanism == "own" else str(generator.choice(complete))
            relative = np.where(ranks[cause] > 0.5, _ODDS, 1.0)
            chances = np.minimum(share * relative / relative.mean(), 0.95)
        result[name] = result[name].mask(generator.random(len(frame)) < chances)
    return result


def _ranks(series: pd.Series) -> pd.Series:
    values = series.cat.codes if isinstance(series.dtype, pd.CategoricalDtype) else series
    return values.rank(pct=True)


def learner_of(options: argparse.Namespace, seed: int) -> BayesNetLearner:
    """Return the learner that all methods use."""
    return BayesNetLearner(
        max_seconds=None,
        max_evaluations=options.evaluations,
        scoring_method="density-bd",
        pseudo_count="auto",
        random_state=seed,
    )


def imputed(frame: pd.DataFrame, way: str) -> pd.DataFrame:
    """Return the frame filled by scikit-learn: column means and most frequent levels, or nearest neighbours."""
    from sklearn.impute import KNNImputer, SimpleImputer

    codes = pd.DataFrame(
        {
            name: frame[name].cat.codes.astype(float).replace(-1.0, np.nan)
            if isinstance(frame[name].dtype, pd.CategoricalDtype)
            else frame[name]
            for name in frame.columns
        },
        dtype=np.float64,
    )
    if way == "neighbours":
        filled = KNNImputer().fit_transform(((codes - codes.mean()) / codes.std()).to_numpy())
        filled = filled * codes.std().to_numpy() + codes.mean().to_numpy()
    else:
        is_level = [isinstance(dtype, pd.CategoricalDtype) for dtype in frame.dtypes]
        filled = SimpleImputer(strategy="mean").fit_transform(codes)
        frequent = SimpleImputer(strategy="most_frequent").fit_transform(codes)
        filled[:, is_level] = frequent[:, is_level]
    result = frame.copy()
    for position, name in enumerate(frame.columns):
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            categories = frame[name].cat.categories
            nearest = np.clip(np.rint(filled[:, position]), 0, len(categories) - 1).astype(int)
            result[name] = pd.Categorical.from_codes(nearest, categories)
        else:
            result[name] = filled[:, position]
    return result


def structural_em(frame: pd.DataFrame, options: argparse.Namespace, seed: int) -> DiscretizedBayesNet:
    """Return the network of the oracle."""
    network = learner_of(options, seed).fit(frame).network_
    seen = {frozenset(network.edges)}
    for step in range(_MOST_ROUNDS):
        completed = network.impute(frame, "draw", random_state=np.random.default_rng([seed, step]))
        network = learner_of(options, seed).fit(completed).network_
        if frozenset(network.edges) in seen:
            break
        seen.add(frozenset(network.edges))
    return network


def methods(
    rows: pd.DataFrame, gaps: pd.DataFrame, options: argparse.Namespace, seed: int
) -> Iterator[tuple[str, Callable[[], DiscretizedBayesNet]]]:
    """Give the methods by name, each a function that learns a network."""
    yield "full data", lambda: learner_of(options, seed).fit(rows).network_
    yield "available", lambda: learner_of(options, seed).fit(gaps).network_
    yield (
        "complete rows",
        lambda: learner_of(options, seed).set_params(missing="drop").fit(gaps).network_,
    )
    yield "mean", lambda: learner_of(options, seed).fit(imputed(gaps, "mean")).network_
    yield "neighbours", lambda: learner_of(options, seed).fit(imputed(gaps, "neighbours")).network_
    if options.oracle:
        yield "structural EM", lambda: structural_em(gaps, options, seed)


def skeleton_f1(truth: DiscretizedBayesNet, learned: DiscretizedBayesNet) -> float:
    """Return the F1 score of the pairs of neighbours."""
    true, found = ({frozenset(edge) for edge in network.edges} for network in (truth, learned))
    return 2 * len(true & found) / max(len(true) + len(found), 1)


def measured(options: argparse.Namespace) -> list[tuple[str, str, float, int, float, float, float]]:
    """Return mechanism, method, share, rows, F1, density and seconds of every run; NaN where a method has no result."""
    results = []
    for seed in range(options.first, options.first + options.networks):
        truth = (
            published_network(options.published)
            if options.published
            else random_network(options.variables, random_state=seed)
        )
        test = truth.sample(5_000, random_state=seed + 10**6)
        for n_rows in options.rows:
            rows = truth.sample(n_rows, random_state=seed)
            for mechanism in options.mechanisms:
                for share in options.shares:
                    gaps = amputated(rows, mechanism, share, np.random.default_rng([seed, int(100 * share)]))
                    for name, learn in methods(rows, gaps, options, seed):
                        began = perf_counter()
                        f1, density = np.nan, np.nan
                        try:
                            network = learn()
                            f1, density = skeleton_f1(truth, network), network.score(test)
                        except GomeaBnError:
                            # too few complete rows, or levels that only incomplete rows have
                            pass
                        seconds = perf_counter() - began
                        results.append((mechanism, name, share, n_rows, f1, density, seconds))
    return results


def main(arguments: list[str] | None = None) -> None:
    """Print a table for every mechanism, share and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--networks", type=int, default=3, help="Number of networks, or of samples of a published one."
    )
    parser.add_argument("--first", type=int, default=0, help="Seed of the first network.")
    parser.add_argument("--variables", type=int, default=8, help="Number of variables of a random network.")
    parser.add_argument(
        "--published", help="Name of a published network, such as asia or alarm, instead of random ones."
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.3])
    parser.add_argument("--mechanisms", nargs="+", default=list(MECHANISMS), choices=MECHANISMS)
    parser.add_argument("--evaluations", type=int, default=20_000)
    parser.add_argument("--oracle", action="store_true", help="Also run structural EM.")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        # constant columns of few complete rows
        warnings.simplefilter("ignore")
        frame = pd.DataFrame(
            measured(options),
            columns=["mechanism", "method", "share", "rows", "F1", "density", "seconds"],
        )
    for (mechanism, share, n_rows), part in frame.groupby(["mechanism", "share", "rows"], sort=False):
        full = part[part.method == "full data"].density.mean()
        lines = [
            (
                name,
                f"{of.F1.mean():.3f}",
                f"{full - of.density.mean():.4f}",
                f"{of.seconds.mean():.2f}",
                f"{of.F1.notna().sum()}/{len(of)}",
            )
            for name, of in part.groupby("method", sort=False)
        ]
        print_table(
            f"{share:.0%} missing by {mechanism}, {n_rows} rows",
            ["method", "F1", "loss of density", "seconds", "results"],
            lines,
        )


if __name__ == "__main__":
    main()
