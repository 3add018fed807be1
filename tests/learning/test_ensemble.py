"""The ensemble: a mixture of networks from parts of the rows, its confidence in edges, its limits and its errors."""

import itertools
import math
import signal
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of, lines_of
from learning_inside import seconds_after_search
from network_examples import simple_network
from shaped_examples import shaped_table
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from wrong_input import untyped

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    GomeaBnWarning,
    ParetoBayesNetLearner,
    read_table,
)
from gomea_bn.data.content_order import in_column_order, in_row_order
from gomea_bn.data.table import table_digest
from gomea_bn.discretization import BayesianDiscretizer
from gomea_bn.learning import ensemble
from gomea_bn.problems.cuts import table_shapes
from gomea_bn.runtime import Limits, fit_clock
from gomea_bn.runtime.fit_clock import DRAWS

QUICK = BayesNetLearner(curves="none", density="bins", max_evaluations=600)


@pytest.fixture(scope="module")
def frame():
    """Return 80 rows: a and b depend on each other, c on b, d has a level that few rows have, one that none has."""
    rng = np.random.default_rng(5)
    a = rng.normal(size=80)
    b = a + rng.normal(scale=0.5, size=80)
    d = pd.Categorical(["rare"] + ["often"] * 50 + ["usual"] * 29, ["never", "often", "rare", "usual"])
    return pd.DataFrame({"a": a, "b": b, "c": np.where(b > 0, 1, 0), "d": d})


@pytest.fixture(scope="module")
def fitted(frame):
    return BayesNetEnsemble(QUICK, n_networks=4, random_state=3).fit(frame)


def test_the_density_is_the_mean_of_the_networks(frame, fitted):
    assert fitted.n_networks_ == len(fitted.networks_) == 4
    assert fitted.stopped_by_ == "n_networks"
    densities = [[math.exp(log) for log in net.log_density(frame)] for net in fitted.networks_]
    mean = [math.log(math.fsum(row_densities) / 4) for row_densities in zip(*densities, strict=True)]
    np.testing.assert_allclose(fitted.log_density(frame), mean, rtol=1e-12)
    np.testing.assert_array_equal(fitted.score_samples(frame), fitted.log_density(frame))
    assert fitted.score(frame) == pytest.approx(np.mean(mean), rel=1e-12)
    assert fitted.networks_[0] != fitted.networks_[1]


def test_probabilities_sum_to_one_over_all_rows_that_there_can_be():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 40)
    y = pd.Categorical.from_codes(np.where(rng.random(40) < 0.8, x, 2), pd.Index(["p", "q", "r", "unseen"]))
    frame = pd.DataFrame({"x": x, "y": y, "z": rng.choice(list("uv"), 40)})
    learned = BayesNetEnsemble(QUICK, n_networks=3, random_state=1).fit(frame)
    rows = pd.DataFrame(list(itertools.product([0, 1], y.categories, "uv")), columns=list("xyz"))
    assert np.exp(learned.log_density(rows)).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.sample(1)
@pytest.mark.parametrize("resampling", ["subsample", "bootstrap"])
def test_each_network_is_learned_from_some_rows_and_counted_from_all(frame, fitted, resampling):
    table = read_table(frame)
    ordered = in_row_order(in_column_order(table))
    if resampling == "bootstrap":
        fitted = BayesNetEnsemble(QUICK, n_networks=4, random_state=3, resampling=resampling).fit(frame)
    for position, child in enumerate(np.random.SeedSequence(3).spawn(4)):
        generator = np.random.default_rng(child)
        rows = np.zeros(80, np.int64)
        # rows in which a column is constant are drawn again
        while ordered.to_frame().iloc[rows].nunique().min() == 1:
            if resampling == "bootstrap":
                rows = generator.integers(80, size=80)
            else:
                rows = np.sort(generator.choice(80, size=50, replace=False))
        member = clone(QUICK).set_params(random_state=int(generator.integers(2**32))).fit(ordered.take(rows))
        edges, cuts = member.network_.edges, member.network_.cut_points
        shapes = {name: table_shapes(table)[name].shape for name in member.network_.shapes}
        expected = DiscretizedBayesNet.from_table(
            table, edges, cuts, pseudo_count="auto", shapes=shapes, metadata={"equivalent": True}
        )
        assert fitted.networks_[position] == expected
        metadata = fitted.networks_[position].metadata
        assert metadata["member"] == position
        for name in ("scoring_method", "cut_cost", "seed", "n_eval", "n_rows", "fixed_cut_points"):
            assert metadata[name] == member.network_.metadata[name]
        assert "score" not in metadata  # it is of the resample
        assert metadata["data_sha256"] == table_digest(table) != member.network_.metadata["data_sha256"]


