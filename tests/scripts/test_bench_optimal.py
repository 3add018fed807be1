"""The benchmark of optimal cuts: its commands run, and its rules for folds, scales, widths and smoothing hold."""

import json
import math

import _bench_optimal_chen as chen
import _bench_optimal_learner as described
import _bench_optimal_nets as nets
import _bench_optimal_peers as peers
import _bench_optimal_tables as tables
import _bench_optimal_timing as timing
import _bench_runs as runs
import _side_by_side as side_by_side
import bench_optimal
import numpy as np
import pandas as pd
import pytest
from _bench_tables import TABLES, with_levels

import gomea_bn
from gomea_bn import GOMEA, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.data.table import read_table
from gomea_bn.discretization import BayesianDiscretizer
from gomea_bn.errors import GomeaBnError
from gomea_bn.metrics.distances import kl_divergence
from gomea_bn.simulation.random_networks import random_network

QUICK = ["--discretizer", "equal-frequency", "--option", "max_evaluations=400", "--workers", "1"]
AUTO_GRAPH = [tuple(edge) for edge in ("BC", "CE", "EA", "AG", "EG", "CG", "CD", "DF")]


def test_options_become_a_learner():
    given = described.named_options(
        ["pseudo_count=4", "scoring_method=density-bd", "algorithm.linkage=tree-mi"]
    )
    assert given == {"pseudo_count": 4, "scoring_method": "density-bd", "algorithm.linkage": "tree-mi"}
    learner = described.make_learner(given, pseudo_count=1.0, max_seconds=3.0)
    assert (learner.pseudo_count, learner.max_seconds, learner.scoring_method) == (4, 3.0, "density-bd")
    assert learner.algorithm == GOMEA(linkage="tree-mi")
    assert described.smoothing(learner) == {"pseudo_count": 4}
    assert described.variant("plain") == ("plain", {})
    assert described.variant("mi:algorithm.linkage=tree-mi,patience=None") == (
        "mi",
        {"algorithm.linkage": "tree-mi", "patience": None},
    )
    with pytest.raises(GomeaBnError, match="pseudocount"):
        described.make_learner({"pseudocount": 4})
    with pytest.raises(SystemExit, match="'pseudo_count'"):
        described.named_options(["pseudo_count"])


def test_records_are_read_again_and_half_a_line_is_cut_off(tmp_path):
    path = tmp_path / "new" / "runs.jsonl"
    assert runs.read_records(path) == []
    runs.append_record(path, {"key": "a", "kl": 0.5})
    with path.open("a") as file:
        file.write('{"key": "b", "k')
    assert runs.read_records(path) == [{"key": "a", "kl": 0.5}]
    runs.append_record(path, {"key": "c"})
    assert runs.read_records(path) == [{"key": "a", "kl": 0.5}, {"key": "c"}]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_comes_back_with_its_result(workers):
    assert sorted(runs.run_all(math.factorial, [3, 1, 2], workers)) == [(1, 1), (2, 2), (3, 6)]


def test_paired_differences_and_their_interval():
    reference = np.random.default_rng(0).normal(size=40)
    mean, low, high = side_by_side.mean_difference(reference + 2.0, reference)
    assert (mean, low, high) == pytest.approx((2.0, 2.0, 2.0))
    steps = np.tile([1.0, 3.0], 50)
    mean, low, high = side_by_side.mean_difference(steps, np.zeros(100))
    assert mean == 2.0
    assert (low, high) == pytest.approx((2 - 1.96 * 0.1, 2 + 1.96 * 0.1), abs=0.03)
    assert side_by_side.with_error([1.0, 3.0], 2) == "2.00 ± 1.00"


def test_scaling_is_by_the_training_rows_and_test_values_are_clipped():
    train = pd.DataFrame({"x": [2.0, 6.0, 4.0], "c": pd.Categorical([0, 1, 0])})
    test = pd.DataFrame({"x": [1.0, 3.0, 9.0], "c": pd.Categorical([1, 1, 0])})
    before = test.copy()
    found_train, found_test = tables.scaled(train, test, ["x"])
    assert found_train["x"].tolist() == [0.0, 1.0, 0.5]
    assert found_test["x"].tolist() == [0.0, 0.25, 1.0]
    pd.testing.assert_series_equal(found_test["c"], test["c"])
    pd.testing.assert_frame_equal(test, before)


