"""Odds of cells: where a network's probabilities of two columns are not those of the rows, they become so."""

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from numpy.testing import assert_allclose

from gomea_bn import DiscretizedBayesNet, average_families, read_table
from gomea_bn.data import Table
from gomea_bn.learning.averaging.odds_fit import odds_of_families
from gomea_bn.network.conditionals import Columns, FamilyOdds, Stack


def split_rows(n_rows: int = 3_000, seed: int = 2) -> pd.DataFrame:
    """Return rows whose y is near -1 or 1 where x is small, and near x elsewhere."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=n_rows), rng.normal(size=n_rows)
    inside = np.where(noise < 0, -1.0, 1.0) + 0.2 * rng.normal(size=n_rows)
    return pd.DataFrame({"x": x, "y": np.where(np.abs(x) < 0.5, inside, x + 0.6 * noise)})


def levels(law: np.ndarray, n_rows: int = 2_000, seed: int = 4) -> pd.DataFrame:
    """Return rows of two discrete columns, the second with probabilities given the first."""
    rng = np.random.default_rng(seed)
    a = rng.integers(len(law), size=n_rows)
    b = (rng.random(n_rows)[:, None] >= law[a].cumsum(axis=1)[:, :-1]).sum(axis=1)
    return pd.DataFrame({"a": [f"a{k}" for k in a], "b": [f"b{k}" for k in b]})


LAWS = np.random.default_rng(7).dirichlet(np.full(3, 2.0), (2, 4))


def of_levels(frame: pd.DataFrame) -> DiscretizedBayesNet:
    network = DiscretizedBayesNet.from_table(frame, [("a", "b")], {})
    return average_families(network, frame)


def table_of(frame: pd.DataFrame) -> Table:
    return read_table(frame, kinds=dict.fromkeys(map(str, frame), "discrete"))


@pytest.fixture(scope="module")
def of_split() -> DiscretizedBayesNet:
    frame = split_rows()
    network = DiscretizedBayesNet.from_table(frame, [("x", "y")], {"x": [], "y": []})
    return average_families(network, frame, line="single")


def without_odds(network: DiscretizedBayesNet, name: str) -> DiscretizedBayesNet:
    known = conditionals_of(network)
    ((_, fitted),) = known.stacks[name].members
    assert isinstance(fitted, FamilyOdds)
    return network.changed(conditionals=known.changed(stacks={**known.stacks, name: fitted.stack}))


def test_answers_agree_with_rows_that_no_sum_of_effects_follows(of_split: DiscretizedBayesNet) -> None:
    new = split_rows(20_000, 3)
    plain = without_odds(of_split, "y")
    assert of_split.score(new) > plain.score(new) + 0.05

    ((_, fitted),) = conditionals_of(of_split).stacks["y"].members
    assert isinstance(fitted, FamilyOdds)
    (odds,) = fitted.odds

    def shares(frame: pd.DataFrame) -> np.ndarray:
        cells = np.zeros((len(odds.logs), odds.logs.shape[1]))
        np.add.at(
            cells, (np.searchsorted(odds.cuts, frame["x"]), np.searchsorted(fitted.cuts, frame["y"])), 1
        )
        return cells / cells.sum(axis=1, keepdims=True)

    of_new = shares(new)
    far, near = (((shares(of.sample(40_000, 1)) - of_new) ** 2).sum() for of in (plain, of_split))
    assert near < far / 4
    assert fitted.words.endswith(" with odds of cells of x")


def test_left_out_loss_is_that_of_new_rows(of_split: DiscretizedBayesNet) -> None:
    new = split_rows(20_000, 3)
    n_rows, loss, _ = conditionals_of(of_split).log_losses["y"]
    assert n_rows == 3_000
    assert loss == pytest.approx(-of_split.log_density_terms(new)["y"].mean(), abs=0.05)


def test_expected_counts_become_those_of_the_rows() -> None:
    other = of_levels(levels(LAWS[0]))
    frame = levels(LAWS[1], seed=5)
    ((name, (stack, gains)),) = odds_of_families(other, table_of(frame), 1.0).items()
    assert name == "b"
    assert gains.shape == (2_000,)
    known = conditionals_of(other)
    moved = other.changed(conditionals=known.changed(stacks={**known.stacks, "b": stack}))
    counts = pd.crosstab(frame["a"], frame["b"]).to_numpy()
    masses = moved.families["b"].masses(None, Columns({"a": np.arange(4)}))
    assert_allclose(masses, counts / counts.sum(axis=1, keepdims=True), atol=0.005)
    # the log likelihood ratio, less one nat for each of 4 * 2 free odds
    before = other.families["b"].masses(None, Columns({"a": np.arange(4)}))
    assert gains.sum() == pytest.approx((counts * np.log(masses / before)).sum() - 8)


def test_rows_of_the_network_and_dear_numbers_need_no_odds() -> None:
    other = of_levels(levels(LAWS[0]))
    for seed in range(5):
        assert not odds_of_families(other, table_of(levels(LAWS[0], seed=10 + seed)), 1.0)
    assert not odds_of_families(other, table_of(levels(LAWS[1])), 1e3)


def test_only_the_column_that_is_off_gets_odds() -> None:
    frames = [
        levels(law, seed=6).assign(c=lambda frame: np.where(frame["b"] == "b0", "yes", "no")) for law in LAWS
    ]
    network = DiscretizedBayesNet.from_table(frames[0], [("a", "b"), ("b", "c")], {})
    assert set(odds_of_families(average_families(network, frames[0]), table_of(frames[1]), 1.0)) == {"b"}


def test_order_of_rows_and_columns_does_not_matter(of_split: DiscretizedBayesNet) -> None:
    frame = split_rows().sample(frac=1, random_state=1)[["y", "x"]]
    network = DiscretizedBayesNet.from_table(frame, [("x", "y")], {"x": [], "y": []})
    again = average_families(network, frame, line="single").in_order(["x", "y"])
    new = split_rows(200, 9)
    assert_allclose(again.log_density(new), of_split.log_density(new), rtol=1e-9)


def test_tables_alone_have_no_odds() -> None:
    frame = split_rows(800)
    network = DiscretizedBayesNet.from_table(frame, [("x", "y")], {"x": [0.0], "y": [0.0]})
    stacks = conditionals_of(average_families(network, frame, line="none")).stacks
    assert all(not isinstance(fitted, FamilyOdds) for stack in stacks.values() for _, fitted in stack.members)


def test_a_stack_of_odds_needs_other_parts() -> None:
    ((_, fitted),) = conditionals_of(of_levels(levels(LAWS[0]))).stacks["b"].members
    with pytest.raises(Exception, match="each named once"):
        FamilyOdds(Stack.of(fitted), None, ())