def test_the_same_seed_gives_the_same_networks(frame, fitted):
    again = BayesNetEnsemble(QUICK, n_networks=4, random_state=fitted.seed_, n_jobs=2).fit(frame)
    assert again.networks_ == fitted.networks_
    shorter = BayesNetEnsemble(clone(QUICK).set_params(random_state=9), n_networks=2, random_state=3).fit(
        frame
    )
    assert shorter.networks_ == fitted.networks_[:2]
    other = BayesNetEnsemble(QUICK, n_networks=4, random_state=4).fit(frame)
    assert other.networks_ != fitted.networks_


def test_edge_frequencies_by_hand(fitted):
    def net(*edges):
        return simple_network({"x": 2, "y": 2, "z": 2}, edges)

    made = BayesNetEnsemble()
    made.networks_ = [net(("x", "y")), net(("y", "x"), ("y", "z")), net(("x", "y"), ("x", "z")), net()]
    assert made.edge_frequency().to_dict("split")["data"] == [
        ["x", "y", 0.5, 0.75],
        ["y", "x", 0.25, 0.75],
        ["x", "z", 0.25, 0.25],
        ["y", "z", 0.25, 0.25],
    ]
    arcs = Counter(edge for network in fitted.networks_ for edge in network.edges)
    frequencies = {(row.parent, row.child): row.arc for row in fitted.edge_frequency().itertuples()}
    assert frequencies == {edge: count / 4 for edge, count in arcs.items()}


def test_samples_follow_the_mixture(frame, fitted):
    rows = fitted.sample(20_000, random_state=1)
    pd.testing.assert_frame_equal(rows, fitted.sample(20_000, random_state=1))
    assert list(rows.columns) == list(frame.columns)
    assert rows.index.tolist() == list(range(20_000))
    assert list(rows["d"].cat.categories) == ["never", "often", "rare", "usual"]
    # the mean log density of own rows is that of rows of the networks, each weighing the same
    parts = pd.concat([net.sample(5000, random_state=7) for net in fitted.networks_], ignore_index=True)
    spread = fitted.log_density(parts).std() * math.sqrt(2 / 20_000)
    assert fitted.score(rows) == pytest.approx(fitted.score(parts), abs=5 * spread)
    halves = [rows["a"].iloc[:10_000].mean(), rows["a"].iloc[10_000:].mean()]
    assert abs(halves[0] - halves[1]) < 5 * rows["a"].std() * math.sqrt(2 / 10_000)  # not network by network
    assert fitted.sample(0).shape == (0, 4)


def test_rows_of_different_networks_are_mixed():
    def always(level):
        return simple_network({"x": (0, 1, 2)}, [], x=np.eye(3)[level])

    mixture = BayesNetEnsemble()
    mixture.networks_ = [always(0), always(1), always(2)]
    members = np.random.default_rng(4).integers(3, size=30)
    assert mixture.sample(30, random_state=4)["x"].tolist() == members.tolist()


