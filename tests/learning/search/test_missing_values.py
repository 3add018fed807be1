"""Learning from tables with missing values, end to end."""

import signal
import warnings
from math import log

import numpy as np
import pandas as pd
import pytest
from option_examples import problem_of_learner
from oracles import slow_score_of_codes
from sklearn.datasets import load_diabetes

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    ExpertNetwork,
    GomeaBnError,
    GomeaBnWarning,
    ParetoBayesNetLearner,
    averaged_misfits,
    cut_gains,
    read_table,
    refine_boundaries,
)
from gomea_bn.learning.search import completed_tables
from gomea_bn.learning.search.shown_cuts import Found, with_shown_cuts
from gomea_bn.learning.search.staged_search import searched
from gomea_bn.metrics import histogram_baseline
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.review.page_data import network_data
from gomea_bn.review.pools import Pools
from gomea_bn.runtime import FitClock
from gomea_bn.runtime.fit_clock import GAPS, SEARCH


def chain(n_rows=1500, seed=0):
    """Rows of x -> y -> z, with a continuous x and y."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    y = x + 0.5 * rng.normal(size=n_rows)
    z = np.where(y + 0.4 * rng.normal(size=n_rows) > 0, "high", "low")
    return pd.DataFrame({"x": x, "y": y, "z": pd.Categorical(z)})


def with_gaps(frame, share=0.3, seed=1):
    rng = np.random.default_rng(seed)
    return frame.apply(lambda column: column.mask(rng.random(len(column)) < share))


def learner(**options):
    defaults = {"max_seconds": None, "max_evaluations": 2000, "random_state": 1, "pseudo_count": "auto"}
    return BayesNetLearner(**{"density": "bins", "curves": "none", **defaults, **options})


def test_the_default_learns_from_available_cases():
    frame = chain()
    gaps = with_gaps(frame)
    assert gaps.isna().any(axis=1).mean() > 0.6
    # every other seed ends at a graph with a third edge
    learned = learner(random_state=3).fit(gaps)
    assert {frozenset(edge) for edge in learned.network_.edges} == {frozenset("xy"), frozenset("yz")}
    test = chain(4000, seed=2)
    whole = learner().fit(frame).network_.score(test)
    complete = learner(missing="drop").fit(gaps).network_.score(test)
    score = learned.network_.score(test)
    assert complete < score
    assert score > whole - 0.1


def test_a_complete_table_gives_the_same_network_under_every_treatment():
    frame = chain(300)
    networks = [learner(missing=missing).fit(frame).network_ for missing in ("available", "error", "drop")]
    assert networks[0] == networks[1] == networks[2]


def test_missing_values_are_an_error_on_request():
    with pytest.raises(GomeaBnError, match=r"Column 'x' has .* missing"):
        learner(missing="error").fit(with_gaps(chain(200)))
    with pytest.raises(GomeaBnError, match=r"missing must be"):
        learner(missing="some").fit(chain(200))


def test_discretizers_refuse_missing_values():
    with pytest.raises(GomeaBnError, match=r"A discretizer.* needs a table without missing values"):
        learner(discretizer="mdl").fit(with_gaps(chain(200)))


def pair_score(gaps, cuts):
    """Return the density-bd score of x -> z on available cases, apart from terms without cuts of x."""
    n_rows, values = len(gaps), gaps["x"].to_numpy()
    observed = values[~np.isnan(values)]
    bins = np.searchsorted(cuts, observed)
    edges = [observed.min(), *cuts, observed.max()]
    own = slow_score_of_codes([bins], [len(cuts) + 1], 0, [], "k2")
    own -= 0.5 * log(len(np.unique(observed)) - 1) * len(cuts)
    own -= np.log(np.diff(edges) / np.ptp(observed))[bins].sum()
    both = gaps.dropna(subset=["x", "z"])
    levels = both["z"].cat.codes.to_numpy()
    of_parent = np.searchsorted(cuts, both["x"].to_numpy())
    with_parent, alone = (
        slow_score_of_codes([levels, of_parent], [2, 9], 0, of_z, "k2") for of_z in ([1], [])
    )
    gain = with_parent - alone
    return n_rows / len(observed) * own + n_rows / len(both) * gain


def pair_network(gaps, cuts):
    table = read_table(gaps[["x", "z"]], missing="keep")
    return table, DiscretizedBayesNet.from_table(table, [("x", "z")], {"x": cuts})


def test_cuts_gain_their_share_of_the_score_on_available_cases():
    gaps = with_gaps(chain(300))
    cuts = [-0.5, 0.2, 1.0]
    _, network = pair_network(gaps, cuts)
    expected = [pair_score(gaps, cuts) - pair_score(gaps, np.delete(cuts, k)) for k in range(3)]
    assert cut_gains(network, gaps)["x"] == pytest.approx(expected)


@pytest.mark.sample(2)
@pytest.mark.parametrize("complete", ["y", "x", "z"])
def test_refinement_moves_cuts_by_the_score_on_available_cases(complete):
    gaps = with_gaps(chain(300)).assign(**{complete: chain(300)[complete]})
    cuts = [-1.2, 0.9]
    table, network = pair_network(gaps, cuts)
    refined = refine_boundaries(network, table, scoring_method="density-bd")
    moved = refined.network.cut_points["x"]
    assert refined.score_after > refined.score_before
    assert refined.score_after - refined.score_before == pytest.approx(
        pair_score(gaps, moved) - pair_score(gaps, cuts)
    )
    # no cut alone is better elsewhere
    distinct = np.unique(gaps["x"].dropna())
    middles = (distinct[1:] + distinct[:-1]) / 2
    for first in middles[5:-5:7]:
        for other in ([first, moved[1]], [moved[0], first]):
            if other[0] < other[1] and np.diff(np.searchsorted(distinct, other))[0] > 5:
                assert pair_score(gaps, other) <= pair_score(gaps, moved) + 1e-6


def test_refinement_never_lowers_the_score_on_available_cases():
    gaps = with_gaps(chain(300), 0.4)
    table = read_table(gaps, missing="keep")
    cuts = {"x": [-1.0, 0.5], "y": [0.0, 1.0]}
    network = DiscretizedBayesNet.from_table(table, [("x", "y"), ("x", "z"), ("y", "z")], cuts)
    refined = refine_boundaries(network, table, bin_counts="free")
    assert refined.stopped_by == "fixpoint"
    scores = [-entry.objective for entry in refined.history]
    assert scores == sorted(scores)
    assert refined.score_before < refined.score_after == pytest.approx(scores[-1])
    again = refine_boundaries(refined.network, table, bin_counts="free")
    assert again.score_before == pytest.approx(refined.score_after)


@pytest.mark.parametrize("method", ["rv-gomea", "mdl"])
def test_other_refinements_refuse_missing_values(method):
    table, network = pair_network(with_gaps(chain(100)), [0.0])
    with pytest.raises(GomeaBnError, match=rf"(?s)'{method}' needs a table without missing.*method=.dp."):
        refine_boundaries(network, table, method)


def test_an_edge_is_judged_on_the_rows_that_have_its_family():
    gaps = with_gaps(chain(300))
    _, network = pair_network(gaps, [0.0])
    pairs = gaps[["x", "z"]].dropna()
    reasons, expected = network.why(("x", "z"), gaps), network.why(("x", "z"), pairs)
    assert (reasons.n_rows, reasons.gain) == (len(pairs), pytest.approx(expected.gain))
    with pytest.raises(GomeaBnError, match="No row of the data has values of 'z' and of all its parents"):
        network.why(("x", "z"), gaps.assign(z=gaps["z"].where(gaps["x"].isna())))


def test_the_page_counts_the_rows_that_have_values():
    gaps = with_gaps(chain(300))
    table, network = pair_network(gaps, [0.0])
    assert network_data(network, table, {}, None)["origin"] == (
        f"Learned from 300 rows, with {table.n_missing} missing values."
    )
    pools = Pools(network.names, table)
    pools.add(network)
    below = [int((gaps["x"] <= 0).sum()), int((gaps["x"] > 0).sum())]
    assert pools.cuts[0][0]["n"] == below
    assert pools.cuts[1][0]["n"] == gaps["z"].value_counts(sort=False).tolist()
    assert pools.families[1][0]["n"] == below


def test_advice_does_not_name_options_that_are_not_there():
    table, _ = pair_network(with_gaps(chain(100)), [0.0])
    with pytest.raises(GomeaBnError) as raised:
        histogram_baseline(table)
    assert "missing=" not in str(raised.value)
    assert "table.complete_rows()" in str(raised.value)
    assert histogram_baseline(table.complete_rows()).names == ("x", "z")


def front_learner(**options):
    return ParetoBayesNetLearner(
        **{"max_seconds": None, "max_evaluations": 1200, "random_state": 1, **options}
    )


@pytest.mark.long
def test_a_front_is_that_of_rows_that_its_single_network_completes():
    gaps = with_gaps(chain(500))
    front = front_learner().fit(gaps).front_
    network = front.single.network
    assert {frozenset(edge) for edge in network.edges} == {frozenset("xy"), frozenset("yz")}
    again = front_learner().fit(gaps).front_
    assert np.array_equal(front.values, again.values)
    assert front.table.n_missing == gaps.isna().sum().sum()


@pytest.mark.long
def test_an_expert_may_review_a_front_of_a_table_with_missing_values():
    expert = ExpertNetwork.from_edges([("x", "y")])
    front = front_learner(expert=expert).fit(with_gaps(chain(300))).front_
    assert set(front.expert.names) == {"x", "y", "z"}
    assert (front.values[:, front.names.index("expert_distance")] >= 0).all()


def test_a_front_without_a_single_network_refuses_missing_values():
    with pytest.raises(GomeaBnError, match=r"single_share.* leave nothing for it"):
        front_learner(single_share=0).fit(with_gaps(chain(200)))


@pytest.mark.long
def test_conditionals_are_learned_with_drawn_missing_values():
    gaps, test = with_gaps(chain(800)), chain(2000, seed=3)
    learned, plain = learner(density="averaged").fit(gaps), learner().fit(gaps)
    assert learned.score(test) > plain.score(test)
    again = learner(density="averaged").fit(gaps)
    assert np.array_equal(learned.score_samples(test), again.score_samples(test))
    ensemble = BayesNetEnsemble(
        learner(max_evaluations=300, density="averaged"), n_networks=2, random_state=3
    )
    assert ensemble.fit(gaps).score(test) > plain.score(test)


@pytest.mark.long
def test_ensembles_learn_from_available_cases():
    gaps = with_gaps(chain(600))
    ensemble = BayesNetEnsemble(learner(max_evaluations=500), n_networks=2, random_state=3).fit(gaps)
    assert len(ensemble.networks_) == 2
    assert ensemble.networks_[0].support["x"] == (gaps["x"].min(), gaps["x"].max())


@pytest.mark.long
def test_rows_with_missing_cells_have_the_density_of_their_other_cells():
    learned = learner().fit(with_gaps(chain(600)))
    frame = chain(50, seed=5)
    frame["y"] = np.nan
    network = learned.network_
    assert learned.score_samples(frame) == pytest.approx(network.log_density(frame, of=["x", "z"]))


def codes_network(frame, pseudo_count):
    table = read_table(frame, missing="keep")
    return DiscretizedBayesNet.from_table(table, [("a", "b")], {}, pseudo_count=pseudo_count)


@pytest.mark.parametrize("pseudo_count", [1e-9, "auto"])
def test_tables_use_rows_that_lack_a_value(pseudo_count):
    # b is missing more often where a is 1, and a cannot be counted from the pairs alone
    rng = np.random.default_rng(0)
    a = rng.random(20_000) < 0.5
    b = rng.random(20_000) < np.where(a, 0.9, 0.2)
    frame = pd.DataFrame({"a": a.astype(int), "b": b.astype(int)})
    gaps = frame.astype("Int64")
    gaps["a"] = gaps["a"].mask(b & (rng.random(20_000) < 0.7))
    exact = {(i, j): ((a == i) & (b == j)).mean() for i in (0, 1) for j in (0, 1)}
    tables = codes_network(gaps, pseudo_count).tables
    available = gaps.dropna()
    of_pairs = (available.a == 1).mean()
    learned = tables["a"][1]
    # the counts of pairs are biased, since a is missing where b is 1
    truth = exact[1, 0] + exact[1, 1]
    assert abs(learned - truth) < 0.5 * abs(of_pairs - truth)


def test_tables_of_rows_without_missing_values_are_counts():
    frame = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 1, 1] * 5})
    tables = codes_network(frame, 1.0).tables
    assert tables["a"] == pytest.approx([10.5 / 21, 10.5 / 21])
    assert tables["b"][1] == pytest.approx([0.5 / 11, 10.5 / 11])


def test_a_step_counts_expected_rows():
    # one value of b is unknown; with the table of b given a the expectation is known
    frame = pd.DataFrame({"a": [0] * 8 + [1] * 8 + [1] * 4, "b": [0] * 8 + [0, 0] + [1] * 6 + [None] * 4})
    tables = codes_network(frame.astype("Int64"), 1e-9).tables
    assert tables["a"] == pytest.approx([0.4, 0.6], abs=1e-6)
    assert tables["b"][1, 1] == pytest.approx(0.75, abs=0.1)
    assert tables["b"][0] == pytest.approx([1.0, 0.0], abs=1e-6)


def edges_of(network):
    return {frozenset(edge) for edge in network.edges}


def test_completed_rows_take_away_edges_that_other_rows_seemed_to_show():
    # y is a copy of x, so that w seems to depend on either, and on other rows for each of the two
    rng = np.random.default_rng(4)
    x = rng.random(1500) < 0.4
    y = np.where(rng.random(1500) < 0.02, ~x, x)
    w = np.where(rng.random(1500) < 0.15, ~y, y)
    frame = pd.DataFrame({"x": x, "y": y, "w": w}).astype(int).astype("Int64")
    gaps = with_gaps(frame, 0.35, seed=3)
    learned = learner().fit(gaps)
    assert edges_of(learned.network_) == {frozenset("xy"), frozenset("yw")}


def patients():
    """Rows of the diabetes table, with 10 measurements that depend on each other; equal values are moved apart."""
    frame = load_diabetes(as_frame=True, scaled=False).frame.drop(columns="sex")
    return frame + np.random.default_rng(0).normal(scale=1e-3 * frame.std().to_numpy(), size=frame.shape)


def without_completions(problem, table, options, rounds, start, clock):
    return Found(problem, *with_shown_cuts(problem, searched(problem, rounds.settings, start)))


@pytest.mark.long
def test_completed_tables_show_more_than_available_cases(monkeypatch):
    order = np.random.default_rng(0).permutation(442)
    train, test = (patients().iloc[rows].reset_index(drop=True) for rows in (order[:300], order[300:]))
    gaps = with_gaps(train)

    def mean_score():
        # in some runs no completed table shows more
        return np.mean([learner(random_state=seed).fit(gaps).network_.score(test) for seed in range(3)])

    learned = mean_score()
    monkeypatch.setattr("gomea_bn.learning.search.completed_tables.with_completions", without_completions)
    assert learned > mean_score() + 0.5


@pytest.mark.long
def test_the_network_with_the_best_charged_likelihood_is_kept(monkeypatch):
    networks = []

    def noted(network, frame):
        networks.append((criterion(network, frame), network))
        return networks[-1][0]

    criterion = completed_tables._criterion
    monkeypatch.setattr(completed_tables, "_criterion", noted)
    gaps = with_gaps(patients().iloc[:200])
    learned = learner(max_evaluations=800).fit(gaps).network_
    assert len(networks) == 4
    cost, best = min(networks, key=lambda pair: pair[0])
    learned = learned.in_order(best.names)
    assert (learned.edges, learned.cut_points.keys()) == (best.edges, best.cut_points.keys())
    assert all(np.array_equal(learned.cut_points[name], cuts) for name, cuts in best.cut_points.items())
    # 1 nat for a free probability, ln n for a cut
    n_cuts = sum(map(len, best.cut_points.values()))
    assert cost == pytest.approx(
        best.n_parameters + n_cuts * log(200) - best.log_density(gaps).sum(), abs=1e-6
    )


def test_a_completed_table_keeps_values_and_draws_the_others_from_the_network():
    frame = chain(4000)
    table = read_table(with_gaps(frame), missing="keep")
    cuts = {"x": np.linspace(-2, 2, 9), "y": np.linspace(-2, 2, 9)}
    network = DiscretizedBayesNet.from_table(table, [("x", "y"), ("y", "z")], cuts, pseudo_count="auto")
    completed = completed_table(network, table, np.random.default_rng(0))
    assert completed.n_missing == 0
    for before, after in zip(table.columns, completed.columns, strict=True):
        assert np.array_equal(before.values[~before.is_missing], after.values[~before.is_missing])
        assert before.levels == after.levels
    drawn = table.columns[1].is_missing & ~table.columns[0].is_missing
    x, y = (column.values[drawn] for column in completed.columns[:2])
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(np.corrcoef(frame.x, frame.y)[0, 1], abs=0.1)
    assert completed_table(network, completed, np.random.default_rng(0)) is completed


def waves(n_rows, seed):
    """Rows of a column, a wave of it, a sum of both and a sum of these, all with a little noise."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n_rows)
    b = np.sin(1.5 * a) + 0.3 * rng.normal(size=n_rows)
    c = 0.7 * a + 0.7 * b + 0.3 * rng.normal(size=n_rows)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": 0.8 * c - 0.6 * b + 0.3 * rng.normal(size=n_rows)})


