"""Networks that take further rows, and whether further rows still follow a network."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from averaged_examples import conditionals_of, effects_on, lines_of, sets_of
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    GomeaBnWarning,
    average_families,
    fit_shape,
    read_table,
)
from gomea_bn.network.conditionals import CutTable, FamilyLogit, FamilyTable, Stack
from gomea_bn.network.tables import family_counts, table_of_counts
from gomea_bn.network.updates import network_of_all_rows, shape_with_rows


def rows(n: int, seed: int) -> pd.DataFrame:
    """Return rows whose smallest and largest values are always the same, so that supports do not move."""
    generator = np.random.default_rng(seed)
    group = generator.choice(["p", "q", "r"], n)
    a = np.clip(generator.normal(size=n), -2, 2)
    noise = np.where(group == "p", 0.2, 0.5) * generator.standard_t(4, n)
    b = np.clip(np.where(group == "r", -a, a) + noise, -3, 3)
    c = np.clip(a * b + 0.3 * generator.normal(size=n), -4, 4)
    frame = pd.DataFrame({"group": group, "a": a, "b": b, "c": c})
    frame.loc[:1, ["a", "b", "c"]] = [[-2.0, -3.0, -4.0], [2.0, 3.0, 4.0]]
    return frame


EDGES = [("group", "b"), ("a", "b"), ("a", "c"), ("b", "c")]
CUTS = {"a": [-0.5, 0.5], "b": [0.0], "c": [-1.0, 1.0]}


def learned(frame: pd.DataFrame) -> DiscretizedBayesNet:
    shapes = {name: fit_shape(frame[name].to_numpy(), ()).shape for name in CUTS}
    network = DiscretizedBayesNet.from_table(frame, EDGES, CUTS, pseudo_count="auto", shapes=shapes)
    # tables next to effects, and no mixtures
    return average_families(network, frame, n_copies=3, line="single", prefer="density")


@pytest.fixture(scope="module")
def averaged() -> DiscretizedBayesNet:
    network = learned(rows(400, 0))
    known = conditionals_of(network)
    # all columns have tables, whatever left-out rows say
    tables = {
        name: next((one for _, one in stack.members if isinstance(one, FamilyTable)), None)
        for name, stack in known.stacks.items()
    }
    of_tables = conditionals_of(average_families(network.of_tables(), rows(400, 0), n_copies=3, line="none"))
    stacks = {
        name: stack
        if tables[name] is not None
        else Stack.of(of_tables.stacks[name].members[0][1], stack.members[0][1], 0.9)
        for name, stack in known.stacks.items()
    }
    return network.changed(conditionals=known.changed(stacks=stacks))


@pytest.mark.parametrize("pseudo_count", [1.0, "auto"])
def test_counted_tables_equal_those_of_all_rows_to_the_last_bit(pseudo_count):
    first, second = rows(200, 1), rows(150, 2)
    network = DiscretizedBayesNet.from_table(first, EDGES, CUTS, pseudo_count=pseudo_count)
    of_all = DiscretizedBayesNet.from_table(
        pd.concat([first, second]), EDGES, CUTS, pseudo_count=pseudo_count
    )
    updated = network.update(second)
    assert updated == of_all
    for name in network.names:
        assert np.array_equal(updated.counts[name], of_all.counts[name])


def test_averaged_tables_equal_those_counted_from_all_rows(averaged):
    second = rows(300, 3)
    updated = averaged.update(second)
    frame = pd.concat([rows(400, 0), second])
    for name in averaged.names:
        for before, after in zip(tables_of(averaged, name), tables_of(updated, name), strict=True):
            cuts = {**after.cuts_of_parents, name: after.cuts}
            members = (*after.parents, name)
            codes = [
                np.array([averaged.levels[member].index(level) for level in frame[member]], np.int32)
                if cuts.get(member) is None
                else np.searchsorted(cuts[member], frame[member], side="left").astype(np.int32)
                for member in members
            ]
            n_parents = len(after.parents)
            wanted = family_counts(codes, range(n_parents), n_parents, list(after.table.shape), name)
            np.testing.assert_array_equal(before.cuts, after.cuts)
            np.testing.assert_array_equal(after.table, table_of_counts(wanted, "auto"))


def tables_of(network: DiscretizedBayesNet, name: str) -> tuple[CutTable, ...]:
    """Return the tables of a column by set of cuts."""
    [tables] = [
        one.tables for _, one in conditionals_of(network).stacks[name].members if isinstance(one, FamilyTable)
    ]
    return tables


def test_effects_of_a_small_and_a_large_update_are_those_of_their_rows(averaged):
    """A network of 400 rows and as many further ones is near one of all of them."""
    further = rows(400, 4)
    assert set(lines_of(averaged)) == {"b", "c"}
    # noise of several groups
    assert len(effects_on(averaged, "b").scales) == 3
    updated = averaged.update(further)
    of_all = learned(pd.concat([rows(400, 0), further]))
    others = rows(2_000, 5)
    for name in ("b", "c"):
        before, after, wanted = (
            net.log_density_terms(others)[name].mean() for net in (averaged, updated, of_all)
        )
        assert after > before - 0.005
        assert after > wanted - 0.06
    # rows count by their number: many ones outweigh the former ones
    changed = rows(20_000, 6)
    changed["b"] = np.clip(-changed["b"], -3, 3)
    moved = averaged.update(changed)
    other = learned(changed.iloc[:2_000])
    new = rows(2_000, 7)
    new["b"] = np.clip(-new["b"], -3, 3)
    gap = other.log_density_terms(new)["b"].mean() - moved.log_density_terms(new)["b"].mean()
    assert gap < 0.15


def test_further_rows_of_the_same_law_raise_the_density_of_others(averaged):
    others = rows(3_000, 5)
    assert averaged.update(rows(1_600, 6)).score(others) > averaged.score(others) + 0.01


def test_one_update_equals_two_in_turn(averaged):
    further = rows(200, 7)
    for options in ({}, {"weight": 0.5}, {"forget": 100.0}):
        at_once = averaged.update(further, **options)
        in_turn = averaged.update(further[:50], **options).update(further[50:], **options)
        of_both = (sets_of(network) for network in (at_once, in_turn))
        for first, second in zip(*of_both, strict=True):
            for name in averaged.names:
                np.testing.assert_allclose(first.tables[name], second.tables[name], atol=1e-9)
        # effects remember the former rows by drawn ones
        others = rows(500, 8)
        for name in lines_of(at_once):
            logs, in_two = (net.log_density_terms(others)[name] for net in (at_once, in_turn))
            assert np.median(np.abs(logs - in_two)) < 0.02


def test_a_weight_of_two_equals_rows_that_are_given_twice():
    network = DiscretizedBayesNet.from_table(rows(100, 8), EDGES, CUTS, pseudo_count="auto")
    further = rows(80, 9)
    assert network.update(further, weight=2) == network.update(pd.concat([further, further]))


def test_forgotten_rows_count_half_after_as_many_rows():
    network = DiscretizedBayesNet.from_table(rows(100, 8), EDGES, CUTS)
    before = network.counts["group"]
    after = network.update(rows(40, 9), forget=40).counts["group"]
    newest = 0.5 ** (np.arange(39, -1, -1) / 40)
    assert after.sum() == pytest.approx(before.sum() / 2 + newest.sum())


@pytest.mark.long
@given(st.integers(0, 1000), st.integers(1, 300), st.floats(0.1, 10))
def test_shapes_take_rows_by_groups_and_points_exactly(seed, n, former):
    generator = np.random.default_rng(seed)
    values = np.where(generator.random(500) < 0.3, 1.0, np.round(generator.normal(size=500), 3))
    shape = fit_shape(values, (1.0,)).shape
    further = np.clip(
        np.where(generator.random(n) < 0.5, 1.0, generator.normal(size=n)), shape.low, shape.high
    )
    updated = shape_with_rows(shape, further, np.ones(n), 100 * former)
    total = 100 * former + n
    if 1.0 in shape.points:
        wanted = (100 * former * shape.points[1.0] + (further == 1.0).sum()) / total
        assert updated.points[1.0] == pytest.approx(wanted)
    assert updated.distribution(np.array([shape.high])) == pytest.approx(1)
    # no interval changes by more than the share of the new rows
    places = np.linspace(shape.low, shape.high, 50)
    moved = np.abs(updated.distribution(places) - shape.distribution(places))
    assert moved.max() <= n / total + 1e-9
    # a uniform shape of one group moves to the share of the rows below its middle
    assert shape_with_rows(shape, shape.quantile(generator.random(n)), np.full(n, 1e-9), 1e6).points == {
        value: pytest.approx(mass) for value, mass in shape.points.items()
    }


def test_a_shape_follows_rows_that_have_moved():
    values = np.random.default_rng(0).normal(size=1_000)
    shape = fit_shape(values, ()).shape
    upper = values[values > 0]
    updated = shape_with_rows(shape, upper, np.ones(len(upper)), 1.0)
    assert updated.distribution(np.array([-0.2]))[0] < 0.02


def test_a_point_mass_that_is_all_but_forgotten_stays_possible():
    rng = np.random.default_rng(5)
    x = np.where(rng.random(400) < 0.2, 0.0, rng.gamma(2, size=400))
    network = DiscretizedBayesNet.from_table(
        pd.DataFrame({"x": x}), [], {"x": []}, shapes={"x": fit_shape(x).shape}
    )
    updated = network.update(pd.DataFrame({"x": 1 + rng.gamma(2, size=1_500)}), forget=1)
    assert 0 < updated.shapes["x"].point_masses[0] < 1e-9


def test_an_updated_network_is_read_from_its_file(averaged, tmp_path):
    updated = averaged.update(rows(60, 10), forget=500)
    updated.to_json(tmp_path / "network.json")
    again = DiscretizedBayesNet.from_json(tmp_path / "network.json")
    assert again == updated
    assert again.update(rows(30, 11)) == updated.update(rows(30, 11))


def test_missing_cells_are_drawn(averaged):
    further = rows(100, 12)
    further.loc[::3, "b"] = np.nan
    updated = averaged.update(further)
    assert updated == averaged.update(further)
    assert sets_of(updated)[0].counts["b"].sum() == 500


def test_a_row_counts_for_the_families_that_its_values_say_something_about(averaged):
    further = rows(100, 12)
    # nothing depends on c, and b and c depend on a
    further.loc[:39, "c"] = np.nan
    further.loc[30:69, "a"] = np.nan
    further.loc[60:79, ["a", "b", "c"]] = np.nan
    updated = averaged.update(further)
    for copy in sets_of(updated):
        counts = {name: of_name.sum() - 400 for name, of_name in copy.counts.items()}
        assert counts == {"group": 100, "a": 80, "b": 80, "c": 40}
    # rows in which all of the family is observed
    losses = conditionals_of(updated).log_losses
    assert {name: of_name[0] for name, of_name in losses.items()} == {
        "group": 500,
        "a": 450,
        "b": 450,
        "c": 420,
    }
    assert updated.metadata["n_rows"] == 500


@pytest.mark.parametrize("forget", [None, 30.0])
def test_a_family_without_new_values_stays(averaged, forget):
    further = rows(100, 12).assign(c=np.nan)
    updated = averaged.update(further, forget=forget)
    for before, after in zip(sets_of(averaged), sets_of(updated), strict=True):
        np.testing.assert_allclose(before.tables["c"], after.tables["c"], atol=1e-12)
        assert not np.array_equal(before.tables["b"], after.tables["b"])
    of_c, former = (effects_on(network, "c") for network in (updated, averaged))
    np.testing.assert_allclose(of_c.coefficients, former.coefficients, atol=1e-9)
    assert updated.shapes["c"] == averaged.shapes["c"]
    losses = [conditionals_of(network).log_losses["c"] for network in (updated, averaged)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"forget": 20.0}, {"weight": np.arange(1.0, 91.0)}])
def test_empty_rows_change_nothing_and_do_not_count(averaged, options):
    further = rows(40, 12)
    empty = pd.DataFrame(np.nan, index=range(50), columns=further.columns).astype({"group": object})
    with pytest.warns(GomeaBnWarning, match="50 rows of 50 have no values, and do not count"):
        assert averaged.update(empty, forget=options.get("forget")) == averaged
    order = np.random.default_rng(0).permutation(90)
    mixed = pd.concat([further, empty])[further.columns].iloc[order]
    with pytest.warns(GomeaBnWarning, match="50 rows of 90 have no values"):
        updated = averaged.update(mixed, **options)
    of_values = order < 40
    if "weight" in options:
        options = {"weight": options["weight"][of_values]}
    assert updated == averaged.update(mixed[of_values], **options)
    assert updated.metadata["n_rows"] <= 400 + np.sum(options.get("weight", 40))
    assert updated.metadata["updates"] == [40]


def test_an_empty_column_is_no_value_of_a_row():
    frame = pd.DataFrame({"x": ["a", "b"] * 10, "y": [None] * 20})
    network = DiscretizedBayesNet.from_table(frame, [], {})
    with pytest.warns(GomeaBnWarning, match="1 row of 1 has no values"):
        assert network.update(pd.DataFrame({"x": [None], "y": [None]})) == network


def test_the_largest_and_the_smallest_weights_give_distributions(averaged):
    for weight in (2e13, 1e-300):
        updated = averaged.update(rows(50, 14), weight, forget=0.01)
        assert np.isfinite(updated.score(rows(50, 14)))
        assert updated.metadata["n_rows"] == round(weight)


def test_metadata_say_how_many_rows_were_added(averaged):
    updated = averaged.with_metadata(score=3.0).update(rows(60, 10)).update(rows(40, 10))
    assert updated.metadata["n_rows"] == 500
    assert updated.metadata["updates"] == [60, 40]
    assert "score" not in updated.metadata


def test_values_outside_the_support_count_as_its_ends(averaged):
    further = rows(50, 13)
    outside = further.copy()
    outside.loc[further["a"].idxmax(), "a"] = 50.0
    assert averaged.update(outside).score(further) == pytest.approx(averaged.update(further).score(further))


@pytest.mark.parametrize("kind", ["earlier file", "intervention", "tables"])
def test_a_network_without_counts_is_refused(averaged, kind):
    network = averaged.do({"a": 0.5})
    if kind == "earlier file":
        content = json.loads(averaged.to_json())
        for table in content["conditionals"]["stacks"]["a"][0]["tables"]:
            del table["counts"]
        network = DiscretizedBayesNet.from_json(json.dumps(content))
    elif kind == "tables":
        network = averaged.of_tables()
    with pytest.raises(GomeaBnError, match="does not hold the counts of the rows"):
        network.update(rows(50, 14))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": 0.0}, "weight must be a finite number above 0, got 0.0"),
        (
            {"weight": 1e300},
            r"weight must sum to at most 1e\+15 over all rows, got 50 rows of up to 1e\+300",
        ),
        ({"weight": [1e308] * 50}, r"weight must sum to at most 1e\+15 over all rows"),
        ({"forget": -1.0}, "forget must be a finite number above 0 or None, got -1.0"),
    ],
)
def test_options_are_checked(averaged, options, message):
    with pytest.raises(GomeaBnError, match=message):
        averaged.update(rows(50, 14), **options)


def test_an_unknown_level_is_named(averaged):
    further = rows(50, 14).replace({"group": {"p": "new"}})
    with pytest.raises(GomeaBnError, match="group"):
        averaged.update(further, unknown="error")
    with pytest.warns(GomeaBnWarning, match="'new' of 'group'"):
        averaged.update(further)


def test_counts_of_a_file_must_fit_their_tables(averaged):
    content = json.loads(averaged.to_json())
    content["conditionals"]["stacks"]["a"][0]["tables"][0]["counts"] = [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(GomeaBnError, match="counts of 'a'"):
        DiscretizedBayesNet.from_json(json.dumps(content))


def test_a_learned_network_takes_rows():
    frame = rows(300, 15)
    network = BayesNetLearner(max_evaluations=300, random_state=1, density="bins").fit(frame).network_
    assert network.update(rows(100, 16)).metadata["n_rows"] == 400


def test_a_weight_per_row_equals_rows_that_are_given_so_often():
    network = DiscretizedBayesNet.from_table(rows(100, 8), EDGES, CUTS, pseudo_count="auto")
    further = rows(80, 9)
    weights = np.random.default_rng(0).integers(0, 4, 80)
    assert network.update(further, weights) == network.update(further.iloc[np.repeat(np.arange(80), weights)])
    with pytest.raises(GomeaBnError, match="weight must have one weight for each of 80 rows"):
        network.update(further, weights[:-1])


DRIFTING_EDGES = [("a", "b"), ("b", "c"), ("a", "k")]
DRIFTING_CUTS = {"a": [-0.7, 0.7], "b": [-0.5, 0.5], "c": [0.0]}


def drifting_rows(n: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    a = generator.normal(size=n)
    b = np.sin(1.5 * a) + 0.4 * generator.normal(size=n)
    c = 0.8 * b + 0.4 * generator.normal(size=n)
    k = np.where(a + generator.normal(size=n) > 0, "p", "q")
    return pd.DataFrame({"a": a, "b": b, "c": c, "k": k})


def network_of(frame: pd.DataFrame) -> DiscretizedBayesNet:
    shapes = {name: fit_shape(frame[name].to_numpy(), ()).shape for name in DRIFTING_CUTS}
    return DiscretizedBayesNet.from_table(
        frame, DRIFTING_EDGES, DRIFTING_CUTS, pseudo_count="auto", shapes=shapes
    )


@pytest.fixture(scope="module")
def networks() -> dict[str, DiscretizedBayesNet]:
    frame = drifting_rows(800, 0)
    network = network_of(frame)
    return {"tables": network, "averaged": average_families(network, frame, n_copies=2)}


@pytest.mark.parametrize("kind", ["tables", "averaged"])
def test_rows_of_the_same_law_have_not_drifted(networks, kind):
    report = networks[kind].drift(drifting_rows(500, 1))
    assert list(report.index) == ["a", "b", "c", "k"]
    assert not report["drifted"].any()
    assert (report["broken"] == "").all()
    assert (report["log_loss"] - report["expected"]).abs().max() < 0.15


@pytest.mark.parametrize("kind", ["tables", "averaged"])
def test_a_column_that_has_moved_is_named_and_no_other(networks, kind):
    moved = drifting_rows(500, 2)
    moved["a"] += 0.4
    # all other columns still follow their parents
    generator = np.random.default_rng(3)
    moved["b"] = np.sin(1.5 * moved["a"]) + 0.4 * generator.normal(size=500)
    moved["c"] = 0.8 * moved["b"] + 0.4 * generator.normal(size=500)
    moved["k"] = np.where(moved["a"] + generator.normal(size=500) > 0, "p", "q")
    report = networks[kind].drift(moved)
    assert report.index[report["drifted"]].tolist() == ["a"]


def test_a_change_that_keeps_the_mean_loss_is_found_by_the_cells(networks):
    network = DiscretizedBayesNet.from_table(pd.DataFrame({"x": ["a"] * 500 + ["b"] * 500}), [], {})
    report = network.drift(pd.DataFrame({"x": ["a"] * 250 + ["b"] * 150}))
    assert report.loc["x", "log_loss"] == pytest.approx(report.loc["x", "expected"], abs=1e-3)
    # twice the chi-square of two samples, to first order
    statistic = (250 / 400 - 0.5) ** 2 / 0.25 / (1 / 400 + 1 / 1000)
    assert report.loc["x", "p_value"] == pytest.approx(2 * scipy.stats.chi2.sf(statistic, 1), rel=0.05)
    assert report.loc["x", "drifted"]


def test_a_broken_edge_is_named(networks):
    changed = drifting_rows(500, 4)
    changed["c"] = np.random.default_rng(5).permutation(changed["c"])
    for network in networks.values():
        report = network.drift(changed)
        assert report.loc["c", "drifted"]
        assert report["broken"].to_dict() == {"a": "", "b": "", "c": "b", "k": ""}


def test_a_wider_noise_is_found(networks):
    changed = drifting_rows(500, 6)
    changed["c"] = 0.8 * changed["b"] + 0.7 * np.random.default_rng(7).normal(size=500)
    report = networks["averaged"].drift(changed)
    assert report.loc["c", "drifted"]
    assert report.loc["c", "log_loss"] > report.loc["c", "expected"] + 0.3


def test_families_with_missing_cells_are_judged_by_their_complete_rows(networks):
    further = drifting_rows(300, 8)
    further.loc[:99, "b"] = np.nan
    report = networks["averaged"].drift(further)
    assert report["rows"].to_dict() == {"a": 300, "b": 200, "c": 200, "k": 300}
    complete = networks["averaged"].drift(further.iloc[100:])
    assert report.loc["c", "log_loss"] == pytest.approx(complete.loc["c", "log_loss"])


def test_a_single_row_has_losses_but_no_test(networks):
    row = drifting_rows(1, 8)
    report = networks["averaged"].drift(row)
    assert report["log_loss"].sum() == pytest.approx(-networks["averaged"].log_density(row).item())
    assert (report["p_value"] == 1).all()
    assert not report["drifted"].any()
    assert networks["averaged"].drift(row.assign(a=50.0)).loc["a", "outside"] == 1
    # of each family one row is complete, of that of b none
    gaps = pd.concat([row.assign(b=np.nan), row.assign(a=np.nan)])
    losses = networks["averaged"].drift(gaps)["log_loss"]
    assert losses.isna().to_dict() == {"a": False, "b": True, "c": False, "k": False}


def test_values_outside_the_support_are_counted(networks):
    further = drifting_rows(100, 9)
    further.loc[:4, "a"] = 50.0
    assert networks["averaged"].drift(further).loc["a", "outside"] == 0.05


@pytest.mark.long
def test_few_columns_of_many_tables_seem_to_have_drifted():
    # 60 tables of four columns: at the level .05 three are expected
    n_wrong = 0
    for seed in range(60):
        network = network_of(drifting_rows(300, 100 + seed))
        n_wrong += bool(network.drift(drifting_rows(200, 1_000 + seed))["drifted"].any())
    assert n_wrong <= 9


@pytest.mark.long
def test_new_rows_lose_what_a_network_expects_of_skewed_columns_with_a_point_mass():
    differences = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        former, further = (
            pd.DataFrame({"x": np.exp(generator.normal(size=n)) * (generator.random(n) > 0.15)})
            for n in (300, 2_000)
        )
        shapes = {"x": fit_shape(former["x"].to_numpy()).shape}
        network = DiscretizedBayesNet.from_table(former, [], {"x": [1.0]}, pseudo_count="auto", shapes=shapes)
        report = average_families(network, former, n_copies=2).drift(further)
        differences.append(float((report["log_loss"] - report["expected"]).iloc[0]))
    # .05 where losses of left-out rows know the shape; the standard error is .012
    assert abs(np.mean(differences)) < 0.03


@pytest.mark.long
def test_levels_that_are_about_as_likely_seldom_seem_to_have_drifted():
    drifted = []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        former, further = (pd.DataFrame({"coin": generator.choice(["head", "tail"], n)}) for n in (500, 400))
        network = average_families(DiscretizedBayesNet.from_table(former, [], {}), former)
        drifted.append(bool(network.drift(further)["drifted"].iloc[0]))
    # 3 of 60 expected; 8 or more have probability .01
    assert sum(drifted) < 8


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_the_level_is_checked(networks, level):
    with pytest.raises(GomeaBnError, match="level must be"):
        networks["tables"].drift(drifting_rows(10, 0), level=level)


@pytest.mark.parametrize("density", ["bins", "averaged"])
@pytest.mark.parametrize(("weight", "forget"), [(1e-320, 0.01), (np.r_[np.ones(30), np.zeros(10)], 1e-300)])
def test_weights_that_forgetting_makes_vanish_are_refused(density, weight, forget):
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    frame = pd.DataFrame({"x": x, "y": x + 0.3 * rng.normal(size=40)})
    learner = BayesNetLearner(density=density, max_evaluations=30, max_seconds=None, random_state=1)
    network = learner.fit(frame).network_
    with pytest.raises(
        GomeaBnError, match=r"^forget must leave rows .* together count as .*Raise forget, or give"
    ):
        network.update(frame, weight=weight, forget=forget)
    assert np.isfinite(network.update(frame, forget=forget).score(frame))


def rows_of_few_odds() -> pd.DataFrame:
    """Return rows whose outcome nearly follows a number, and of which two have a level of their own."""
    generator = np.random.default_rng(4)
    x, z = generator.normal(size=(2, 150))
    outcome = np.where(x + 0.6 * generator.logistic(size=150) > 0, "yes", "no")
    level = generator.choice(["p", "q"], 150)
    level[:2], outcome[:2] = "rare", "yes"
    return pd.DataFrame({"x": x, "z": z + 0.5 * x, "level": level, "outcome": outcome})


def log_odds(network: DiscretizedBayesNet, frame: pd.DataFrame) -> np.ndarray:
    probabilities = network.predict_proba(frame, "outcome")
    return np.asarray(np.log(probabilities["yes"] / probabilities["no"]))


@pytest.mark.parametrize("target", [None, "outcome"])
def test_doubled_rows_and_weights_of_two_leave_what_was_fitted(target: str | None) -> None:
    frame = rows_of_few_odds()
    edges = [("x", "outcome"), ("level", "outcome"), ("x", "z")]
    options: dict[str, Any] = {"max_evaluations": 300, "random_state": 1, "target": target}
    plain, doubled, weighted = (
        BayesNetLearner(knowledge=ExpertKnowledge(required_edges=edges), **options)
        .fit(of_rows, sample_weight=weights)
        .network_
        for of_rows, weights in (
            (frame, None),
            (pd.concat([frame, frame], ignore_index=True), None),
            (frame, np.full(len(frame), 2.0)),
        )
    )
    assert doubled.metadata["copies"] == {"rows": 300, "evidence": 150}
    assert isinstance(conditionals_of(plain).stacks["outcome"].members[-1][1], FamilyLogit)
    assert effects_on(plain, "z").terms.n_terms
    odds = log_odds(plain, frame)
    # two rows of a level do not make it sure
    assert np.abs(odds[:2]).max() < 8
    for network in (doubled, weighted):
        assert network.edges == plain.edges
        np.testing.assert_allclose(log_odds(network, frame), odds, atol=1e-3)
        before, after = (np.asarray(of.log_density_terms(frame)["z"], np.float64) for of in (plain, network))
        np.testing.assert_allclose(after, before, atol=1e-6)


def test_rows_counted_in_place_of_others_leave_effects(averaged: DiscretizedBayesNet) -> None:
    further = rows(300, 7)
    weights = np.random.default_rng(8).exponential(size=300)
    counted = network_of_all_rows(averaged, read_table(further), weights)
    known, moved = conditionals_of(averaged), conditionals_of(counted)
    assert moved.scales == known.scales
    for name, stack in known.stacks.items():
        for (weight, before), (same, after) in zip(stack.members, moved.stacks[name].members, strict=True):
            assert same == weight
            if before.counts_cells:
                assert after.value_counts is not None
                assert after.value_counts.sum() == pytest.approx(weights.sum())
            else:
                assert after is before


@pytest.mark.parametrize("n_levels", [2, 3])
def test_a_logit_takes_the_frequencies_of_rows_that_are_counted(n_levels: int) -> None:
    generator = np.random.default_rng(6)
    x, z = generator.normal(size=(2, 240))
    outcome = np.searchsorted(np.linspace(-0.6, 0.6, n_levels - 1), x + 0.5 * generator.logistic(size=240))
    frame = pd.DataFrame({"x": x, "z": z, "outcome": [f"level {k}" for k in outcome]})
    knowledge = ExpertKnowledge(required_edges=[("x", "outcome")])
    # copies of one level are no evidence, but they are rows
    copied = pd.concat([frame, *[frame[outcome == 0]] * 3], ignore_index=True)
    plain, network = (
        BayesNetLearner(knowledge=knowledge, max_evaluations=200, random_state=1).fit(of_rows).network_
        for of_rows in (frame, copied)
    )
    assert network.metadata["copies"]["evidence"] == 240
    before, after = (
        next(of for _, of in conditionals_of(one).stacks["outcome"].members if isinstance(of, FamilyLogit))
        for one in (plain, network)
    )
    np.testing.assert_array_equal(after.coefficients[:, 1:], before.coefficients[:, 1:])
    frequencies = copied["outcome"].value_counts(normalize=True)
    means = network.predict_proba(copied, "outcome").mean()
    assert means.to_numpy() == pytest.approx(frequencies[means.index].to_numpy(), abs=0.02)