def test_discrete_columns_of_the_tables():
    for name, n_rows, n_discrete in (
        ("iris", 150, 1),
        ("wine", 178, 1),
        ("auto-mpg", 392, 3),
        ("diabetes", 442, 1),
        ("breast cancer", 569, 1),
    ):
        source, discrete, _ = TABLES[name]()
        assert (len(source), len(discrete)) == (n_rows, n_discrete)
        assert (
            max(len(levels.cat.categories) for _, levels in with_levels(source, discrete)[discrete].items())
            <= 13
        )
    diabetes = TABLES["diabetes"]()[0]
    assert diabetes["H"].isin([3.0, 4.0, 5.0]).sum() == 304  # the atoms


def spiky_table():
    rng = np.random.default_rng(0)
    x = np.concatenate((np.full(40, 0.5), rng.random(60), [0.0, 1.0]))
    return read_table(pd.DataFrame({"x": x, "y": rng.random(102)}))


def test_an_atom_counts_as_defined_and_not_with_wide_bins():
    table = spiky_table()
    cuts = {"x": np.array([0.499, 0.501]), "y": np.array([0.5])}
    test = pd.DataFrame({"x": [0.5], "y": [0.3]})
    record = tables.held_out("atom", table, [], cuts, {"pseudo_count": 1.0}, test)
    height = (40 + 1 / 3) / (102 + 1) / 0.002
    width_y = np.log(np.diff([table.columns[1].values.min(), 0.5])[0])
    n_low = (table.columns[1].values <= 0.5).sum()
    own = np.log(height) + np.log((n_low + 0.5) / 103) - width_y
    assert record["density 0.0"] == pytest.approx([own])
    assert record["density 0.01"][0] < own - 3.0
    for column, kept in tables.wide(cuts, table, 0.01).items():
        low, high = table.to_frame()[column].min(), table.to_frame()[column].max()
        assert np.diff([low, *kept, high]).min() >= 0.01 * (high - low)
    assert record["bins 0.0"] == 2.5
    assert record["bins 0.01"] == 2.0


def test_the_learner_is_told_the_width_floor_where_it_has_one(monkeypatch):
    asked = []

    def make(options, **fixed):
        asked.append(options.get("min_width"))
        return BayesNetLearner(cut_points={"x": [0.499, 0.501]}, max_evaluations=200, random_state=0)

    monkeypatch.setattr(tables, "make_learner", make)
    frame = spiky_table().to_frame()
    monkeypatch.setattr(tables, "has_parameter", lambda name: False)
    once = tables.of_ours({}, {}, frame, frame)
    assert asked == [None]
    monkeypatch.undo()
    monkeypatch.setattr(tables, "make_learner", make)
    twice = tables.of_ours({}, {}, frame, frame)
    assert asked == [None, None, 0.01]
    for record in (once, twice):  # narrow bins go even where the learner keeps them
        assert record["density 0.01"].mean() < record["density 0.0"].mean() - 0.5


def test_peers_bin_as_asked_and_find_an_edge():
    rng = np.random.default_rng(1)
    x = rng.random(300)
    table = read_table(pd.DataFrame({"x": x, "y": (x + rng.normal(0, 0.05, 300)).clip(0, 1)}))
    found = {peer.label: peer for peer in peers.peer_networks(table)}
    assert len(found) == 3 * 3 * len(peers.SCORES)
    uniform = found["uniform 5, BIC"].cuts["x"]
    assert uniform == pytest.approx(np.linspace(x.min(), x.max(), 6)[1:-1])
    counts = np.histogram(x, [x.min(), *found["quantile 3, BDeu 10"].cuts["x"], x.max()])[0]
    assert counts.max() - counts.min() <= 2
    assert all({*peer.edges} & {("x", "y"), ("y", "x")} for peer in found.values())


