"""Effects of one column on another one: what is adjusted for, the differences, their intervals, and the words."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, GomeaBnWarning, read_table
from gomea_bn.data.weights import rows_to_search_in_groups, weighted_table
from gomea_bn.learning import network_of_graph
from gomea_bn.network.graph import are_separated, back_door_set


def confounded(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows in which t raises P(y = yes) by .2, and z, of three levels, raises both."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n_rows)
    t = rng.random(n_rows) < np.array([0.2, 0.5, 0.8])[z]
    y = rng.random(n_rows) < np.array([0.1, 0.3, 0.7])[z] + 0.2 * t
    return pd.DataFrame(
        {"z": np.array(["a", "b", "c"])[z], "t": np.where(t, "yes", "no"), "y": np.where(y, "yes", "no")}
    )


EDGES = [("z", "t"), ("z", "y"), ("t", "y")]


def of_rows(frame: pd.DataFrame, edges: list[tuple[str, str]] = EDGES) -> DiscretizedBayesNet:
    return DiscretizedBayesNet.from_table(frame, edges, {}, pseudo_count=0)


def test_rows_of_a_person_are_one_observation():
    frame = confounded(300, 5)
    copied = frame.loc[np.repeat(np.arange(300), 6)].assign(person=np.repeat(np.arange(300), 6))
    network = network_of_graph(read_table(copied, groups="person"), EDGES, {})
    once = of_rows(frame).causal_effect("t", "y", frame).contrasts.iloc[0]
    for rows in (copied, rows_to_search_in_groups(read_table(copied, groups="person"))):
        found = network.causal_effect("t", "y", rows)
        assert "Intervals take the rows of each 'person' for one observation." in found.sentences
        several = found.contrasts.iloc[0]
        for low, high in (("low", "high"), ("unadjusted_low", "unadjusted_high")):
            assert several[high] - several[low] == pytest.approx(once[high] - once[low], rel=0.05)
    with pytest.warns(GomeaBnWarning, match="no column of the rows"):
        alone = network.causal_effect("t", "y", copied.drop(columns="person")).contrasts.iloc[0]
    assert alone["high"] - alone["low"] == pytest.approx((once["high"] - once["low"]) / 6**0.5, rel=0.05)


def test_few_groups_have_the_intervals_of_students_t():
    frame = confounded(24, 5)
    copied = frame.loc[np.repeat(np.arange(24), 2)].assign(person=np.repeat(np.arange(24), 2))
    network = of_rows(frame)
    grouped = network.with_metadata(groups={"column": "person"})
    widths = []
    for of, rows in ((network, copied), (grouped, copied)):
        found = of.causal_effect("t", "y", rows).contrasts.iloc[0]
        widths.append(found["high"] - found["low"])
    # the squares of 24 sums of two equal terms, and of 48 terms
    variances = 2 * (24 / 23) / (48 / 47)
    quantiles = stats.t.ppf(0.95, 23) / stats.t.ppf(0.95, 47)
    assert widths[1] / widths[0] == pytest.approx(variances**0.5 * quantiles, rel=1e-6)


def test_rows_of_one_group_have_no_effect():
    frame = confounded(60, 5).assign(person="a")
    network = of_rows(frame.drop(columns="person")).with_metadata(groups={"column": "person"})
    with pytest.raises(GomeaBnError, match="at least two groups: all 60 rows have one value of 'person'"):
        network.causal_effect("t", "y", frame)


# ---- graphs


@st.composite
def graphs(draw):
    """Return the parents of the nodes of a random graph, by name, and two nodes."""
    names = "abcdef"[: draw(st.integers(2, 6))]
    parents = {
        name: draw(st.lists(st.sampled_from(names[:k]), unique=True)) if k else []
        for k, name in enumerate(names)
    }
    cause, outcome = draw(st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True))
    return parents, min(cause, outcome), max(cause, outcome)


def descendants(parents, node):
    children = [child for child, of_child in parents.items() if node in of_child]
    return {node}.union(*(descendants(parents, child) for child in children))


def closes_back_doors(parents, cause, outcome, chosen):
    """Pearl's criterion: no descendant of the cause, and separation without the arrows out of the cause."""
    if descendants(parents, cause) & chosen:
        return False
    rest = {name: [p for p in of_name if p != cause] for name, of_name in parents.items()}
    return are_separated(rest, {cause}, {outcome}, chosen)