@pytest.fixture(scope="module")
def with_curves():
    return learner(density="averaged", curves="auto", max_evaluations=3000).fit(
        with_gaps(waves(600, 0), 0.15)
    )


@pytest.mark.long
def test_curves_join_searches_on_completed_rows(with_curves):
    test = waves(2000, 1)
    without = learner(density="averaged", max_evaluations=3000).fit(with_gaps(waves(600, 0), 0.15))
    assert with_curves.network_.metadata["curves"]
    assert with_curves.network_.score(test) > without.network_.score(test) + 0.05


@pytest.mark.long
def test_curves_on_few_complete_rows_come_from_completed_ones():
    gaps = with_gaps(waves(400, 2), 0.5)
    assert gaps.notna().all(axis=1).sum() < 40
    learned = learner(density="averaged", curves="auto", max_evaluations=1500).fit(gaps)
    assert learned.network_.edges
    assert np.isfinite(learned.network_.score(waves(100, 3)))


@pytest.mark.long
def test_searches_with_curves_keep_their_limits_and_repeat(with_curves):
    assert with_curves.n_eval_ <= 3000
    again = learner(density="averaged", curves="auto", max_evaluations=3000)
    assert again.fit(with_gaps(waves(600, 0), 0.15)).network_ == with_curves.network_


