"""Conditionals learned from rows: tables, drawn cuts, lines; options, missing values and Ctrl-C of their learners."""

import math
import pickle
import signal
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import (
    QUICK,
    conditionals_of,
    effects_on,
    linear_frame,
    lines_of,
    network_of,
    sets_of,
    slope_of,
    weight_of,
)
from learning_inside import of_fit
from network_examples import with_parts
from scipy.special import logsumexp
from shaped_examples import shaped_network, shaped_table
from wrong_input import untyped

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    GomeaBnWarning,
    average_families,
    read_table,
    refine_boundaries,
)
from gomea_bn.data.content_order import in_column_order, in_row_order
from gomea_bn.learning.averaging import Member
from gomea_bn.learning.averaging import families as averaging
from gomea_bn.network.conditionals import CutTable, FamilyEffects, FamilyTable, table_over_rows
from gomea_bn.network.rows import drawn_values
from gomea_bn.network.tables import PseudoCount
from gomea_bn.problems import score_rule, scoring_method
from gomea_bn.problems.cuts import (
    CodedColumn,
    CutColumn,
    CutLimits,
    CutPosterior,
    CutProblem,
    IntervalScore,
    Neighbourhood,
    PricedIntervals,
    bin_codes,
    table_shapes,
)
from gomea_bn.runtime import spare_threads
from gomea_bn.simulation import random_network


def test_columns_of_many_rows_are_averaged_in_threads_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = linear_frame(4_000)
    network = network_of(frame, [("x", "y"), ("y", "z"), ("c", "y")], shaped=True)
    alone = average_families(network, frame, n_copies=5)
    meeting, of_column = threading.Barrier(2, timeout=600.0), averaging.Averaging.members_of

    def meets(*given: Any) -> Any:
        # four columns, two at a time
        meeting.wait()
        return of_column(*given)

    monkeypatch.setattr(averaging.Averaging, "members_of", meets)
    with spare_threads(2):
        together = average_families(network, frame, n_copies=5)
    assert together.to_json() == alone.to_json()
    assert lines_of(alone)


def tables_of(network: DiscretizedBayesNet, name: str) -> tuple[CutTable, ...]:
    """Return the tables of a column over its sets of cuts."""
    [tables] = [
        one.tables for _, one in conditionals_of(network).stacks[name].members if isinstance(one, FamilyTable)
    ]
    return tables


@pytest.mark.parametrize("pseudo_count", [0.0, 2.0, "auto"])
@pytest.mark.parametrize("shaped", [False, True])
def test_copies_have_the_graph_and_the_counted_tables(pseudo_count: PseudoCount, shaped: bool) -> None:
    frame = linear_frame(120)
    network = network_of(frame, [("x", "y"), ("c", "y")], shaped=shaped, pseudo_count=pseudo_count)
    averaged = average_families(network, frame, n_copies=5, line="none")
    known = conditionals_of(averaged)
    assert averaged.edges == network.edges
    np.testing.assert_equal(averaged.cut_points, network.cut_points)
    assert known.n_rows == 120
    assert 1 <= known.n_sets <= 5
    table_of_rows = read_table(frame)
    for name in network.names:
        for one in tables_of(averaged, name):
            assert one.parents == network.parents(name)
            own = {} if one.cuts is None else {name: one.cuts}
            counted = DiscretizedBayesNet.from_table(
                table_of_rows,
                network.edges,
                {**network.cut_points, **one.cuts_of_parents, **own},
                pseudo_count=pseudo_count,
                shapes=network.shapes,
            )
            np.testing.assert_allclose(one.table, counted.tables[name], rtol=1e-12)
    assert np.isfinite(averaged.score(frame))
    for name, table in averaged.tables.items():
        assert table.shape == network.tables[name].shape
        rows = {column.name: column.values for column in table_of_rows.columns}
        expected = table_over_rows(averaged, name, averaged.cut_points, rows)
        np.testing.assert_allclose(table, expected, rtol=1e-9)