def test_the_best_peer_is_judged_on_the_test_rows_of_all_folds():
    def group(*means):
        return [{"density 0.0": np.full(3, mean)} for mean in means]

    groups = {
        "ours": group(9.0, 9.0),
        "pyAgrum, uniform 3, BIC": group(1.0, 1.0),
        "pyAgrum, uniform 5, BIC": group(2.0, -4.0),
        "pyAgrum, uniform 3, BDeu 10": group(0.0, 3.0),
    }
    assert tables.best_peer(groups, 0.0) == "pyAgrum, uniform 3, BDeu 10"
    assert tables.best_peer(groups, 0.0, "BIC") == "pyAgrum, uniform 3, BIC"
    assert tables.best_peer({"ours": group(9.0)}, 0.0) is None


def test_folds_of_the_paper_part_the_rows():
    folds = chen.fold_rows(178, 10, 3)
    assert sorted(np.concatenate(folds).tolist()) == list(range(178))
    assert [len(fold) for fold in folds] == [18] * 9 + [16]
    assert [len(fold) for fold in chen.fold_rows(392, 10, 0)] == [39] * 9 + [41]


def auto_with_published_graph(train):
    kinds = {name: "discrete" if name in "BGH" else "continuous" for name in "ABCDEFGH"}
    return BayesianDiscretizer(kinds=kinds, order=list("FDAEC"), max_cycles=8).fit(train, network=AUTO_GRAPH)


def test_one_more_per_cell_gives_the_published_density_of_auto_mpg():
    frame = with_levels(TABLES["auto-mpg"]()[0], ["B", "G", "H"])
    found = auto_with_published_graph(frame)
    network = chen.one_more_per_cell(found.table_, AUTO_GRAPH, found.cut_points_)
    assert network.score(frame) == pytest.approx(-25.144190, abs=5e-7)


def test_ten_folds_give_the_papers_figure_for_its_graph():
    frame = with_levels(TABLES["auto-mpg"]()[0], ["B", "G", "H"])
    densities = []
    for fold in chen.fold_rows(len(frame), 10, 0):
        found = auto_with_published_graph(frame.drop(index=frame.index[fold]))
        network = chen.one_more_per_cell(found.table_, AUTO_GRAPH, found.cut_points_)
        densities += network.log_density(frame.iloc[fold]).tolist()
    assert np.mean(densities) == pytest.approx(-26.04, abs=0.1)


def test_floor_has_the_smoothing_of_ours():
    found = {}
    for pseudo_count in (1.0, 30.0):
        task = {
            "method": nets.OURS,
            "law": "tree",
            "variables": 5,
            "rows": 150,
            "net": 2,
            "seconds": 5.0,
            "options": {
                "discretizer": "equal-frequency",
                "pseudo_count": pseudo_count,
                "max_evaluations": 300,
            },
        }
        found[pseudo_count] = nets.one_run(task)
        truth = random_network(5, random_state=2)
        table = read_table(truth.sample(150, random_state=10_002))
        floor = DiscretizedBayesNet.from_table(
            table, truth.edges, truth.cut_points, pseudo_count=pseudo_count
        )
        expected = kl_divergence(truth, floor, random_state=20_002).mean
        assert found[pseudo_count]["floor"] == pytest.approx(expected, rel=1e-12)
    assert found[1.0]["floor"] != found[30.0]["floor"]


def test_targets_are_compared_with_the_mean():
    record = {
        "kl": 0.4,
        "floor": 0.1,
        "accuracy": 1.0,
        "sensitivity": 1.0,
        "bins": 4.0,
        "true bins": 4.5,
        "edges": 9,
        "true edges": 10,
        "seconds": 1.0,
    }
    cells = nets.cells_of([{**record, "kl": 0.3}, {**record, "kl": 0.5}], [record], (0.83, 0.5))
    assert cells[:5] == ["0.83", "0.5", "0.400 ± 0.100", "0.400", "yes"]
    assert nets.cells_of([record], [record], (0.83, 0.3))[4] == "no, +0.100"
    assert nets.cells_of([record], [record], None)[:2] == ["-", "-"]


