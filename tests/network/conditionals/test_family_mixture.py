"""Mixtures of lines: their density, cells, draws, files and further rows, against slow twins and each other."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from averaged_examples import conditionals_of, lines_of, weight_of
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet, GomeaBnError, average_families
from gomea_bn.network.conditionals import FamilyMixture

N_ROWS = 1500


def widening_frame(n_rows: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    """Return rows in which y spreads more the larger x is, in two branches for one level of c."""
    generator = np.random.default_rng(seed)
    x, c = generator.uniform(0, 3, n_rows), generator.integers(0, 2, n_rows)
    branch = np.where(generator.random(n_rows) < 0.5, 1.0, -1.0) * c
    y = 2 * branch + (0.1 + x**2 / 3) * generator.standard_normal(n_rows)
    return pd.DataFrame({"x": x, "c": pd.Categorical(c), "y": y})


def averaged_network(frame: pd.DataFrame) -> DiscretizedBayesNet:
    """Return a network with x and c as the parents of y, with conditionals."""
    cuts = {"x": np.array([1.0, 2.0]), "y": np.array([-3.0, -1.5, -0.5, 0.5, 1.5, 3.0])}
    network = DiscretizedBayesNet.from_table(frame, [("x", "y"), ("c", "y")], cuts, pseudo_count=1.0)
    return average_families(network, frame, n_copies=2, prefer="density")


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    """A network in which y follows a mixture of lines."""
    return averaged_network(widening_frame())


def mixture_of(network: DiscretizedBayesNet) -> FamilyMixture:
    """Return the mixture that y follows."""
    line = lines_of(network)["y"]
    assert isinstance(line, FamilyMixture)
    return line


def twin_log_density(
    mixture: FamilyMixture, z: float, parents: NDArray[np.float64], group: int, ends: tuple[float, float]
) -> float:
    """Return ln p(z | parents) from sums over rows by the formulas, one component at a time."""
    joint = marginal = 0.0
    total, d = mixture.counts.sum(), len(parents)
    of_groups = (mixture.counts.sum(axis=0) + 1 / mixture.counts.shape[1]) / (total + 1)
    for moments, counts, least in zip(mixture.moments, mixture.counts, mixture.least_scales, strict=True):
        n = counts.sum()
        mean = moments[0, 1:-1] / n
        scatter = moments[1:-1, 1:-1] - n * np.outer(mean, mean)
        covariance = (scatter + 0.02 * np.eye(d)) / (n + 1) + 1e-4 * np.eye(d)
        share = n / total * (counts[group] + of_groups[group]) / (n + 1)
        share *= scipy.stats.multivariate_normal.pdf(parents, mean, covariance)
        inner = moments[:-1, :-1] + 0.1 * np.eye(d + 1)
        coefficients = np.linalg.inv(inner) @ moments[:-1, -1]
        squares = moments[-1, -1] - coefficients @ moments[:-1, -1]
        scale = math.sqrt((squares + 0.02) / (n + 1)) * math.sqrt(1 + (d + 1) / n)
        scale = max(scale, least)
        centre = float(np.clip(coefficients @ np.array([1.0, *parents]), *ends))
        normal = scipy.stats.norm(centre, scale)
        marginal += share
        joint += share * normal.pdf(z) / (normal.cdf(ends[1]) - normal.cdf(ends[0]))
    return math.log(joint / marginal)


def units_of(network: DiscretizedBayesNet, name: str, values: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return places of values on the scale of a line, and the ends of its range."""
    from gomea_bn.network.conditionals import ProbabilityScale
    from gomea_bn.network.conditionals.conditionals import checked_units

    known = conditionals_of(network)
    scale: Any
    if mixture_of(network).in_units:
        scale = checked_units(known.units, network)[name]
    else:
        scale = ProbabilityScale(known.scales[name], known.n_rows)
    return scale.of_values(values), scale


def test_a_spread_that_grows_and_branches_make_a_mixture_that_predicts_new_rows(
    network: DiscretizedBayesNet,
) -> None:
    new = widening_frame(seed=1)
    inside = new["y"].between(*network.support["y"]) & new["x"].between(*network.support["x"])
    new = new[inside]
    by_tables = average_families(network.of_tables(), widening_frame(), n_copies=2, line="none")
    gain = network.log_density(new) - by_tables.log_density(new)
    assert weight_of(network, "y") > 0.5
    assert len(mixture_of(network).moments) > 2
    assert gain.mean() > 5 * gain.std() / math.sqrt(len(gain))
    # the true density is not far
    y, x, c = (new[name].to_numpy(float) for name in ("y", "x", "c"))
    spread = 0.1 + x**2 / 3
    parts = [scipy.stats.norm.logpdf(y, sign * 2 * c, spread) for sign in (-1, 1)]
    truth = scipy.special.logsumexp(parts, axis=0) - math.log(2)
    assert (truth - network.log_density_terms(new)["y"]).mean() < 0.15