def test_no_completed_table_is_searched_that_time_is_too_short_for(monkeypatch):
    # the limits on the searches are far away, and the clock of the fit leaves nothing
    monkeypatch.setattr(FitClock, "left", property(lambda clock: -1.0))
    learned = learner(density="averaged", curves="auto", max_evaluations=300, max_seconds=1e4)
    learned.fit(with_gaps(waves(300, 4), 0.15))
    assert learned.stopped_by_ != "max_seconds"
    assert {SEARCH, GAPS} <= set(learned.network_.metadata["cut_short"])


def test_rows_that_are_nearly_all_complete_are_searched_alone(monkeypatch):
    def refuse(*_arguments):
        raise AssertionError("rows are completed")

    monkeypatch.setattr(completed_tables, "with_completions", refuse)
    frame = chain(200)
    frame.loc[frame["x"].abs().nlargest(30).index, "y"] = np.nan
    learned = learner(curves="auto", max_evaluations=300).fit(frame)
    assert learned.network_.metadata["n_rows"] == 200
    assert learned.network_.support["x"] == (frame["x"].min(), frame["x"].max())
    frame.loc[:20, "z"] = np.nan
    with pytest.raises(AssertionError, match="rows are completed"):
        learner(curves="auto", max_evaluations=300).fit(frame)