def test_nets_resumes(tmp_path, monkeypatch, capsys):
    results = tmp_path / "runs.jsonl"
    arguments = [
        "nets",
        *QUICK,
        "--sizes",
        "200",
        "--variables",
        "4",
        "--nets",
        "2",
        "--results",
        str(results),
    ]
    bench_optimal.main(arguments)
    first = capsys.readouterr().out
    assert "KL in nats, 8 variables" in first
    assert "KL in nats, 500 rows" in first
    kept = runs.read_records(results)
    assert len(kept) == 2 * 2 * 2

    def refuse(task):
        raise AssertionError(f"run again: {json.dumps(task)}")

    monkeypatch.setattr(nets, "one_run", refuse)
    bench_optimal.main([*arguments, "--resume"])
    assert capsys.readouterr().out == first
    with pytest.raises(AssertionError, match="run again"):
        bench_optimal.main([*arguments, "--resume", "--option", "pseudo_count=3"])
    bench_optimal.main([*arguments[:-2], "--results", str(results), "--resume", "--variables"])
    assert "500 rows" not in capsys.readouterr().out


def test_nets_of_the_second_law_have_no_target(tmp_path, capsys):
    arguments = ["nets", *QUICK, "--sizes", "200", "--variables", "--nets", "1", "--law", "ide-cozman"]
    bench_optimal.main([*arguments, "--results", str(tmp_path / "runs.jsonl")])
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[:3] == ["200", "0.94", "-"]


def test_tables_prints_every_method(monkeypatch, capsys):
    made = []

    class Ensemble:
        """Stands in for the library's, and is remembered with what it was given."""

        def __init__(self, learner, n_networks):
            self.learner, self.n_networks = learner, n_networks
            made.append(self)

        def fit(self, frame):
            self.learner.fit(frame)
            return self

        def score(self, frame):
            return 1.25

    monkeypatch.setattr(gomea_bn, "BayesNetEnsemble", Ensemble, raising=False)
    monkeypatch.setattr(peers, "METHODS", ("uniform",))
    bench_optimal.main(
        ["tables", *QUICK, "--tables", "iris", "--folds", "2", "--ensemble", "2", "--seconds", "4"]
    )
    printed = capsys.readouterr().out
    assert "iris, 150 rows, 2 folds of seed 0" in printed
    assert len([line for line in printed.splitlines() if line.startswith("pyAgrum, uniform")]) >= 3
    line = next(line for line in printed.splitlines() if line.startswith("ensemble"))
    assert line.split()[1] == "1.25"
    assert {one.n_networks for one in made} == {2}
    assert {one.learner.max_seconds for one in made} == {2.0}
    summary = printed.splitlines()[-1].split()
    assert summary[0] == "iris"
    assert {"1.78", "2.40", "3.13"} <= set(summary)


def test_chen_prints_ours_and_ldbn(capsys):
    bench_optimal.main(["chen", *QUICK, "--tables", "auto-mpg", "--folds", "2", "--seconds", "0.5"])
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert [row.split()[0] for row in rows] == ["auto-mpg"] * 3
    assert {"-26.04", "-25.74"} <= set(rows[0].split())


def test_timing_compares_with_the_first_variant(capsys):
    variants = [
        "--variant",
        "base",
        "--variant",
        "same:pseudo_count=auto",
        "--variant",
        "flat:algorithm.linkage=univariate",
    ]
    bench_optimal.main(["when", *QUICK, *variants, "--cells", "4x150", "--nets", "2", "--first-net", "5"])
    printed = capsys.readouterr().out
    assert "networks of seeds 5 to 6" in printed
    rows = {line.split()[0]: line for line in printed.splitlines()[-3:]}
    assert list(rows) == ["base", "same", "flat"]
    assert "+0.000 [+0.000, +0.000]" in rows["same"]
    with pytest.raises(SystemExit, match="8by9"):
        timing.cell_of("8by9")
    with pytest.raises(SystemExit, match="name of its own"):
        bench_optimal.main(["timing", *QUICK, "--variant", "a", "--variant", "a:patience=3"])