def test_densities_are_those_of_the_formulas(network: DiscretizedBayesNet) -> None:
    mixture, frame = mixture_of(network), widening_frame().iloc[:60]
    z, own = units_of(network, "y", frame["y"].to_numpy())
    parent, _ = units_of(network, "x", frame["x"].to_numpy())
    groups, ends = frame["c"].cat.codes.to_numpy(), (own.low, own.high)
    expected = np.array(
        [
            twin_log_density(mixture, z[row], parent[row : row + 1], groups[row], ends)
            for row in range(len(frame))
        ]
    )
    expected += own.log_slope(frame["y"].to_numpy(), z)
    of_tables = average_families(network.of_tables(), widening_frame(), n_copies=2, line="none")
    bins = of_tables.log_density_terms(frame)["y"]
    weight = weight_of(network, "y")
    mixed = np.logaddexp(np.log1p(-weight) + bins, np.log(weight) + expected)
    assert_allclose(network.log_density_terms(frame)["y"], mixed, rtol=1e-9, atol=1e-10)


def test_densities_add_up_to_one_and_agree_with_cells_and_draws(network: DiscretizedBayesNet) -> None:
    low, high = network.support["y"]
    values = np.linspace(low, high, 160_001)
    middles = (values[:-1] + values[1:]) / 2
    for x, c in ((0.3, 0), (2.5, 1)):
        rows = pd.DataFrame({"x": x, "c": pd.Categorical([c] * len(middles), [0, 1]), "y": middles})
        density = np.exp(network.log_density_terms(rows)["y"]) * np.diff(values)
        assert_allclose(density.sum(), 1.0, atol=1e-4)
        answer = network.query("y", {"x": x, "c": c}).to_numpy()
        bins = np.searchsorted(network.cut_points["y"], middles)
        assert_allclose(np.bincount(bins, density), answer, atol=2e-3)
    drawn = network.sample(200_000, random_state=0)
    answer = network.query("y", {"x": (2.0, 2.2), "c": 1}).to_numpy()
    some = drawn[drawn["x"].between(2.0, 2.2) & (drawn["c"] == 1)]
    codes = np.searchsorted(network.cut_points["y"], some["y"])
    shares = np.bincount(codes, minlength=len(answer)) / len(some)
    assert np.abs(shares - answer).max() < 4 * math.sqrt(0.25 / len(some)) + 0.002


def test_shown_tables_have_the_shares_of_draws(network: DiscretizedBayesNet) -> None:
    codes = network.discretize(network.sample(300_000, random_state=4))
    counts = np.zeros((3, 2, 7))
    np.add.at(counts, tuple(codes[name].to_numpy() for name in ("x", "c", "y")), 1)
    shares = counts / counts.sum(axis=2, keepdims=True)
    # parents are distributed in their cells as in the rows of data
    assert np.abs(network.tables["y"] - shares).max() < 0.03


def test_draws_know_the_level_of_a_discrete_parent(network: DiscretizedBayesNet) -> None:
    drawn = network.sample(50_000, random_state=1)
    near = drawn[drawn["x"] < 0.4]
    is_middle = near["y"].abs() < 0.7
    assert is_middle[near["c"] == 0].mean() > 0.9
    assert is_middle[near["c"] == 1].mean() < 0.15


def test_narrow_mixtures_have_cells_as_narrow_as_they_need() -> None:
    angles = np.random.default_rng(0).uniform(0, 2 * math.pi, 3000)
    noise = 0.004 * np.random.default_rng(1).normal(size=3000)
    frame = pd.DataFrame({"x": np.cos(angles), "y": np.sin(angles) + noise})
    cuts = {"x": np.array([-0.5, 0.5]), "y": np.array([-0.5, 0.5])}
    network = DiscretizedBayesNet.from_table(frame, [("x", "y")], cuts, pseudo_count=1.0)
    circle = average_families(network, frame, n_copies=1)
    assert mixture_of(circle)
    y = np.array([-0.9, -0.31, 0.0, 0.444, 0.97])
    ends = np.linspace(*circle.support["x"], 100_001)
    middles = (ends[:-1] + ends[1:]) / 2
    expected = [
        math.log((np.exp(circle.log_density(pd.DataFrame({"x": middles, "y": at}))) * np.diff(ends)).sum())
        for at in y
    ]
    gaps = pd.DataFrame({"x": np.full(len(y), np.nan), "y": y})
    assert_allclose(circle.log_density(gaps), expected, atol=2e-3)