@pytest.mark.long
def test_subsamples_tell_true_from_false_pairs():
    rng = np.random.default_rng(2)
    a = rng.normal(size=400)
    rows = pd.DataFrame({"a": a, "b": a + rng.normal(scale=0.5, size=400)})
    for name in "cde":
        rows[name] = rng.normal(size=400)
    false_edges = {}
    for resampling in ("subsample", "bootstrap"):
        learner = BayesNetLearner(max_evaluations=3000, shape="uniform")
        model = BayesNetEnsemble(learner, n_networks=4, random_state=1, resampling=resampling)
        pairs = model.fit(rows).edge_frequency()
        is_true = pairs["parent"].isin(["a", "b"]) & pairs["child"].isin(["a", "b"])
        assert pairs["adjacent"][is_true].max() == 1.0
        false_edges[resampling] = pairs["arc"][~is_true].sum()  # per network
    assert false_edges["subsample"] < 1.0
    assert false_edges["bootstrap"] > 4.0


def learn_without_clock(monkeypatch, allowed, spent):
    """Let learners note the seconds that they may take, and have taken the given ones; return the time as a list."""
    real, now = BayesNetLearner.fit, [0.0]

    def fit(self, X, y=None, *, start=None, checkpoint=None):
        allowed.append(self.max_seconds)
        self.set_params(max_seconds=None)
        real(self, X)
        self.fit_seconds_ = next(spent)
        now[0] += self.fit_seconds_
        return self

    monkeypatch.setattr(BayesNetLearner, "fit", fit)
    for module in (fit_clock, ensemble):
        monkeypatch.setattr(module, "search_clock", lambda: now[0])
    monkeypatch.setattr(ensemble, "compile_kernels", lambda **_: 0.0)
    return now


def test_the_seconds_are_for_all_networks_together(frame, monkeypatch):
    allowed, spent = [], iter([1.0, 3.0, 7.0, 0.5])
    learn_without_clock(monkeypatch, allowed, spent)
    learner = clone(QUICK).set_params(max_seconds=10.0)
    learned = BayesNetEnsemble(learner, n_networks=4, random_state=1).fit(frame)
    # a tenth of 10 / 4 is left to the last one
    assert allowed == [2.5, 3.0, 3.0, 0.25]
    assert learned.fit_seconds_ == 11.5
    assert learner.max_seconds == 10.0


def test_searches_leave_seconds_to_the_conditionals_of_all_networks(frame, monkeypatch):
    allowed, spent, left = [], iter([2.0, 1.0, 5.0, 0.5]), []

    def averaged(network, *arguments):
        left.append(arguments[-1].left)
        arguments[-1].note(DRAWS)
        now[0] += 1.0
        return network

    now = learn_without_clock(monkeypatch, allowed, spent)
    monkeypatch.setattr(ensemble, "average_in_time", averaged)
    learner = clone(QUICK).set_params(density="averaged", max_seconds=12.0)
    with pytest.warns(GomeaBnWarning, match=f"cut short: {DRAWS}"):
        learned = BayesNetEnsemble(learner, n_networks=4, random_state=1).fit(frame)
    # 12 / 4, of which what follows is expected to take some; 9 / 3 and a second less for conditionals; 7 / 2; 1
    assert allowed[0] == pytest.approx(3.0 - seconds_after_search(Limits(3.0), frame.size, 0.0))
    assert allowed[1:] == [2.0, 2.5, pytest.approx(0.3)]
    assert left == [1.0, 2.0, -1.5, 0.5]
    assert all(network.metadata["cut_short"] == [DRAWS] for network in learned.networks_)
    assert (learned.fit_seconds_, learned.stopped_by_) == (8.5, "n_networks")


def test_a_search_that_the_limit_ends_leaves_its_graph_to_the_next_one(frame, monkeypatch):
    starts, ended = [], iter(["max_seconds", "max_seconds", "max_evaluations", "max_evaluations"])
    real = BayesNetLearner.fit

    def fit(self, X, y=None, *, start=None, checkpoint=None):
        starts.append(start)
        self.set_params(max_seconds=None)
        real(self, X)
        self.stopped_by_ = next(ended)
        return self

    monkeypatch.setattr(BayesNetLearner, "fit", fit)
    learner = clone(QUICK).set_params(max_seconds=10.0)
    learned = BayesNetEnsemble(learner, n_networks=4, random_state=1).fit(frame).networks_
    assert starts[0] is None
    assert [sorted(start.edges) for start in starts[1:3]] == [
        sorted(network.edges) for network in learned[:2]
    ]
    assert starts[3] is None