@pytest.mark.long
def test_complete_rows_with_a_narrower_range_keep_the_support_of_all_rows():
    frame = waves(400, 4)
    # the outermost rows of a are incomplete
    outermost = frame["a"].abs().nlargest(40).index
    frame.loc[outermost, "d"] = np.nan
    learned = learner(density="averaged", curves="auto", max_evaluations=1500).fit(frame)
    assert learned.network_.support["a"] == (frame["a"].min(), frame["a"].max())


@pytest.mark.long
def test_both_searches_respect_limits_knowledge_and_seed():
    gaps = with_gaps(chain(500))
    knowledge = ExpertKnowledge(required_edges=[("z", "x")], forbidden_edges=[("x", "y"), ("y", "x")])
    first, second = (learner(knowledge=knowledge, max_evaluations=700).fit(gaps) for _ in range(2))
    assert ("z", "x") in first.network_.edges
    assert frozenset("xy") not in edges_of(first.network_)
    assert first.n_eval_ <= 700
    assert first.network_ == second.network_
    assert first.score_ == second.score_


def test_the_score_is_that_of_the_network_on_available_cases():
    gaps = with_gaps(chain(500))
    learned = learner().fit(gaps)
    problem = problem_of_learner(learned)
    names = learned.table_.names
    places = {name: v for v, name in enumerate(names)}
    policies = [
        problem.scorer.enter(v, learned.network_.cut_points[name]) if name != "z" else 0
        for v, name in enumerate(names)
    ]
    edges = [(places[parent], places[child]) for parent, child in learned.network_.edges]
    families = problem.families(problem.genotype(edges, policies))
    wanted = problem.scorer.score(families).sum() + problem.scorer.constant_score
    assert learned.score_ == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("discretizer", ["optimal", "equal-frequency"])