def test_a_missing_parent_is_summed_over(network: DiscretizedBayesNet) -> None:
    frame = widening_frame(seed=2).iloc[:20]
    frame = frame[frame["y"].between(*network.support["y"])]
    gaps = frame.assign(x=np.nan)
    values = np.linspace(*network.support["x"], 4_001)
    middles = (values[:-1] + values[1:]) / 2
    expected = []
    for _, row in frame.iterrows():
        rows = pd.DataFrame(
            {"x": middles, "c": pd.Categorical([row["c"]] * len(middles), [0, 1]), "y": float(row["y"])}
        )
        expected.append(math.log((np.exp(network.log_density(rows)) * np.diff(values)).sum()))
    # cells of the parent are wider than its steepest density
    assert_allclose(network.log_density(gaps), expected, atol=1e-2)


def test_files_keep_mixtures(network: DiscretizedBayesNet) -> None:
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again == network
    frame = widening_frame().iloc[:50]
    assert_allclose(again.log_density(frame), network.log_density(frame), rtol=1e-12)


def test_further_rows_move_a_mixture(network: DiscretizedBayesNet) -> None:
    frame = widening_frame(seed=3)
    frame["y"] = np.clip(frame["y"] + 1.5, *network.support["y"])
    updated = network.update(frame)
    before, after = mixture_of(network), mixture_of(updated)
    assert_allclose(after.counts.sum(), before.counts.sum() + len(frame))
    assert_allclose(after.moments[:, 0, 0], after.counts.sum(axis=1))
    inside = frame[frame["x"].between(*network.support["x"])]
    gain = updated.log_density_terms(inside)["y"] - network.log_density_terms(inside)["y"]
    assert gain.mean() > 0.1


def test_a_component_that_forgets_all_its_rows_leaves(network: DiscretizedBayesNet) -> None:
    frame = widening_frame(400, seed=3)
    few = frame[(frame["c"] == 0) & frame["x"].between(0.1, 0.3)]
    updated = network.update(pd.concat([few] * 20, ignore_index=True), forget=0.3)
    assert 0 < len(mixture_of(updated).moments) < len(mixture_of(network).moments)
    assert np.isfinite(updated.log_density(few)).all()


def test_tiny_weights_of_rows_count_by_their_proportions(network: DiscretizedBayesNet) -> None:
    frame = widening_frame(100, seed=3)
    whole = mixture_of(network.update(frame, forget=1e-3))
    tiny = mixture_of(network.update(frame, weight=1e-12, forget=1e-3))
    assert_allclose(tiny.counts, 1e-12 * whole.counts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": 1.5}, "The weight of a mixture of lines must be a number above 0, up to 1"),
        ({"counts": [[-1.0, 3.0]]}, "numbers of rows of all groups"),
        ({"moments": [[1.0, 2.0]]}, "must be lists of 6 numbers"),
        ({"moments": "a"}, "must be numbers"),
        ({"parents": "x"}, "must be a list of names"),
        ({"in_units": 1}, "must be true or false"),
        ({"counts": None}, "numbers|object with the fields"),
        ({"least_scales": 0.0}, "a least scale"),
        ({"least_scales": [0.0]}, "a least scale"),
    ],
)
def test_broken_files_are_refused(network: DiscretizedBayesNet, change: dict[str, Any], message: str) -> None:
    content = json.loads(network.to_json())
    content["conditionals"]["stacks"]["y"][1].update(change)
    with pytest.raises(GomeaBnError, match=message):
        DiscretizedBayesNet.from_json(json.dumps(content))


@pytest.mark.parametrize("factors", [(0.0, 1.0), (1.0, -1.0), (-1.0, 1.0)])
def test_sums_of_no_rows_are_refused(network: DiscretizedBayesNet, factors: tuple[float, float]) -> None:
    content = json.loads(network.to_json())
    first = content["conditionals"]["stacks"]["y"][1]["moments"][0]
    # the number of rows, and the sums of squares
    of_rows, of_squares = factors
    first[0] *= of_rows
    first[3] *= of_squares
    with pytest.raises(GomeaBnError, match="sums of products"):
        DiscretizedBayesNet.from_json(json.dumps(content))


def test_the_summary_and_the_legend_of_a_density_say_what_a_column_follows(
    network: DiscretizedBayesNet,
) -> None:
    from gomea_bn.plots import plot_density

    words = f"a mixture of {len(mixture_of(network).moments)} lines"
    assert words in network.summary()
    legend = plot_density(network, "y").get_legend()
    assert legend is not None
    assert words in " ".join(text.get_text() for text in legend.get_texts())