@settings(max_examples=200)
@given(graphs(), st.randoms())
def test_the_set_closes_back_doors_and_no_part_of_it_does(graph, random):
    parents, cause, outcome = graph
    if outcome not in descendants(parents, cause):
        return
    chosen = back_door_set(parents, cause, outcome)
    assert closes_back_doors(parents, cause, outcome, chosen)
    for size in range(len(chosen)):
        for part in itertools.combinations(sorted(chosen), size):
            assert not closes_back_doors(parents, cause, outcome, set(part))
    names = list(parents)
    random.shuffle(names)
    assert back_door_set({name: parents[name][::-1] for name in names}, cause, outcome) == chosen


def test_columns_next_to_the_outcome_are_preferred_and_colliders_left_out():
    parents = {"u": [], "z": ["u"], "t": ["u"], "c": ["t", "y"], "y": ["z", "t"]}
    assert back_door_set(parents, "t", "y") == {"z"}
    assert back_door_set({"a": [], "b": [], "m": ["a", "b"], "t": ["a"], "y": ["b", "t"]}, "t", "y") == set()


# ---- differences


def test_a_saturated_network_gives_the_standardised_difference():
    frame = confounded(900, 1)
    effect = of_rows(frame).causal_effect("t", "y", frame)
    is_yes = frame["y"] == "yes"
    means = is_yes.groupby([frame["z"], frame["t"]]).mean().unstack()
    expected = ((means["yes"] - means["no"]) * frame["z"].value_counts(normalize=True)).sum()
    row = effect.contrasts.iloc[0]
    assert effect.adjusted_for == ("z",)
    assert row["difference"] == pytest.approx(expected, abs=1e-9)
    by_level = is_yes.groupby(frame["t"]).mean()
    assert row["unadjusted"] == pytest.approx(by_level["yes"] - by_level["no"], abs=1e-12)
    # the formula for a difference of two shares
    counts = frame["t"].value_counts()
    error = np.sqrt((by_level * (1 - by_level) / counts).sum())
    assert row["unadjusted_high"] - row["unadjusted"] == pytest.approx(1.645 * error, rel=0.01)
    assert (row["from"], row["to"], row["outcome"]) == ("no", "yes", "probability of y = yes")


def test_the_difference_is_that_of_the_changed_network_if_the_network_is_that_of_the_rows():
    frame = confounded(900, 2)
    network = of_rows(frame)
    changed = [network.do({"t": level}).query("y")["yes"] for level in ("no", "yes")]
    row = network.causal_effect("t", "y", frame).contrasts.iloc[0]
    assert row["difference"] == pytest.approx(changed[1] - changed[0], abs=1e-9)


def test_a_wrong_conditional_of_the_outcome_is_corrected_by_the_rows():
    frame = confounded(4000, 3)
    right = of_rows(frame)
    wrong = right.changed(tables={**right.tables, "y": np.full((3, 2, 2), 0.5)}, counts=None)
    plain = [wrong.do({"t": level}).query("y")["yes"] for level in ("no", "yes")]
    assert plain[1] - plain[0] == pytest.approx(0.0)
    expected = right.causal_effect("t", "y", frame).contrasts["difference"][0]
    assert wrong.causal_effect("t", "y", frame).contrasts["difference"][0] == pytest.approx(
        expected, abs=0.01
    )