def test_a_column_without_parents_keeps_its_shape_alone_unless_tables_pay() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "plain": rng.normal(size=400),
            "follows": rng.normal(size=400),
            # more steps than a shape of few parameters has
            "comb": np.floor(rng.integers(0, 16, 400)) * 2 + rng.random(400),
            "fixed": rng.normal(size=400),
        }
    )
    frame["follows"] += frame["plain"]
    network = network_of(frame, [("plain", "follows")], shaped=True)
    fixed = network.with_metadata(fixed_cut_points=["fixed"])
    averaged = average_families(fixed, frame, n_copies=5)
    assert averaged.families["plain"].n_parameters == 0
    # what the search has cut is shown
    assert len(averaged.cut_points["plain"]) == len(network.cut_points["plain"]) > 0
    logs = averaged.log_density_terms(frame)["plain"]
    np.testing.assert_allclose(logs, network.shapes["plain"].log_density(frame["plain"].to_numpy()))
    (alone,) = tables_of(averaged, "plain")
    assert alone.counts.tolist() == [400]
    assert averaged.families["fixed"].n_parameters == len(network.cut_points["fixed"])
    # without shapes tables are all there is
    uniform = average_families(network_of(frame, [], shaped=False), frame, n_copies=5)
    assert all(uniform.families[name].n_parameters > 0 for name in uniform.names)
    # and where they are far better they stay
    gain = averaged.log_density_terms(frame)["comb"].sum()
    gain -= network.shapes["comb"].log_density(frame["comb"].to_numpy()).sum()
    n_kept = averaged.families["comb"].n_parameters
    assert gain > n_kept if n_kept else gain == pytest.approx(0, abs=1e-9)


def test_the_seed_decides_the_cuts() -> None:
    frame = linear_frame(100)
    network = network_of(frame, [("x", "y")])
    first, again, read, other = (
        average_families(network, rows, n_copies=3, line="none", random_state=seed)
        for rows, seed in ((frame, 7), (frame, 7), (read_table(frame), 7), (frame, 8))
    )
    assert first == again == read
    assert first != other


@pytest.mark.parametrize("shaped", [False, True])
def test_networks_without_edges_and_with_one_copy(shaped: bool) -> None:
    frame = linear_frame(50)
    averaged = average_families(network_of(frame, [], shaped=shaped), frame, n_copies=1)
    assert conditionals_of(averaged).n_sets == 1
    assert lines_of(averaged) == {}
    assert np.isfinite(averaged.score(frame))
    (copy,) = sets_of(averaged)
    of_copy = averaged.changed(conditionals=None, cut_points=copy.cut_points, tables=copy.tables)
    assert averaged.log_density(frame) == pytest.approx(of_copy.log_density(frame))
    assert DiscretizedBayesNet.from_json(averaged.to_json()) == averaged


@pytest.mark.parametrize("shaped", [False, True])
def test_tables_of_ten_rows(shaped: bool) -> None:
    frame = linear_frame(10)
    for edges in ([("x", "y"), ("c", "y")], [("x", "y"), ("z", "y"), ("y", "c")]):
        averaged = average_families(network_of(frame, edges, n_bins=2, shaped=shaped), frame)
        assert np.isfinite(averaged.log_density(frame)).all()
        assert np.isfinite(averaged.log_density(averaged.sample(200, random_state=0))).all()


def test_discrete_networks_are_their_own_average() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 100)
    frame = pd.DataFrame({"a": a.astype(str), "b": np.where(rng.random(100) < 0.7, a, 0).astype(str)})
    network = BayesNetLearner(scoring_method="bdeu", density="bins", **QUICK).fit(frame).network_
    averaged = average_families(network, frame, n_copies=2)
    # a second set of cuts would be the same
    assert conditionals_of(averaged).n_sets == 1
    assert sets_of(averaged)[0].tables.keys() == network.tables.keys()
    for name, table in sets_of(averaged)[0].tables.items():
        np.testing.assert_array_equal(table, network.tables[name])
    for name, computed in averaged.tables.items():
        np.testing.assert_allclose(computed, network.tables[name], rtol=1e-12)
    assert averaged.log_density(frame) == pytest.approx(network.log_density(frame))
    assert averaged.sample(5, random_state=0).shape == (5, 2)
    assert DiscretizedBayesNet.from_json(averaged.to_json()) == averaged


def test_mixed_shapes_and_points() -> None:
    table = shaped_table(200)
    averaged = average_families(shaped_network(table), table, n_copies=4)
    frame = table.to_frame()
    assert np.isfinite(averaged.log_density(frame)).all()
    assert averaged.shapes.keys() == {"cause", "rain", "tail"}