@pytest.mark.parametrize(("first", "n_networks"), [(0, 1), (2, 2)])
def test_ctrl_c_while_conditionals_are_learned_keeps_finished_networks(
    frame, fitted, monkeypatch, first, n_networks
):
    count, real = itertools.count(), ensemble.average_in_time

    def interrupted(*arguments, **options):
        if next(count) == first:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(ensemble, "average_in_time", interrupted)
    model = BayesNetEnsemble(clone(QUICK).set_params(density="averaged"), n_networks=4, random_state=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(frame)
    assert (model.n_networks_, model.stopped_by_) == (n_networks, "interrupt")
    has_tables_alone = any("networks_ has tables alone" in str(warning.message) for warning in caught)
    assert has_tables_alone == (first == 0)
    assert [network.conditionals is None for network in model.networks_] == [first == 0] * n_networks
    assert len(model.edge_frequency())
    monkeypatch.setattr(ensemble, "average_in_time", real)
    whole = fitted if first == 0 else clone(model).set_params(n_networks=n_networks).fit(frame)
    assert model.networks_ == whole.networks_[:n_networks]


@pytest.mark.parametrize(("interrupted", "n_networks"), [(0, 1), (2, 2)])
def test_ctrl_c_keeps_the_networks_that_are_done(frame, interrupted, n_networks):
    searches, last = 0, np.inf

    def callback(progress):
        nonlocal searches, last
        searches += progress.n_eval < last
        last = progress.n_eval
        if searches == interrupted + 1:
            signal.raise_signal(signal.SIGINT)

    learner = clone(QUICK).set_params(callback=callback)
    learned = BayesNetEnsemble(learner, n_networks=4, random_state=3).fit(frame)
    assert learned.stopped_by_ == "interrupt"
    assert learned.n_networks_ == len(learned.networks_) == n_networks
    assert np.isfinite(learned.score(frame))


@pytest.mark.parametrize(("first", "n_networks"), [(0, None), (2, 2)])
def test_ctrl_c_between_two_searches_keeps_the_finished_networks(frame, monkeypatch, first, n_networks):
    count, real = itertools.count(), ensemble._usable_rows

    def resample(*arguments):
        if next(count) == first:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(ensemble, "_usable_rows", resample)
    model = BayesNetEnsemble(QUICK, n_networks=4, random_state=3)
    if n_networks is None:
        with pytest.raises(KeyboardInterrupt):
            model.fit(frame)
    else:
        assert model.fit(frame).n_networks_ == n_networks
        assert model.stopped_by_ == "interrupt"


def test_the_learners_options_hold_for_every_network(frame):
    learner = BayesNetLearner(
        max_evaluations=300,
        cut_points={"a": (cut for cut in (-0.5, 0.5))},  # an iterator is read once, for all networks
        knowledge=ExpertKnowledge(required_edges=[("d", "a")]),
        kinds={"c": "continuous"},
        pseudo_count="auto",
    )
    learned = BayesNetEnsemble(learner, n_networks=3, random_state=1).fit(frame)
    assert len(learned.networks_) == 3
    for net in learned.networks_:
        assert net.cut_points["a"].tolist() == [-0.5, 0.5]
        assert ("d", "a") in net.edges
        assert "c" in net.cut_points
        assert net.pseudo_count == "auto"
        assert net.metadata["fixed_cut_points"] == ["a"]


def test_rows_without_a_columns_few_other_values_are_drawn_again():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"x": rng.normal(size=40), "once": ["yes"] + ["no"] * 39, "most": [5.5] + [0.5] * 39}
    )
    before = frame.copy()
    learned = BayesNetEnsemble(QUICK, n_networks=6, random_state=1).fit(frame)
    assert learned.n_networks_ == 6
    pd.testing.assert_frame_equal(frame, before)
    hopeless = pd.DataFrame({f"x{i}": np.where(np.arange(40) == i, 1.5, 0.5) for i in range(40)})
    with pytest.raises(GomeaBnError, match=r"None of 1000 subsample draws of rows is usable: .* column 'x"):
        BayesNetEnsemble(QUICK, random_state=1).fit(hopeless)