def numbers(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows in which y rises by 2 for every unit of t, and both with z."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n_rows)
    t = z + rng.normal(size=n_rows)
    return pd.DataFrame({"z": z, "t": t, "y": 2 * t + 3 * z + rng.normal(size=n_rows)})


def test_a_number_is_compared_at_its_quartiles_or_at_given_values():
    frame = numbers(600, 4)
    network = network_of_graph(read_table(frame), EDGES, {})
    effect = network.causal_effect("t", "y", frame)
    row = effect.contrasts.iloc[0]
    assert [row["from"], row["to"]] == pytest.approx(frame["t"].quantile([0.25, 0.75]).tolist())
    width = row["to"] - row["from"]
    assert row["low"] < 2 * width < row["high"]
    assert row["high"] - row["low"] < 0.5 * width
    assert row["unadjusted"] > 3 * width
    given_values = network.causal_effect("t", "y", frame, (0.5, -0.5)).contrasts.iloc[0]
    assert given_values["low"] < -2 < given_values["high"]
    # an increasing function of a column changes its values alone, and neither does the order of rows and columns
    other = frame[["y", "z", "t"]].sample(frac=1, random_state=1)
    again = network.causal_effect("t", "y", other).contrasts.iloc[0]
    assert again["difference"] == pytest.approx(row["difference"], rel=1e-9)


@pytest.mark.long
def test_intervals_hold_the_effect_about_as_often_as_they_say():
    rows = []
    for seed in range(100):
        frame = confounded(500, seed)
        rows.append(of_rows(frame).causal_effect("t", "y", frame).contrasts.iloc[0])
    found = pd.DataFrame(rows)
    assert 0.8 < ((found["low"] < 0.2) & (found["high"] > 0.2)).mean() < 0.98
    assert abs(found["difference"].mean() - 0.2) < 0.015
    assert (found["unadjusted_low"] > 0.2).mean() > 0.9


def test_levels_of_an_outcome_and_of_a_treatment_have_a_line_each():
    frame = confounded(600, 5)
    found = of_rows(frame, [("y", "z")]).causal_effect("y", "z", frame).contrasts
    assert found["outcome"].tolist() == [f"probability of z = {level}" for level in "abc"]
    assert found["difference"].sum() == pytest.approx(0.0)
    found = of_rows(frame, [("z", "y")]).causal_effect("z", "y", frame).contrasts
    assert found[["from", "to"]].values.tolist() == [["a", "b"], ["a", "c"]]
    stages = frame.assign(z=frame["z"].map({"a": 1, "b": 2, "c": 5}))
    network = DiscretizedBayesNet.from_table(read_table(stages, kinds={"z": "discrete"}), [("t", "z")], {})
    row = network.causal_effect("t", "z", stages).contrasts.iloc[0]
    means = stages["z"].groupby(stages["t"]).mean()
    assert row["outcome"] == "mean of z"
    assert row["difference"] == pytest.approx(means["yes"] - means["no"])


def test_rows_count_by_their_weights():
    frame = confounded(400, 6)
    weights = np.random.default_rng(0).integers(0, 3, len(frame))
    repeated = frame.loc[np.repeat(frame.index, weights)].reset_index(drop=True)
    network = of_rows(repeated)
    table = read_table(frame)
    weighted = network.causal_effect("t", "y", weighted_table(table, weights)).contrasts.iloc[0]
    expected = network.causal_effect("t", "y", repeated).contrasts.iloc[0]
    assert weighted["difference"] == pytest.approx(expected["difference"])
    assert weighted["unadjusted"] == pytest.approx(expected["unadjusted"])


def test_rows_without_values_that_are_needed_are_left_out():
    frame = confounded(300, 7)
    network = of_rows(frame)
    gaps = frame.copy()
    gaps.loc[:9, "z"] = None
    effect = network.causal_effect("t", "y", gaps)
    assert effect.n_rows == 290
    assert "10 rows of 300 without a value of one of these columns are left out." in effect.sentences
    assert effect.contrasts.equals(network.causal_effect("t", "y", frame[10:]).contrasts)


# ---- words and errors


def test_the_text_says_what_the_numbers_rest_on():
    frame = confounded(900, 1)
    text = str(of_rows(frame).causal_effect("t", "y", frame))
    assert text.startswith("t set from no to yes changes the probability of y = yes by +0.")
    assert "(90 % interval +0." in text
    assert "Unadjusted, it differs by +0." in text
    assert "adjusted for z: this closes every back-door path" in text
    assert "It is an effect if the arrows are causes. A common cause of t and y that is not measured" in text
    assert "Rows cannot tell the direction of z → t, t → y; with another one" in text


def test_without_a_path_the_effect_is_zero_by_the_graph():
    frame = confounded(300, 1)
    effect = of_rows(frame, [("z", "t"), ("z", "y")]).causal_effect("t", "y", frame)
    row = effect.contrasts.iloc[0]
    assert row[["difference", "low", "high"]].tolist() == [0, 0, 0]
    assert row["unadjusted"] > 0.1
    assert effect.sentences == ("No path of arrows leads from t to y: by the graph, the effect is zero.",)


def test_without_a_back_door_nothing_is_adjusted_for():
    frame = confounded(300, 1)
    effect = of_rows(frame, [("t", "y")]).causal_effect("t", "y", frame)
    assert effect.contrasts["difference"].equals(effect.contrasts["unadjusted"].rename("difference"))
    assert "Nothing is adjusted for: the graph has no open back-door path." in effect.sentences


def test_bins_and_rows_without_comparison_are_said():
    frame = numbers(400, 1).assign(y=lambda rows: np.where(rows["y"] > 0, "yes", "no"))
    frame["t"] = np.where(frame["z"] + frame["t"] / 9 > 0, "yes", "no")
    network = DiscretizedBayesNet.from_table(frame, EDGES, {"z": [-0.5, 0.5]})
    text = str(network.causal_effect("t", "y", frame))
    assert "The network knows z by bins alone: what differs inside a bin is not adjusted for." in text
    assert "one of the values is all but impossible given what is adjusted for" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "y"), "of: unknown variable 'x'"),
        (("t", "x"), "on: unknown variable 'x'"),
        (("t", "t"), "must be two variables"),
        (("y", "t"), "'t' is a cause of 'y' in this graph"),
        (("t", "y", ["no"]), "values must be two values of 't'"),
        (("t", "y", "no"), "values must be two values of 't'"),
        (("t", "y", 3), "values must be two values of 't'"),
        (("t", "y", ["no", "no"]), "two different values of 't'"),
        (("t", "y", ["no", "maybe"]), "must be one of the levels"),
    ],
)
def test_questions_without_an_answer_are_refused(arguments, message):
    frame = confounded(300, 1)
    first, second, *values = arguments
    with pytest.raises(GomeaBnError, match=message):
        of_rows(frame).causal_effect(first, second, frame, *values)