def test_a_wider_support_than_the_rows_is_kept() -> None:
    frame = linear_frame(100)
    network = network_of(frame, [("x", "y")], shaped=False)
    support = {name: (low - 1, high + 1) for name, (low, high) in network.support.items()}
    wide = with_parts(network, support=support, pseudo_count=network.pseudo_count)
    averaged = average_families(wide, frame, prefer="density")
    assert averaged.support == wide.support
    beyond = frame[:1].assign(y=wide.support["y"][1])
    # noise has a range, and no row there
    known, within = averaged.log_density_terms(pd.concat([beyond, frame[:1]]))["y"]
    assert np.isfinite(known)
    assert known < within


def test_wrong_input_is_refused() -> None:
    frame = linear_frame(50)
    network = network_of(frame, [("x", "y")])
    for arguments, options, message in (
        ((5, frame), {}, "network must be a DiscretizedBayesNet, got int"),
        ((network, 5), {}, "A table must be a Table, .* got int"),
        ((network, frame), {"n_copies": 0}, "n_copies must be an integer of at least 1, got 0"),
        ((network, frame), {"prefer": "x"}, "prefer must be one of 'simple', 'density', got 'x'"),
        ((network, frame), {"line": "yes"}, "line must be one of 'auto', 'single', 'none', got 'yes'"),
        ((network, frame), {"random_state": "x"}, "random_state"),
        ((network, frame.drop(columns="y")), {}, "no column 'y'"),
        (
            (network, frame.assign(x=2 * frame["x"])),
            {},
            r"Column 'x' has values from .* to .*, and the network's range is from .*; give the rows",
        ),
    ):
        with pytest.raises(GomeaBnError, match=message):
            average_families(*untyped(arguments), **untyped(options))


def test_the_learned_network_has_conditionals() -> None:
    frame, fresh = linear_frame(), linear_frame(300, seed=1)
    plain = BayesNetLearner(density="bins", **QUICK).fit(frame)
    learner = BayesNetLearner(prefer="density", **QUICK).fit(frame)
    network = learner.network_
    assert plain.network_.conditionals is None
    assert network.edges
    for name, table in network.tables.items():
        assert table.shape == tuple(network.cardinality(each) for each in (*network.parents(name), name))
    assert network == average_families(plain.network_, frame, random_state=1, prefer="density")
    assert learner.score(fresh) > plain.score(fresh)
    assert pickle.loads(pickle.dumps(learner)).network_ == network
    assert BayesNetLearner().get_params()["density"] == "averaged"
    without = BayesNetLearner(line="none", **QUICK).fit(frame).network_
    assert lines_of(without) == {}
    assert lines_of(network)


@pytest.mark.parametrize(("option", "value"), [("density", "best"), ("line", "yes")])
def test_wrong_options_are_refused_before_the_table_is_read(option: str, value: str) -> None:
    options: dict[str, Any] = {**QUICK, option: value}
    learner = BayesNetLearner(**options)
    for model in (learner, BayesNetEnsemble(learner, n_networks=1)):
        with pytest.raises(GomeaBnError, match=f"{option} must be one of .*, got '{value}'"):
            model.fit("no such file.csv")


