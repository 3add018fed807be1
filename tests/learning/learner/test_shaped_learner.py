"""Learning with shapes: what is learned does not depend on the scale of a column, and limits hold."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pricing_examples import slow_learner_score

from gomea_bn.learning import BayesNetLearner
from gomea_bn.runtime import Progress


def mixed_frame(n_rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Two modes, a column that follows them, a skewed child of it, a discrete one, and a non-monotonic pair."""
    rng = np.random.default_rng(seed)
    modes = np.where(rng.random(n_rows) < 0.5, 0.0, 5.0) + rng.normal(size=n_rows)
    follower = np.where(modes > 2.5, 1.5, 0.0) + 0.7 * rng.normal(size=n_rows)
    e = rng.normal(size=n_rows)
    return pd.DataFrame(
        {
            "modes": modes,
            "follower": follower,
            "skewed": np.exp(0.8 * follower + 0.5 * rng.normal(size=n_rows)),
            "level": np.where(rng.random(n_rows) < 1 / (1 + np.exp(2.5 - modes)), "yes", "no"),
            "e": e,
            "square": e**2 + 0.3 * rng.normal(size=n_rows),
        }
    )


def learned(frame: pd.DataFrame, **options: Any) -> BayesNetLearner:
    options = {"max_evaluations": 1500, "random_state": 1, **options}
    return BayesNetLearner(**{"max_seconds": None, "patience": None, **options}).fit(frame)


TRANSFORMS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "exp": lambda x: np.exp(8 * x / np.abs(x).max()),
    "log": lambda x: np.log(x - x.min() + 0.01 * np.ptp(x)),
    "rank": lambda x: np.unique(x, return_inverse=True)[1].astype(np.float64),
}


# first cuts come from at most 2,000 rows
@pytest.mark.long
@pytest.mark.parametrize(("seed", "n_rows"), [*((seed, 300) for seed in range(3)), (0, 3000)])
@pytest.mark.parametrize("scoring_method", ["density-bd", "density-bic"])
@pytest.mark.parametrize("is_rounded", [False, True])
def test_the_scale_of_columns_changes_neither_the_graph_nor_the_bins_of_the_rows(
    seed: int, n_rows: int, scoring_method: str, is_rounded: bool
) -> None:
    frame = mixed_frame(n_rows, seed)
    continuous = [str(name) for name in frame if name != "level"]
    if is_rounded:
        frame[continuous] = frame[continuous].round(1)
    options = {"shape": "marginal", "scoring_method": scoring_method}
    original = learned(frame, **options).network_
    assert len(original.edges) >= 3
    assert set(original.shapes) == set(continuous)
    for transform in TRANSFORMS.values():
        other = frame.copy()
        for name in continuous:
            other[name] = transform(frame[name].to_numpy())
            assert other[name].nunique() == frame[name].nunique()
        network = learned(other, **options).network_
        assert network.edges == original.edges
        assert network.discretize(other).equals(original.discretize(frame))


@pytest.mark.sample(1)
@pytest.mark.parametrize("shape", ["auto", "marginal", "uniform"])
@pytest.mark.parametrize("discretizer", ["optimal", "equal-frequency", "mdl"])
@pytest.mark.parametrize("scoring_method", ["density-bd", "density-bic"])
def test_scores_that_users_see_hold_the_likelihoods_of_all_shapes(
    shape: str, discretizer: str, scoring_method: str
) -> None:
    """Searches leave out likelihoods that all networks have, those of columns whose bins can only be shaped."""
    frame = mixed_frame()
    # nearly half of the rows have the value 0, a point mass
    frame["rain"] = np.where(frame["e"] > 0, frame["e"] + frame["modes"].abs(), 0.0)
    reports: list[Progress] = []
    options = {"shape": shape, "discretizer": discretizer, "scoring_method": scoring_method}
    # edges without a cost, since the search also charges for void ones
    learner = learned(frame, callback=reports.append, edge_cost=0.0, curves="none", **options)
    assert ("rain" in learner.network_.shapes) == (shape != "uniform")
    assert learner.score_ == pytest.approx(slow_learner_score(learner, scoring_method), abs=1e-7)
    assert learner.network_.metadata["score"] == learner.score_
    # left-out rows may have judged edges away that the search had
    of_search = learner.network_.metadata.get("left_out_edges", {}).get("best_score", learner.score_)
    assert learner.history_[-1].objective == reports[-1].best == -of_search
    assert all(earlier.best >= later.best for earlier, later in pairwise(reports))
    objectives = [entry.objective for entry in learner.history_]
    assert objectives == sorted(objectives, reverse=True)


@pytest.mark.sample(1)
@pytest.mark.parametrize("shape", ["auto", "marginal"])
def test_limits_of_bins_hold_for_cuts_of_shapes_too(shape: str) -> None:
    """A column with five humps has more gaps than bins are allowed, and humps of fewer rows."""
    rng = np.random.default_rng(3)
    hump = rng.choice(5, 300, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    frame = pd.DataFrame(
        {"humps": 9.0 * hump + rng.normal(size=300), "follower": hump % 2 + 0.2 * rng.normal(size=300)}
    )
    for options in ({"max_bins": 2}, {"max_bins": 3}, {"min_bin_count": 70}):
        network = learned(frame, shape=shape, max_evaluations=300, **options).network_
        codes = network.discretize(frame)
        for name in network.names:
            assert network.cardinality(name) <= options.get("max_bins", 15)
            rows = np.bincount(codes[name], minlength=network.cardinality(name))
            assert rows.min() >= options.get("min_bin_count", 1)