@pytest.mark.parametrize(
    "limits", [{"max_generations": 1}, {"max_generations": 6}, {"max_evaluations": 1}, {"max_evaluations": 7}]
)
def test_limits_hold_for_all_searches_together(discretizer, limits):
    limits = {"max_evaluations": 50_000, **limits}
    learned = learner(discretizer=discretizer, **limits).fit(with_gaps(chain(200)))
    assert learned.n_eval_ <= limits["max_evaluations"]
    assert learned.n_generations_ <= limits.get("max_generations", np.inf)


def test_a_stop_on_completed_rows_is_a_stop():
    last = learner(discretizer="equal-frequency", patience=None).fit(with_gaps(chain(200))).n_eval_

    def stop(progress):
        return progress.n_eval > 0.9 * last

    stopped = learner(discretizer="equal-frequency", patience=None, callback=stop).fit(with_gaps(chain(200)))
    assert stopped.stopped_by_ == "callback"


def test_no_scores_of_completed_rows_are_prepared_when_the_search_is_over(monkeypatch):
    monkeypatch.setattr(completed_tables, "FamilyScorer", None)
    stopped = learner(discretizer="equal-frequency", callback=lambda progress: True).fit(
        with_gaps(chain(200))
    )
    assert stopped.stopped_by_ == "callback"