def test_drawn_rows_reach_beyond_fixed_cuts_at_both_ends():
    rng = np.random.default_rng(2)
    x = np.sort(rng.normal(size=30))
    ends = {"x": [x[:2].mean(), x[-2:].mean()]}  # one row in each end bin
    frame = pd.DataFrame({"x": x, "y": rng.normal(size=30)})
    learned = BayesNetEnsemble(clone(QUICK).set_params(cut_points=ends), n_networks=5, random_state=1).fit(
        frame
    )
    assert all(net.cut_points["x"].tolist() == ends["x"] for net in learned.networks_)
    on_values = {"x": [x[1], x[-2]]}
    learned = BayesNetEnsemble(
        clone(QUICK).set_params(cut_points=on_values), n_networks=5, random_state=1
    ).fit(frame)
    assert all(net.cut_points["x"].tolist() == on_values["x"] for net in learned.networks_)
    many = pd.DataFrame({f"x{i}": rng.permutation(x) for i in range(15)})
    cuts = dict.fromkeys(many, ends["x"])
    with pytest.raises(GomeaBnError, match="was constant, or within one of its fixed bins at an end"):
        BayesNetEnsemble(clone(QUICK).set_params(cut_points=cuts), random_state=1).fit(many)


def test_the_ensemble_keeps_scikit_learns_conventions(frame):
    model = BayesNetEnsemble(QUICK, n_networks=2, random_state=1)
    assert repr(model).startswith(
        "BayesNetEnsemble(learner=BayesNetLearner(curves='none', max_evaluations=600, density='bins')"
    )
    copy = clone(model)
    assert copy.learner is not QUICK
    assert copy.learner.get_params() == QUICK.get_params()
    scores = cross_val_score(model, frame, cv=KFold(2, shuffle=True, random_state=0))
    assert np.isfinite(scores).all()
    learned = model.fit(frame[["a", "b"]].to_numpy())
    assert list(learned.feature_names_in_) == ["x0", "x1"]
    assert learned.n_features_in_ == 2
    unchanged = BayesNetLearner(curves="none", max_evaluations=600, density="bins")
    assert QUICK.get_params() == unchanged.get_params()


def test_incomplete_rows_follow_the_learner(frame):
    gaps = frame.copy()
    gaps.loc[3, "a"] = np.nan
    refusing = clone(QUICK).set_params(missing="error")
    with pytest.raises(GomeaBnError, match="Column 'a' has 1 missing"):
        BayesNetEnsemble(refusing, n_networks=1).fit(gaps)
    dropping = clone(QUICK).set_params(missing="drop")
    learned = BayesNetEnsemble(dropping, n_networks=2, random_state=1).fit(gaps)
    assert learned.table_.dropped_rows == (3,)
    scores = learned.score_samples(gaps)
    assert np.flatnonzero(np.isnan(scores)).tolist() == [3]
    assert learned.score(gaps) == pytest.approx(np.nanmean(scores))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BayesNetEnsemble(QUICK, n_networks=0), "n_networks must be an integer of at least 1, got 0"),
        (BayesNetEnsemble(QUICK, n_networks=True), "n_networks must be an integer"),
        (
            BayesNetEnsemble(QUICK, resampling="jackknife"),
            "resampling must be one of 'subsample', 'bootstrap'",
        ),
        (BayesNetEnsemble(untyped("bayesian")), "learner must be a BayesNetLearner or None, got 'bayesian'"),
        (BayesNetEnsemble(QUICK, random_state=-1), "random_state must be"),
        (BayesNetEnsemble(QUICK, n_jobs=0), "n_jobs must be"),
        (BayesNetEnsemble(BayesNetLearner(max_seconds=untyped("9"))), "max_seconds must be"),
        (BayesNetEnsemble(BayesNetLearner(pseudo_count=untyped("1"))), "pseudo_count must be"),
        (BayesNetEnsemble(BayesNetLearner(n_jobs=0)), "n_jobs must be"),
        (BayesNetEnsemble(BayesNetLearner(cut_points={"a": [99]})), "must lie inside the range"),
        (BayesNetEnsemble(BayesNetLearner(cut_points=untyped(3))), "cut_points must map column names"),
        (BayesNetEnsemble(BayesNetLearner(cut_points={"z": [0]})), "unknown column 'z'"),
    ],
)
def test_what_cannot_be_used_is_refused_before_any_search(frame, model, message, monkeypatch):
    monkeypatch.setattr(BayesNetLearner, "fit", None)
    with pytest.raises(GomeaBnError, match=message):
        model.fit(frame)