def test_ctrl_c_while_conditionals_are_learned_leaves_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = linear_frame(80)
    plain = BayesNetLearner(density="bins", **QUICK).fit(frame)

    def interrupted(*_arguments: Any, **_options: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(of_fit, "average_in_time", interrupted)
    learner = BayesNetLearner(**QUICK)
    with pytest.warns(
        GomeaBnWarning, match="interrupted\\. network_ has tables alone, counted from the rows"
    ):
        assert learner.fit(frame) is learner
    assert learner.network_ == plain.network_
    # all that the search has found is kept
    fitted = {name for name in vars(plain) if name.endswith("_")}
    assert {name for name in vars(learner) if name.endswith("_")} == fitted
    assert learner.stopped_by_ == plain.stopped_by_
    assert learner.score(frame) == plain.score(frame)
    monkeypatch.undo()
    assert average_families(learner.network_, learner.table_).conditionals is not None


def test_ctrl_c_before_a_target_has_parents_says_that_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = linear_frame(80).assign(k=["yes", "no"] * 40)

    def interrupted(*_arguments: Any, **_options: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(of_fit, "average_in_time", interrupted)
    with pytest.warns(
        GomeaBnWarning, match="from the rows\\. The parents of 'k' are not chosen\\. Learn again"
    ):
        BayesNetLearner(target="k", **QUICK).fit(frame)


@pytest.mark.parametrize("line", ["auto", "none"])
def test_refinement_learns_conditionals_of_the_refined_cuts(line: str) -> None:
    frame = linear_frame(60)
    network = average_families(network_of(frame, [("x", "y")], n_bins=2), frame, n_copies=2, line=line)
    refined = refine_boundaries(network, frame, random_state=3).network
    assert refined == average_families(refined.of_tables(), frame, line=line, random_state=3)
    assert bool(lines_of(refined)) == (line == "auto")
    plain = refine_boundaries(network.of_tables(), frame, random_state=3).network
    assert plain.conditionals is None
    np.testing.assert_equal(plain.cut_points, refined.cut_points)


def step_network(shaped: bool, n: int = 300) -> tuple[DiscretizedBayesNet, pd.DataFrame]:
    """Return a network of a column that depends on a discrete parent, weakly enough for unsure cuts."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"p": rng.choice(["k", "l"], n)})
    frame["x"] = rng.normal(size=n) + 0.8 * (frame["p"] == "l")
    return network_of(frame, [("p", "x")], n_bins=3, shaped=shaped), frame


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", ["density-bd", "density-bic"])
@pytest.mark.parametrize("shaped", [False, True])
def test_cuts_are_drawn_from_their_posterior(
    method: str, shaped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, frame = step_network(shaped)
    network = network_of(frame, [("p", "x")], n_bins=3, shaped=shaped, metadata={"scoring_method": method})
    n = 400
    monkeypatch.setattr(averaging, "_FEW_SETS", ())
    averaged = average_families(network, frame, n_copies=n, line="none")
    table = read_table(frame)
    chosen = scoring_method(method)
    shape = table_shapes(table)["x"] if shaped else None
    problem = CutProblem.of_rows(
        CutColumn.of_values(table.columns[1].values),
        Neighbourhood((CodedColumn(table.columns[0].values, 2),)),
        IntervalScore(chosen, score_rule(chosen, table.n_rows)),
        shape,
    )
    intervals = PricedIntervals(problem, CutLimits(), shaped=shaped, incumbent=network.cut_points["x"])
    likely = CutPosterior(intervals)
    # the power and the cost of cuts with which shaped columns are drawn
    drawn_from = CutPosterior(intervals, power=0.17, cut_cost=0.25) if shaped else likely
    # the central nine tenths of the place of every cut among three bins
    places = likely.places(3)
    assert places is not None
    candidates = intervals.candidates
    middles = [network.support["x"][0], *(candidates[:-1] + candidates[1:]) / 2, network.support["x"][1]]
    # those that are read are extended to their cuts
    for (low, high), of_cut in zip(conditionals_of(averaged).cut_intervals["x"], places, strict=True):
        first, last = middles.index(low), middles.index(high) - 1
        assert of_cut[first : last + 1].sum() >= 0.9
        assert of_cut[:first].sum() < 0.05 <= of_cut[: first + 1].sum()
        assert of_cut[last + 1 :].sum() <= 0.05 < of_cut[last:].sum()
    for _, low, high, probability in averaged.cut_probabilities("x").to_numpy():
        expected = likely.probability_between(low, high)
        assert probability == pytest.approx(expected, abs=1e-9)
        of_draws = drawn_from.probability_between(low, high)
        happened = [
            ((copy.cut_points["x"] > low) & (copy.cut_points["x"] < high)).any() for copy in sets_of(averaged)
        ]
        assert abs(np.mean(happened) - of_draws) < 4.5 * math.sqrt(of_draws * (1 - of_draws) / n) + 1e-9
    numbers = np.bincount([len(copy.cut_points["x"]) for copy in sets_of(averaged)], minlength=15) / n
    for share, expected in zip(numbers, drawn_from.bin_probabilities, strict=False):
        assert abs(share - expected) < 4.5 * math.sqrt(expected * (1 - expected) / n) + 1e-9


def test_tables_of_copies_are_no_larger_than_the_rows_afford() -> None:
    frame = linear_frame(60)
    for n_bins in (3, 12):
        network = network_of(frame, [("x", "y"), ("z", "y")], n_bins=n_bins)
        averaged = average_families(network, frame, n_copies=10, line="none")
        # the cube root of 8 cells per row
        affordable = int((8 * 60) ** (1 / 3))
        sizes = [len(cuts) + 1 for copy in sets_of(averaged) for cuts in copy.cut_points.values()]
        assert max(sizes) <= max(n_bins, affordable)
        # a network with more bins may keep them
        assert (max(sizes) > affordable) == (n_bins > affordable)


def test_more_cuts_than_the_limits_allow_may_lie_anywhere() -> None:
    few = pd.DataFrame({"x": np.tile([0.0, 1.0, 2.0], 4), "c": ["k", "l"] * 6})
    table = read_table(few, kinds={"x": "continuous"})
    more_cuts = DiscretizedBayesNet.from_table(table, [], {"x": [0.2, 0.5, 1.5]})
    intervals = average_families(more_cuts, table).cut_intervals("x")
    assert intervals[["low", "high"]].to_numpy().tolist() == [[0.0, 2.0]] * 3


def test_a_sharp_step_has_a_narrow_interval_and_none_a_wide_one() -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(size=400)
    frame = pd.DataFrame({"x": x, "s": np.where(x > 0.6, "k", "l"), "w": rng.choice(["k", "l"], 400)})
    widths = []
    for child in ("s", "w"):
        network = network_of(frame, [("x", child)], n_bins=2)
        # those that are read are extended to the cut, which is half-way here
        [(low, high)] = conditionals_of(average_families(network, frame)).cut_intervals["x"]
        widths.append(high - low)
        if child == "s":
            assert low < 0.6 < high
    assert widths[0] < 0.03
    assert widths[1] > 0.3


def test_fixed_cuts_stay() -> None:
    frame = linear_frame(150)
    averaged = BayesNetLearner(cut_points={"x": [-0.5, 0.5]}, line="none", **QUICK).fit(frame).network_
    assert all(copy.cut_points["x"].tolist() == [-0.5, 0.5] for copy in sets_of(averaged))
    assert averaged.cut_probabilities("x")["probability"].tolist() == [1.0, 1.0]
    assert averaged.cut_intervals("x").to_numpy().tolist() == [[cut] * 3 for cut in (-0.5, 0.5)]
    (edge,) = ((parent, child) for parent, child in averaged.edges if {parent, child} == {"x", "y"})
    tables = tables_of(averaged, edge[1])
    of_y = [one.cuts if edge[1] == "y" else one.cuts_of_parents["y"] for one in tables]
    assert len({tuple(cuts.tolist()) for cuts in of_y if cuts is not None}) > 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("shaped", [False, True])
def test_stacks_are_chosen_by_rows_that_are_left_out_of_tables(
    shaped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # lines are fitted to rows in this order
    frame = in_row_order(in_column_order(read_table(linear_frame(80, noise=0.4)))).to_frame()
    network = network_of(frame, [("x", "y"), ("c", "y")], shaped=shaped, pseudo_count=1.5)
    found: dict[str, Member] = {}
    tables_of_variable = averaging.Averaging.tables_of

    def kept(self: Any, v: int, *given: Any) -> Member:
        found[self.network.names[v]] = tables_of_variable(self, v, *given)
        return found[self.network.names[v]]

    monkeypatch.setattr(averaging.Averaging, "tables_of", kept)
    average_families(network, frame, n_copies=3)
    low, high = network.support["y"]
    tables: Any = found["y"].fitted
    logs = []
    for copy in tables.tables:
        of_cuts = {**network.cut_points, **copy.cuts_of_parents, "y": copy.cuts}
        codes = DiscretizedBayesNet.from_table(read_table(frame), network.edges, of_cuts).discretize(frame)
        cuts, card = copy.cuts, len(copy.cuts) + 1
        for_copy = []
        for row in range(80):
            others = codes.drop(index=row)
            same = others[(others["x"] == codes["x"][row]) & (others["c"] == codes["c"][row])]
            probability = ((same["y"] == codes["y"][row]).sum() + 1.5 / card) / (len(same) + 1.5)
            value = frame["y"].to_numpy()[row]
            if shaped:
                inside = float(network.shapes["y"].log_inside(np.array([value]), cuts)[0])
            else:
                inside = -math.log(np.diff([low, *cuts, high])[bin_codes(np.array([value]), cuts)[0]])
            for_copy.append(math.log(probability) + inside)
        logs.append(for_copy)
    expected = logsumexp(logs, axis=0) - math.log(len(logs))
    np.testing.assert_allclose(found["y"].left_out, expected, rtol=1e-9)


@pytest.mark.parametrize("shaped", [False, True])
def test_a_column_has_as_many_sets_of_cuts_as_pay(shaped: bool) -> None:
    frame = linear_frame(120, noise=0.4)
    network = network_of(frame, [("x", "y"), ("c", "y")], shaped=shaped)
    chosen = averaging.Averaging(network, read_table(frame))
    sets = chosen.drawn_cuts(20, np.random.default_rng(0))
    coded = [chosen.session.coded(cuts) for cuts in sets]
    parents = chosen.session.graph.parents
    for v, name in enumerate(network.names):
        member = chosen.tables_of(v, parents[v], sets, coded)
        n_kept = member.fitted.n_sets
        alone = [
            chosen.tables_of(v, parents[v], [one], [of_one]).left_out
            for one, of_one in zip(sets, coded, strict=True)
        ]
        means = {n: logsumexp(alone[:n], axis=0) - math.log(n) for n in (1, 2, 5, 10, 20)}
        np.testing.assert_allclose(member.left_out, means[n_kept], rtol=1e-9, atol=1e-12, err_msg=name)
        # the first number that costs at most .005 nats of a row
        paying = [n for n in means if (means[20] - means[n]).mean() <= 0.005]
        assert n_kept == paying[0]


@pytest.mark.parametrize("law", [np.sin, np.abs, lambda x: 0.1 * x])
def test_the_preference_of_density_keeps_at_least_as_much_of_it(law: Any) -> None:
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 300))
    frame = pd.DataFrame({"x": x, "z": z, "y": law(2 * x) + 0.5 * rng.normal(size=300)})
    network = network_of(frame, [("x", "y"), ("z", "y")])
    by_preference = {p: average_families(network, frame, n_copies=5, prefer=p) for p in averaging.PREFERENCES}
    losses = {p: conditionals_of(one).log_losses["y"][1] for p, one in by_preference.items()}
    # up to the 2 nats that another choice must gain
    assert losses["density"] <= losses["simple"] + 2 / 300
    numbers = {p: conditionals_of(one).stacks["y"].n_parameters for p, one in by_preference.items()}
    # further numbers must gain half of ln(number of rows) each
    gain = 300 * (losses["simple"] - losses["density"])
    assert gain < 0.5 * math.log(300) * max(numbers["density"], numbers["simple"]) + 4


@pytest.mark.sample(1)
@pytest.mark.parametrize("shaped", [False, True])
def test_a_strong_line_gets_most_of_the_weight_and_independent_columns_none(shaped: bool) -> None:
    frame = linear_frame()
    network = network_of(frame, [("x", "y"), ("x", "z"), ("c", "x")], shaped=shaped)
    averaged = average_families(network, frame)
    # "x" has no continuous parent
    assert "y" in lines_of(averaged)
    assert weight_of(averaged, "y") > 0.9
    assert slope_of(averaged, "y", "x") == pytest.approx(1.0, abs=0.1) or effects_on(averaged, "y").in_units
    fresh = linear_frame(2000, seed=1)
    gain = averaged.score(fresh) - network.score(fresh)
    assert gain > 0.5
    bins = average_families(network, frame, line="none")
    assert lines_of(bins) == {}
    assert conditionals_of(bins).scales == {}
    assert network.score(fresh) < bins.score(fresh) < averaged.score(fresh)


def test_lines_of_groups_follow_their_discrete_parents() -> None:
    rng = np.random.default_rng(0)
    group, x = rng.choice(["k", "l"], 300), rng.normal(size=300)
    frame = pd.DataFrame(
        {"g": group, "x": x, "y": np.where(group == "k", x, -x) + 0.1 * rng.normal(size=300)}
    )
    # a level without rows
    frame["g"] = pd.Categorical(frame["g"], categories=["k", "l", "m"])
    network = network_of(frame, [("g", "y"), ("x", "y")])
    averaged = average_families(network, frame)
    sampled = averaged.sample(2000, random_state=1)
    for level, sign in (("k", 1), ("l", -1)):
        rows = sampled[sampled["g"] == level]
        assert sign * np.corrcoef(rows["x"], rows["y"])[0, 1] > 0.9


def test_lines_of_columns_with_point_masses_give_probabilities_to_the_points() -> None:
    rng = np.random.default_rng(1)
    rain = np.where(rng.random(300) < 0.4, 0.0, rng.gamma(3.0, size=300))
    frame = pd.DataFrame({"rain": rain, "flow": rain + 0.1 * rng.normal(size=300)})
    frame["depth"] = np.maximum(frame["flow"] - 1.5, 0.0)
    network = network_of(frame, [("rain", "flow"), ("flow", "depth")])
    assert network.shapes["rain"].points
    assert network.shapes["depth"].points
    averaged = average_families(network, frame)
    assert set(lines_of(averaged)) == {"flow", "depth"}
    assert not lines_of(averaged)["depth"].in_units
    density = averaged.conditional_density("depth", {"flow": 1.4})
    assert set(density.points) == {0.0}
    total = np.trapezoid(density.densities, density.values) + density.points[0.0]
    assert total == pytest.approx(1, abs=0.02)
    # a wet day is seldom far above, and a dry one is
    low, high = (averaged.conditional_density("depth", {"flow": flow}).points[0.0] for flow in (0.5, 3.0))
    assert high < 0.1 < 0.8 < low
    sampled = averaged.sample(500, random_state=0)
    assert 0.3 < (sampled["rain"] == 0).mean() < 0.5
    assert np.isfinite(averaged.log_density(sampled)).all()


def test_lines_of_counts_are_probabilities_that_sum_to_one() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=1_500)
    frame = pd.DataFrame({"x": x, "visits": rng.poisson(np.exp(0.8 + 0.7 * x)).clip(max=25)})
    train, fresh = frame[:700], frame[700:]
    # each value of the fresh rows occurs
    fresh = fresh[fresh["visits"].isin(train["visits"])]
    network = network_of(train, [("x", "visits")], shaped=True)
    assert network.shapes["visits"].has_few_values
    lines, bins = (average_families(network, train, line=line) for line in ("auto", "none"))
    assert weight_of(lines, "visits") > 0.3
    gain = (lines.log_density(fresh) - bins.log_density(fresh)).mean()
    assert gain > 0.03
    points = network.shapes["visits"].point_values
    for value in (-1.0, 0.0, 1.5):
        density = lines.conditional_density("visits", {"x": value})
        smooth = np.trapezoid(density.densities, density.values)
        assert smooth + math.fsum(density.points.values()) == pytest.approx(1, abs=1e-3)
        rows = pd.DataFrame({"x": value, "visits": points})
        terms = np.exp(lines.log_density_terms(rows)["visits"])
        assert terms == pytest.approx(list(density.points.values()), rel=1e-9)
        drawn = drawn_values(lines, 20_000, np.random.default_rng(7), {"x": np.full(20_000, value)})["visits"]
        shares = [(drawn == point).mean() for point in points]
        assert shares == pytest.approx(list(density.points.values()), abs=0.02)


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_columns_of_few_values_gain_no_density_by_lines(levels: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=1_600)
    grid = np.clip(np.round(x + 0.3 * rng.normal(size=1_600) + levels / 2), 0, levels - 1)
    frame = pd.DataFrame({"x": x, "grid": grid / (levels - 1)})
    train, fresh = frame[:600], frame[600:]
    network = network_of(train, [("x", "grid")], shaped=True)
    lines, bins = (average_families(network, train, line=line) for line in ("auto", "none"))
    densities = [averaged.log_density_terms(fresh)["grid"].mean() for averaged in (lines, bins)]
    # no more than rows that are spread evenly over their steps
    assert densities[0] <= max(np.log(levels - 1) + 0.05, densities[1])


def test_columns_are_on_the_scales_on_which_lines_predict_best() -> None:
    rng = np.random.default_rng(6)
    x, z = rng.normal(size=(2, 400))
    frame = pd.DataFrame({"x": x, "sum": np.exp(x) + 0.3 * rng.normal(size=400)})
    frame = frame.assign(z=np.exp(2 * z), power=np.exp(2 * (z + 0.1 * rng.normal(size=400))))
    averaged = average_families(network_of(frame, [("x", "sum"), ("z", "power")]), frame, line="single")
    lines: dict[str, Any] = lines_of(averaged)
    # noise that is normal in units is so on a scale of its own, too
    assert lines["sum"].in_units or lines["sum"].transform is not None
    assert not lines["power"].in_units
    assert lines["power"].transform is None
    # a parent has functions of its ranks, and may have one of its units
    assert "z" not in conditionals_of(averaged).units
    assert {"x", "z", "power"} <= set(conditionals_of(averaged).scales)
    numbers = {name: frame[name].to_numpy() for name in conditionals_of(averaged).units}
    for name, of_name in numbers.items():
        assert conditionals_of(averaged).units[name] == pytest.approx((of_name.mean(), of_name.std()))


@pytest.mark.long
def test_step_functions_get_hardly_a_line_and_new_rows_are_predicted_as_well() -> None:
    gains = []
    for seed in range(6):
        truth = random_network(5, random_state=seed)
        frame, fresh = truth.sample(300, random_state=seed), truth.sample(3000, random_state=seed + 100)
        network = (
            BayesNetLearner(pseudo_count="auto", curves="none", density="bins", **QUICK).fit(frame).network_
        )
        averaged = average_families(network, frame)
        lines = lines_of(averaged).items()
        weights = [weight_of(averaged, name) for name, line in lines if isinstance(line, FamilyEffects)]
        assert max(weights, default=0.0) < 0.25
        # values beyond the range of the rows have no probability
        inside = np.all([fresh[name].between(*ends) for name, ends in network.support.items()], axis=0)
        gains.append(averaged.score(fresh[inside]) - network.score(fresh[inside]))
    assert min(gains) > -0.03
    assert np.mean(gains) > -0.005


@pytest.mark.parametrize(("spacing", "least_scale"), [(0.02, 0.02), (0.1, 0.05), (0.25, 0.1)])
@pytest.mark.parametrize("shaped", [False, True])
def test_repeated_values_do_not_buy_density_by_lines(
    spacing: float, least_scale: float, shaped: bool
) -> None:
    x = np.round(np.random.default_rng(2).normal(size=400) / spacing) * spacing
    frame = pd.DataFrame({"x": x, "y": x})
    network = network_of(frame, [("x", "y")], n_bins=8, shaped=shaped)
    averaged = average_families(network, frame)
    if "y" in lines_of(averaged):
        assert effects_on(averaged, "y").scales.min() > least_scale
    # all that is known of a value is the interval that rounds to it
    assert averaged.log_density_terms(frame)["y"].mean() < -math.log(spacing)


@pytest.mark.sample(2)
@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize(("factor", "offset", "rounding"), [(4.0, 0.0, 1e-9), (1e-3, 7.0, 0.01)])
def test_scales_of_columns_move_the_density_by_their_logarithms_alone(
    shaped: bool, factor: float, offset: float, rounding: float
) -> None:
    frame = linear_frame(150, noise=0.3)
    edges = [("x", "y"), ("c", "y"), ("y", "z")]
    moved = frame.assign(x=factor * frame["x"] + offset, y=factor * frame["y"] + offset)
    first, second = (
        average_families(network_of(rows, edges, shaped=shaped), rows, n_copies=4) for rows in (frame, moved)
    )
    assert set(lines_of(first)) == set(lines_of(second)) >= {"y"}
    assert weight_of(second, "y") == pytest.approx(weight_of(first, "y"), abs=1e-4)
    np.testing.assert_allclose(
        second.log_density(moved), first.log_density(frame) - 2 * math.log(factor), atol=rounding
    )
    for name in ("x", "y"):
        np.testing.assert_allclose(
            second.cut_probabilities(name)["probability"],
            first.cut_probabilities(name)["probability"],
            atol=1e-6,
        )
        np.testing.assert_allclose(
            second.cut_intervals(name), factor * first.cut_intervals(name) + offset, rtol=1e-9
        )


def test_a_transformed_column_predicts_new_rows_of_a_post_nonlinear_law_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rows(seed: int, n: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        a = rng.normal(size=n)
        return pd.DataFrame({"a": a, "b": np.exp(2 * np.tanh(1.5 * np.sin(a) + 0.3 * rng.normal(size=n)))})

    frame, new = rows(0, 1_500), rows(1, 1_500)
    rules = ExpertKnowledge(required_edges=[("a", "b")])
    learner = BayesNetLearner(**QUICK, knowledge=rules)
    network = learner.fit(frame).network_
    assert effects_on(network, "b").transform is not None
    assert "on a transformed scale" in str(network.summary())
    of_model = averaging.own_scales
    monkeypatch.setattr(averaging, "own_scales", lambda *given: of_model(*given)[1:])
    plain = average_families(network.of_tables(), frame, line="single", random_state=1)
    gain = network.log_density_terms(new)["b"].mean() - plain.log_density_terms(new)["b"].mean()
    assert gain > 0.02