def test_fronts_of_equal_frequency_bins_take_missing_values():
    learned = front_learner(discretizer="equal-frequency").fit(with_gaps(chain(300)))
    assert learned.front_.single is not None


def test_averaged_misfits_fill_missing_cells():
    front = front_learner(max_evaluations=400).fit(with_gaps(chain(200))).front_
    misfits = averaged_misfits(front, ids=[0, 1], n_copies=2)
    assert np.isfinite(misfits.to_numpy()).all()
    assert misfits.equals(averaged_misfits(front, ids=[0, 1], n_copies=2))


def test_ctrl_c_and_callbacks_end_all_searches():
    gaps = with_gaps(chain(500))
    stopped = learner(max_evaluations=5000, callback=lambda progress: progress.n_eval > 300).fit(gaps)
    assert stopped.stopped_by_ == "callback"
    assert stopped.n_eval_ < 5000
    late = learner(max_evaluations=2000, callback=lambda progress: progress.n_eval > 1600).fit(gaps)
    assert 1600 < late.n_eval_ <= 2000


def test_networks_with_more_probabilities_than_rows_are_reported():
    rows = chain(40)
    knowledge = ExpertKnowledge(required_edges=[("x", "z"), ("y", "z")])
    cuts = {"x": [-1, -0.5, 0, 0.5, 1], "y": [-1, -0.5, 0, 0.5, 1]}
    options = {"knowledge": knowledge, "cut_points": cuts, "max_evaluations": 50}
    with pytest.warns(GomeaBnWarning, match=r"free parameters, more than the 40 rows.*'z', with 72 cells"):
        network = learner(**options).fit(rows).network_
    assert network.n_parameters > 40
    with warnings.catch_warnings():
        warnings.simplefilter("error", GomeaBnWarning)
        assert learner(max_evaluations=50).fit(rows).network_.n_parameters <= 40
        BayesNetEnsemble(learner(**options), n_networks=2, random_state=3).fit(rows)
        # tables that are computed from conditionals need no rows for each probability
        averaged = learner(density="averaged", **options).fit(rows).network_
        assert averaged.of_tables().n_parameters > 40