def test_an_unfitted_ensemble_says_so(frame, fitted):
    for call in (lambda m: m.log_density(frame), lambda m: m.sample(), lambda m: m.edge_frequency()):
        with pytest.raises(GomeaBnError, match="has not learned networks yet"):
            call(BayesNetEnsemble())
    with pytest.raises(GomeaBnError, match="n_samples must be an integer of at least 0, got -1"):
        fitted.sample(-1)


@pytest.mark.long
def test_parameters_of_the_learner_can_be_set_through_the_ensemble(frame):
    made = BayesNetEnsemble(BayesNetLearner(BayesianDiscretizer()), n_networks=1)
    assert made.get_params()["learner__max_bins"] == "auto"
    assert "learner__max_bins" not in made.get_params(deep=False)
    made.set_params(learner__max_bins=3, learner__discretizer__max_cycles=7, n_networks=2)
    assert (made.learner.max_bins, untyped(made.learner.discretizer).max_cycles, made.n_networks) == (3, 7, 2)
    made.set_params(learner__max_bins=4, learner=BayesNetLearner(max_evaluations=100))
    assert (made.learner.max_bins, made.learner.max_evaluations) == (4, 100)
    grid = GridSearchCV(made, {"learner__max_bins": [2, 5]}, cv=2).fit(frame)
    assert grid.best_estimator_.learner.max_bins == grid.best_params_["learner__max_bins"]
    with pytest.raises(
        GomeaBnError, match=r"BayesNetLearner has no parameter 'max_bin'. Did you mean 'max_bins'\?"
    ):
        made.set_params(learner__max_bin=4)
    with pytest.raises(GomeaBnError, match="learner__max_bins cannot be set: learner is None"):
        BayesNetEnsemble().set_params(learner__max_bins=4)


@pytest.fixture(scope="module")
def table():
    """Return rows in which one value of "rare" is a point mass of about half of the subsamples only."""
    frame = shaped_table(160).to_frame()
    frame["rare"] = np.random.default_rng(1).normal(size=160)
    frame.loc[:15, "rare"] = 0.5
    table = read_table(frame, kinds=dict.fromkeys(frame.columns, "continuous"))
    assert {name for name, s in table_shapes(table).items() if s.shape.points} == {"rain", "rare"}
    return table


@pytest.mark.long
@pytest.mark.parametrize("resampling", ["subsample", "bootstrap"])
def test_shapes_and_point_masses_come_from_all_rows(table, resampling):
    shapes = {name: shape.shape for name, shape in table_shapes(table).items()}
    for shape, n_networks in (("auto", 6), ("marginal", 2)):
        learner = BayesNetLearner(max_evaluations=400, shape=shape)
        ensemble = BayesNetEnsemble(
            learner, n_networks=n_networks, resampling=resampling, random_state=2
        ).fit(table)
        for network in ensemble.networks_:
            assert {"rain", "rare"} <= set(network.shapes)
            assert shape == "auto" or set(network.shapes) == set(table.names)
            assert all(own == shapes[name] for name, own in network.shapes.items())
        assert np.isfinite(ensemble.score(table.to_frame()))