def test_a_refused_effect_names_edges_that_may_point_the_other_way():
    frame = confounded(300, 1)
    with pytest.raises(GomeaBnError, match=r"cannot tell the direction of 't' → 'y'.*forbid an edge"):
        of_rows(frame, [("t", "y")]).causal_effect("y", "t", frame)
    # the two causes of y are not related: rows tell the direction
    with pytest.raises(GomeaBnError, match="is a cause of") as refused:
        of_rows(frame, [("t", "y"), ("z", "y")]).causal_effect("y", "t", frame)
    assert "direction" not in str(refused.value)


def test_rows_without_a_comparison_are_refused():
    frame = confounded(300, 1)
    network = of_rows(frame)
    with pytest.raises(GomeaBnError, match="'t' has one level in the rows, 'no'"):
        network.causal_effect("t", "y", frame[frame["t"] == "no"])
    with pytest.raises(GomeaBnError, match="at least 20 rows"):
        network.causal_effect("t", "y", frame[:10])
    one_level = frame.assign(t="no")
    with pytest.raises(GomeaBnError, match="'t' has one level, 'no'"):
        of_rows(one_level).causal_effect("t", "y", one_level)
    many = frame.assign(t=[f"ward {k % 12}" for k in range(300)])
    with pytest.raises(GomeaBnError, match="has 12 levels in the rows, more than the 8"):
        of_rows(many).causal_effect("t", "y", many)
    two = of_rows(many).causal_effect("t", "y", many, ["ward 3", "ward 7"]).contrasts
    assert two[["from", "to"]].values.tolist() == [["ward 3", "ward 7"]]


# ---- graphs without cuts


def test_a_graph_without_cuts_gets_cuts_and_conditionals():
    frame = numbers(400, 2)
    network = network_of_graph(read_table(frame), EDGES, {"z": [0.0]})
    assert sorted(network.edges) == sorted(EDGES)
    assert network.cut_points["z"].tolist() == [0.0]
    assert len(network.cut_points["y"]) >= 2
    assert network.conditionals is not None
    cuts = {name: of_column.tolist() for name, of_column in network.cut_points.items()}
    counted = network_of_graph(read_table(frame), EDGES, cuts)
    assert counted.conditionals is None
    assert network.score(frame) > counted.score(frame)


@pytest.mark.parametrize("n_rows", [60, 800])
def test_the_graph_of_a_learned_network_gets_its_tables(n_rows):
    frame = confounded(n_rows, 3)
    learned = BayesNetLearner(max_evaluations=200, max_seconds=None, random_state=1).fit(frame).network_
    assert learned.edges
    counted = network_of_graph(read_table(frame), learned.edges, {})
    assert counted.checks is not None
    assert counted.query("y", {"t": "no"}).attrs["rows"]["rows"] == (frame["t"] == "no").sum()
    for target, known in itertools.permutations(learned.names, 2):
        for level in learned.levels[known]:
            answer = learned.query(target, {known: level})
            np.testing.assert_allclose(counted.query(target, {known: level}), answer, atol=1e-12)


def test_tables_of_a_graph_of_levels_with_gaps_are_expected_ones():
    frame = confounded(300, 3)
    gaps = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2)
    table = read_table(gaps, missing="keep")
    fitted = network_of_graph(table, EDGES, {})
    expected = DiscretizedBayesNet.from_table(
        table, EDGES, {}, pseudo_count="auto", metadata={"equivalent": True}
    )
    assert fitted.checks is not None
    assert fitted.query("y", {"z": "b"}, interval=0.9).attrs["interval"]["misfit"] is not None
    np.testing.assert_allclose(fitted.query("y", {"z": "b"}), expected.query("y", {"z": "b"}), atol=1e-12)
    assert fitted.drift(frame)["p_value"].notna().any()
    assert fitted.update(frame).metadata["n_rows"] == 600