def test_conditionals_of_a_search_of_complete_rows_follow_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": np.sin(2 * x) + 0.2 * rng.normal(size=400)})
    frame.loc[(x > 0) & (rng.random(400) < 0.8), "y"] = np.nan
    n_rows = []
    average = completed_tables.average_in_time

    def recorded(network, rows, *options):
        n_rows.append(rows.n_rows)
        return average(network, rows, *options)

    monkeypatch.setattr(completed_tables, "average_in_time", recorded)
    BayesNetLearner(max_evaluations=2000, random_state=1).fit(frame)
    assert len(n_rows) > 1
    assert set(n_rows) == {400}


@pytest.mark.parametrize(("n_rows", "n_tables"), [(500, 4), (1100, 2)])
def test_of_many_rows_a_completed_table_without_gain_is_the_last(n_rows, n_tables, monkeypatch):
    criteria = []

    def no_gain(network, frame):
        criteria.append(0.0)
        return float(len(criteria))

    monkeypatch.setattr(completed_tables, "_criterion_of_conditionals", no_gain)
    BayesNetLearner(max_evaluations=3000, random_state=1).fit(with_gaps(chain(n_rows)))
    # the first one is of the tables of bins, the second one of complete rows
    assert len(criteria) == 1 + n_tables


def test_figures_of_a_search_of_complete_rows_are_those_of_all_rows(monkeypatch):
    criteria = iter([1.0, 0.0, 2.0, 3.0, 4.0])
    # complete rows come second, after the tables of bins
    monkeypatch.setattr(completed_tables, "_criterion_of_conditionals", lambda *_given: next(criteria))
    gaps = with_gaps(chain(600), 0.15)
    learned = BayesNetLearner(max_evaluations=3000, random_state=1).fit(gaps)
    assert next(criteria, None) is None
    complete = BayesNetLearner(max_evaluations=3000, random_state=1).fit(gaps.dropna())
    weight = len(gaps) / len(gaps.dropna())
    assert weight > 1.4
    assert "rows_searched" not in learned.network_.metadata
    assert learned.score_ == pytest.approx(weight * complete.score_, rel=0.03)
    gains, of_complete = (
        sum(nats for parents in one.network_.metadata["parents"].values() for _, nats in parents)
        for one in (learned, complete)
    )
    assert gains == pytest.approx(weight * of_complete, rel=0.03)


def test_ctrl_c_between_two_searches_ends_the_search(monkeypatch):
    completed = completed_tables._completed
    n_completed = []

    def interrupted(*given):
        n_completed.append(1)
        signal.raise_signal(signal.SIGINT)
        return completed(*given)

    gaps = with_gaps(chain(400), 0.15)
    options = {"density": "averaged", "curves": "auto", "max_evaluations": 3000}
    n_eval = learner(**options).fit(gaps).n_eval_
    monkeypatch.setattr(completed_tables, "_completed", interrupted)
    stopped = learner(**options).fit(gaps)
    assert len(n_completed) == 1
    assert stopped.stopped_by_ == "interrupt"
    assert stopped.network_.edges
    assert stopped.n_eval_ < n_eval


def test_a_column_may_be_constant_in_the_complete_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300), "z": 1.5})
    frame["y"] += frame["x"]
    frame.loc[:99, "z"] = rng.normal(size=100)
    frame.loc[:99, "y"] = frame["y"].mask(np.arange(300) % 2 == 0)[:100]
    frame.loc[:99, "x"] = frame["x"].mask(np.arange(300) % 2 == 1)[:100]
    network = BayesNetLearner(random_state=1).fit(frame).network_
    assert set(network.edges) in ({("x", "y")}, {("y", "x")})