def test_members_of_an_ensemble_with_uniform_bins_have_no_shapes(table):
    learner = BayesNetLearner(max_evaluations=400, shape="uniform")
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=2).fit(table)
    assert not any(network.shapes for network in ensemble.networks_)


def nearly_all_points(n_rows):
    """Return a table whose "x" has only three values besides its point mass."""
    x = np.zeros(n_rows)
    x[:3] = 1.0, 2.5, 3.0
    return pd.DataFrame({"x": x, "y": np.random.default_rng(0).normal(size=n_rows)})


def test_subsamples_in_which_a_shape_cannot_be_fitted_are_drawn_again():
    ensemble = BayesNetEnsemble(
        BayesNetLearner(max_evaluations=200, kinds={"x": "continuous"}), n_networks=8, random_state=0
    ).fit(nearly_all_points(30))
    assert all(network.shapes["x"].points == {0.0: 0.9} for network in ensemble.networks_)


@pytest.mark.sample(1)
@pytest.mark.parametrize("resampling", ["bootstrap", "subsample"])
def test_draws_without_rows_of_rare_point_masses_are_learned_from(resampling: str) -> None:
    rng = np.random.default_rng(4)
    counts = np.repeat(np.arange(12.0), [5] * 11 + [65])
    frame = pd.DataFrame({"x": counts, "y": counts + rng.normal(size=120)})
    ensemble = BayesNetEnsemble(
        BayesNetLearner(max_evaluations=200), n_networks=6, resampling=resampling, random_state=0
    ).fit(frame)
    # the shape is that of all rows
    assert all(len(network.shapes["x"].points) == 12 for network in ensemble.networks_)
    assert np.isfinite(ensemble.log_density(frame)).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("line", ["auto", "none"])
def test_networks_with_conditionals_of_all_rows_make_up_the_density(line: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=150)
    frame = pd.DataFrame({"x": x, "y": x + 0.1 * rng.normal(size=150), "z": rng.normal(size=150)})
    learner = BayesNetLearner(curves=line, line=line, max_seconds=None, max_evaluations=600, random_state=1)
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=3).fit(frame)
    known = [conditionals_of(network) for network in ensemble.networks_]
    assert {each.n_rows for each in known} == {150}
    assert [bool(lines_of(network)) for network in ensemble.networks_] == [line == "auto"] * 2
    densities = np.exp([network.log_density(frame) for network in ensemble.networks_])
    assert np.exp(ensemble.log_density(frame)) == pytest.approx(densities.mean(axis=0))
    again = BayesNetEnsemble(learner, n_networks=2, random_state=3).fit(frame)
    assert again.networks_ == ensemble.networks_
    first, second = (network.cut_points["x"].tolist() for network in ensemble.networks_)
    assert first != second
    drawn = ensemble.sample(4000, random_state=0)
    assert np.corrcoef(drawn["x"], drawn["y"])[0, 1] > 0.8
    ensemble.learner = BayesNetLearner(density="bins", max_seconds=None, max_evaluations=600)
    ensemble.fit(frame)
    assert {network.conditionals for network in ensemble.networks_} == {None}
    assert ensemble.score(frame) == pytest.approx(
        np.mean(np.logaddexp(*(network.log_density(frame) for network in ensemble.networks_)) - np.log(2))
    )


@pytest.mark.parametrize(
    "learner", [BayesNetEnsemble(QUICK, n_networks=2), ParetoBayesNetLearner(max_evaluations=50)]
)
def test_tables_in_pieces_are_refused_with_a_way_out(frame, learner, tmp_path):
    frame.drop(columns="d").to_parquet(tmp_path / "rows.parquet")
    for source in ([frame, frame], tmp_path):
        with pytest.raises(GomeaBnError, match=r"no table in pieces.*pandas\.read_parquet"):
            learner.fit(source)


def test_an_ensemble_has_no_target():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    ensemble = BayesNetEnsemble(BayesNetLearner(target="a", max_evaluations=50), n_networks=2)
    with pytest.raises(GomeaBnError, match="The learner of an ensemble must have no target, got 'a'"):
        ensemble.fit(frame)
