"""What all discretizers share: input, graph, bins, deadline, registry."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_time import work_for
from wrong_input import untyped

import gomea_bn.discretization as package
from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.data import Column, Table
from gomea_bn.discretization import (
    DISCRETIZERS,
    BayesianDiscretizer,
    Discretizer,
    EqualFrequency,
    discretizer,
)
from gomea_bn.discretization.base import starting_bin_count, starting_cuts
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.problems.cuts import CodedColumn, Neighbourhood, coded_bins, joint_codes


class Recorder(Discretizer):
    """Keeps its task, and returns the starting cuts."""

    def __init__(self, *, start="equal-width", kinds=None, missing="error", max_levels=50, max_seconds=None):
        self.start = start
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

    def _find_cuts(self, task):
        self.task = task
        return {v: cuts for v, cuts in starting_cuts(task, self.start).items() if v in task.movable}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"a": rng.normal(size=40), "b": list("uvwx") * 10, "c": rng.normal(size=40), "d": rng.normal(size=40)}
    )


def network_of(frame, edges, cuts, **metadata):
    return DiscretizedBayesNet.from_table(read_table(frame), edges, cuts, metadata=metadata)


def test_fit_learns_cuts_levels_and_names_and_leaves_the_frame_alone(frame):
    before = frame.copy(deep=True)
    fitted = Recorder().fit(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert list(fitted.cut_points_) == ["a", "c", "d"]
    assert all(cuts.dtype == np.float64 and (np.diff(cuts) > 0).all() for cuts in fitted.cut_points_.values())
    assert fitted.levels_ == {"b": ("u", "v", "w", "x")}
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert fitted.n_features_in_ == 4
    assert fitted.stopped_by_ == "fixpoint"
    assert fitted.fit_seconds_ >= 0
    assert fitted.table_.n_rows == 40


def test_frames_tables_arrays_and_files_are_read_alike(frame, tmp_path):
    numbers = frame[["a", "c", "d"]]
    path = tmp_path / "rows.csv"
    numbers.to_csv(path, index=False, float_format="%.17g")
    expected = list(Recorder().fit(numbers).cut_points_.values())
    for source in (read_table(numbers), numbers.to_numpy(), path, str(path)):
        fitted = Recorder().fit(source)
        np.testing.assert_array_equal(list(fitted.cut_points_.values()), expected)
    assert fitted.transform(path).equals(fitted.transform(numbers))
    assert Recorder().fit(numbers.to_numpy()).feature_names_in_.tolist() == ["x0", "x1", "x2"]


def test_bins_are_closed_above_and_values_outside_go_to_the_end_bins():
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "k": ["p", "q", "p", "q"]})
    fitted = EqualFrequency(n_bins=2, kinds={"x": "continuous"}).fit(frame)
    assert fitted.cut_points_["x"].tolist() == [1.5]
    new = pd.DataFrame(
        {"k": ["q"] * 4, "z": 9.0, "x": [-100.0, 1.5, np.nextafter(1.5, 2), 100.0]}, index=list("mnop")
    )
    codes = fitted.transform(new)
    assert codes.columns.tolist() == ["x", "k"]
    assert codes.index.tolist() == list("mnop")
    assert codes["x"].tolist() == [0, 0, 1, 1]
    assert codes["k"].tolist() == [1] * 4
    assert (codes.dtypes == np.int32).all()


def test_codes_agree_with_a_network_of_the_same_cuts(frame):
    fitted = EqualFrequency(n_bins=4).fit(frame)
    network = DiscretizedBayesNet.from_table(fitted.table_, [], fitted.cut_points_)
    assert fitted.transform(frame).equals(network.discretize(frame))
    assert EqualFrequency(n_bins=4).fit_transform(frame).equals(fitted.transform(frame))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="c"), "no column 'c'"),
        (lambda f: f.assign(a=np.nan), "'a' has 40 missing"),
        (lambda f: f.assign(b="other"), "unknown level 'other'"),
    ],
)
def test_transform_refuses_what_it_cannot_code(frame, change, message):
    fitted = Recorder().fit(frame)
    with pytest.raises(GomeaBnError, match=message):
        fitted.transform(change(frame))


def test_transform_needs_a_fit(frame):
    with pytest.raises(GomeaBnError, match=r"call fit\(frame\) first"):
        Recorder().transform(frame)


@pytest.mark.parametrize("source", [3, [1, 2], None])
def test_what_is_no_table_is_refused(source):
    with pytest.raises(GomeaBnError, match="must be a Table, a frame of pandas"):
        Recorder().fit(source)


def test_a_column_of_one_value_is_discrete_or_refused_by_name(frame):
    with pytest.warns(UserWarning, match="constant and will have no edges: 'c' is 2.5"):
        recorder = Recorder().fit(frame.assign(c=2.5))
    assert recorder.levels_["c"] == (2.5,)
    table = Table((Column("x", np.full(5, 2.5), None, ""),), 5, ())
    with pytest.raises(GomeaBnError, match=r"Column 'x' has one value, 2\.5, in all 5 rows"):
        Recorder().fit(table)


def test_options_of_reading_reach_the_table(frame):
    holed = frame.copy()
    holed.loc[3, "a"] = np.nan
    with pytest.raises(GomeaBnError, match="'a' has 1 missing"):
        Recorder().fit(holed)
    assert Recorder(missing="drop").fit(holed).table_.dropped_rows == (3,)
    with pytest.raises(GomeaBnError, match="at most 3 levels"):
        Recorder(max_levels=3).fit(frame)
    whole = pd.DataFrame({"n": np.arange(40) % 5, "x": frame["a"]})
    assert list(Recorder().fit(whole).cut_points_) == ["x"]
    assert list(Recorder(kinds={"n": "continuous"}).fit(whole).cut_points_) == ["n", "x"]
    with pytest.raises(GomeaBnError, match="kinds must map column names to kinds, got str"):
        Recorder(kinds="n").fit(whole)


def test_a_discretizer_without_cuts_names_what_it_must_implement(frame):
    class Empty(Discretizer):
        pass

    with pytest.raises(NotImplementedError, match="Empty must implement _cut or _find_cuts"):
        Empty().fit(frame)


@pytest.mark.parametrize("limit", [0, -1.0, "fast", True])
def test_the_deadline_must_be_a_positive_number(frame, limit):
    with pytest.raises(GomeaBnError, match="max_seconds must be a finite number above 0 or None"):
        Recorder(max_seconds=limit).fit(frame)


def test_a_long_compiled_call_sees_the_flag_once_the_time_is_up(frame):
    class Slow(Recorder):
        def _find_cuts(self, task):
            def call():
                while not task.stop.flag[0]:
                    work_for(0.001)
                return "returned"

            assert task.interruptible(call) == "returned"
            assert task.expired
            return super()._find_cuts(task)

    fitted = Slow(max_seconds=0.1).fit(frame)
    assert fitted.stopped_by_ == "max_seconds"
    assert fitted.fit_seconds_ >= 0.1


def test_the_target_follows_the_rows_that_are_kept(frame):
    holed = frame.copy()
    holed.loc[1, "a"] = np.nan
    y = np.array(["p", "q"] * 20)
    assert Recorder(missing="drop").fit(holed, y).task.target.tolist() == [0, 0, *[1, 0] * 18, 1]
    assert Recorder().fit(frame, "b").task.target.tolist() == [0, 1, 2, 3] * 10
    assert Recorder().fit(frame).task.target is None
    with pytest.raises(GomeaBnError, match=r"shape \(40,\), got \(39,\)"):
        Recorder().fit(frame, y[1:])
    with pytest.raises(GomeaBnError, match=r"y: unknown column 'bb'. Did you mean 'b'"):
        Recorder().fit(frame, "bb")
    with pytest.raises(GomeaBnError, match="y has missing values"):
        Recorder().fit(frame, [None, *["p"] * 39])


def test_a_column_has_children_and_a_blanket_in_the_graph(frame):
    fitted = Recorder().fit(frame, network=[("a", "c"), ("b", "c"), ("c", "d")])
    graph = fitted.task.graph
    assert graph.edges == [("a", "c"), ("b", "c"), ("c", "d")]
    assert graph.children == ((2,), (2,), (3,), ())
    assert graph.blanket(0) == {1, 2}
    assert graph.blanket(2) == {0, 1, 3}
    order = graph.reverse_topological_order()
    assert order.index(3) < order.index(2) < min(order.index(0), order.index(1))
    coded = fitted.task.coded(starting_cuts(fitted.task))
    around = graph.neighbourhood(0, coded)
    assert around.parents == ()
    assert around.families[0].child is coded[2]
    assert around.families[0].spouses == (coded[1],)
    assert Recorder().fit(frame).task.graph.neighbourhood(0, coded) == Neighbourhood()


def test_columns_are_sorted_once_for_all_graphs(frame):
    task = Recorder().fit(frame).task
    column = task.sorted_column(0)
    assert column.ascending.tolist() == sorted(frame["a"])
    other = replace(task, graph=ColumnGraph.of([("a", "c")], task.table.names))
    assert other.sorted_column(0) is column
    # the codes of levels
    assert task.sorted_column(1).rows.tolist() == [10] * 4


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ([("a", "cc")], "unknown variable 'cc'"),
        ([("a", "c"), ("c", "a")], "cycle"),
        ([("a", "c"), ("a", "c")], "Duplicate edge"),
        ("net.json", "network must be"),
        (3, "network must be"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(frame, network, message):
    with pytest.raises(GomeaBnError, match=message):
        Recorder().fit(frame, network=network)


def test_a_network_brings_graph_kinds_and_cuts(frame):
    cuts = {"a": [0.0], "c": [-0.5, 0.5], "d": []}
    network = network_of(frame, [("a", "c")], cuts, fixed_cut_points=["c"])
    fitted = Recorder(start="network").fit(frame.assign(e=frame["a"] ** 2), network=network)
    assert fitted.task.graph.edges == [("a", "c")]
    assert fitted.task.movable == (0, 3, 4)  # c is fixed
    assert [fitted.cut_points_[name].tolist() for name in "acd"] == [[0.0], [-0.5, 0.5], []]
    assert len(fitted.cut_points_["e"]) == 3  # unknown to the network: equal frequency
    assert Recorder().fit(frame, network=network).cut_points_["c"].tolist() == [-0.5, 0.5]
    narrow = frame[frame["a"] > 0]
    assert Recorder(start="network").fit(narrow, network=network).cut_points_["a"].tolist() == []
    with pytest.raises(
        GomeaBnError, match="kinds\\['c'\\] is 'discrete', but 'c' is continuous in the network"
    ):
        Recorder(kinds={"c": "discrete"}).fit(frame, network=network)
    with pytest.raises(GomeaBnError, match="'d'"):
        Recorder().fit(frame.drop(columns="d"), network=network)


def test_integer_columns_are_of_the_kind_that_the_network_says():
    frame = pd.DataFrame({"n": np.arange(60) % 6, "x": np.arange(60.0)})
    table = read_table(frame, kinds={"n": "continuous"})
    network = DiscretizedBayesNet.from_table(table, [], {"n": [2.5], "x": [30.5]})
    assert list(Recorder().fit(frame, network=network).cut_points_) == ["n", "x"]
    with pytest.raises(GomeaBnError, match="Column 'n' of the Table is discrete"):
        Recorder().fit(read_table(frame), network=network)


def test_starting_bins_count_the_levels_of_the_largest_discrete_column(frame):
    assert starting_bin_count(read_table(frame)) == 4
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 8)))
    assert starting_bin_count(read_table(numbers)) == round(np.log(8) + 1) == 3
    assert starting_bin_count(read_table(numbers[[0]])) == 2


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 30), min_size=2, max_size=30).filter(lambda v: len(set(v)) > 1), st.integers(1, 9)
)
def test_equal_width_start_bins_rows_as_the_published_code_does(values, n_bins):
    x = np.array(values, np.float64)
    task = Recorder().fit(Table((Column("x", x, None, ""),), len(x), ())).task
    cuts = starting_cuts(task, n_bins=n_bins)[0]
    published = np.minimum(np.floor((x - x.min()) / ((x.max() - x.min()) / n_bins)), n_bins - 1)
    _, compact = np.unique(published, return_inverse=True)
    assert coded_bins(x, cuts).codes.tolist() == compact.tolist()


def test_neighbouring_floats_are_cut_above_the_minimum_or_not_at_all():
    low = 1.0
    x = np.array([low, np.nextafter(low, 2), 3.0])
    assert Recorder().fit(Table((Column("x", x, None, ""),), 3, ())).cut_points_["x"].tolist() == [2.0]
    pair = Table((Column("x", x[:2], None, ""),), 2, ())
    assert Recorder().fit(pair).cut_points_["x"].tolist() == []


@settings(max_examples=50)
@given(st.integers(0, 4), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_joint_codes_tell_configurations_apart(n_columns, n_rows, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 60, n_columns).tolist()
    columns = [CodedColumn(rng.integers(0, size, n_rows).astype(np.int32), size) for size in sizes]
    codes, n_numbered, n_all = joint_codes(columns, n_rows)
    assert n_all == np.prod([float(size) for size in sizes])
    assert codes.max() < n_numbered <= max(n_all, n_rows)
    rows = list(zip(*(c.codes.tolist() for c in columns))) if columns else [()] * n_rows
    pairs = set(zip(rows, codes.tolist()))
    assert len(pairs) == len({row for row, _ in pairs}) == len({code for _, code in pairs})


def test_discretizers_are_made_by_name():
    made = discretizer("bayesian", max_cycles=3)
    assert isinstance(made, BayesianDiscretizer)
    assert made.max_cycles == 3
    assert set(DISCRETIZERS) >= {"bayesian", "mdl", "equal-width", "equal-frequency", "k-means", "mdlp"}
    with pytest.raises(GomeaBnError, match="Did you mean 'bayesian'"):
        discretizer("bayesan")
    with pytest.raises(GomeaBnError, match=r"no option 'max_cycle'.*Did you mean 'max_cycles'"):
        discretizer("bayesian", max_cycle=3)


def test_public_names_are_found_lazily():
    assert package.BayesianDiscretizer is BayesianDiscretizer
    assert {"BayesianDiscretizer", "K2", "LDBN", "MDLP"} <= set(dir(package))
    with pytest.raises(AttributeError, match="Unknown"):
        package.Unknown  # noqa: B018
    slow = ("pandas", "sklearn", "scipy.special")
    code = f"import sys, gomea_bn.discretization; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_scikit_learn_clones_and_tags_a_discretizer():
    from sklearn.base import clone
    from sklearn.utils import get_tags

    made = discretizer("equal-width", n_bins=7)
    assert repr(clone(made)) == "EqualWidth(n_bins=7)"
    assert made.set_params(n_bins=2).get_params()["n_bins"] == 2
    for name, kind in DISCRETIZERS.items():
        given = dict.fromkeys(discretizer(name).get_params(), 7)
        copied = clone(discretizer(name, **given))
        assert type(copied).__name__ == kind[1]
        assert copied.get_params() == given
    assert get_tags(made).transformer_tags is not None
    assert not get_tags(made).target_tags.required


def test_graphs_of_none_have_no_edges():
    assert ColumnGraph.of(untyped([(0, 1), [1, "2"]]), ("0", "1", "2")).edges == [("0", "1"), ("1", "2")]
    graph = ColumnGraph.of(None, ("a", "b"))
    assert graph.edges == []
    assert graph.blanket(0) == set()


def test_the_clock_counts_the_reading_of_a_frame(monkeypatch):
    method = discretizer("mdl")
    read = type(method).read

    def slow(self, *arguments):
        work_for(0.3)
        return read(self, *arguments)

    monkeypatch.setattr(type(method), "read", slow)
    x = np.linspace(0.0, 1.0, 30) ** 2
    assert method.fit(pd.DataFrame({"x": x, "y": np.sqrt(x)})).fit_seconds_ >= 0.3
