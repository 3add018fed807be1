"""The command `fit` counts the tables of a graph and cuts that the user gives."""

import numpy as np
import pandas as pd
import pytest
from command_line import ok, refused, refused_last

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.discretization.cut_files import write_cut_file

EDGES = [("a", "b"), ("b", "c")]
CUTS = {"a": [0.0], "b": [-0.5, 0.5]}


@pytest.fixture
def files(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("parent,child\na,b\nb,c\n")
    write_cut_file("cuts.json", CUTS)
    return tmp_path


def test_fit_is_from_table(files, rows):
    result = ok(
        "fit", "edges.csv", "rows.csv", "--cut-points", "cuts.json", "--shape", "uniform", "-o", "own.json"
    )
    expected = DiscretizedBayesNet.from_table(rows[["a", "b", "c"]], EDGES, CUTS, pseudo_count="auto")
    assert DiscretizedBayesNet.from_json("own.json") == expected
    assert result.stdout.startswith(expected.summary())
    assert "Left out, since the graph does not have these columns: d." in result.stderr
    arguments = (
        "--cut-points", "a=0", "--cut-points", "b=-0.5,0.5", "--pseudo-count", 2, "--shape", "uniform",
    )  # fmt: skip
    ok("fit", "edges.csv", "rows.csv", *arguments, "-o", "two.json")
    counted = DiscretizedBayesNet.from_table(rows[["a", "b", "c"]], EDGES, CUTS, pseudo_count=2.0)
    assert DiscretizedBayesNet.from_json("two.json") == counted


@pytest.mark.parametrize("ending", ["json", "bif", "xdsl", "net"])
def test_the_graph_may_come_from_a_file_with_cuts(files, rows, ending):
    first = DiscretizedBayesNet.from_table(rows[["a", "b", "c"]].head(60), EDGES, CUTS)
    first.export(f"graph.{ending}")
    ok("fit", f"graph.{ending}", "rows.csv", "--cut-points", "a=0.25", "-o", "own.xdsl")
    fitted = DiscretizedBayesNet.from_file("own.xdsl")
    expected = DiscretizedBayesNet.from_table(
        rows[["a", "b", "c"]], EDGES, {**CUTS, "a": [0.25]}, pseudo_count="auto"
    )
    assert fitted.edges == expected.edges
    assert fitted.tables["b"].tolist() == expected.tables["b"].tolist()


def test_the_graph_may_be_a_dot_file(files):
    (files / "g.dot").write_text("digraph { a -> b -> c }")
    for graph in ("g.dot", "edges.csv"):
        ok("fit", graph, "rows.csv", "--cut-points", "cuts.json", "-o", f"{graph}.json")
    assert DiscretizedBayesNet.from_json("g.dot.json") == DiscretizedBayesNet.from_json("edges.csv.json")


def test_missing_cells_count_where_a_family_has_none(files, rows):
    gaps = rows.copy()
    gaps.loc[::7, "b"] = None
    gaps.to_csv("gaps.csv", index=False)
    fit = ("fit", "edges.csv", "gaps.csv", "--cut-points", "cuts.json", "-o", "own.json")
    ok(*fit)
    uniform = (*fit, "--shape", "uniform")
    assert "missing" in refused(3, *uniform, "--missing", "error", "--drop", "d")
    ok(*uniform, "--missing", "drop")
    expected = DiscretizedBayesNet.from_table(
        gaps.dropna()[["a", "b", "c"]], EDGES, CUTS, pseudo_count="auto"
    )
    assert DiscretizedBayesNet.from_json("own.json") == expected


def test_columns_without_cuts_get_some(files):
    result = ok("fit", "edges.csv", "rows.csv", "--cut-points", "a=0", "-o", "own.json")
    network = DiscretizedBayesNet.from_json("own.json")
    assert network.edges == EDGES
    assert network.cut_points["a"].tolist() == [0.0]
    assert len(network.cut_points["b"]) > 0
    assert network.conditionals is not None
    assert result.stdout.startswith(network.summary())


def test_bins_have_the_shapes_that_a_learner_would_give_them(files, rows):
    learner = BayesNetLearner(cut_points=CUTS, max_evaluations=200, random_state=1)
    shapes = learner.fit(rows[["a", "b", "c"]]).network_.shapes
    assert shapes
    ok("fit", "edges.csv", "rows.csv", "--cut-points", "cuts.json", "-o", "own.json")
    assert DiscretizedBayesNet.from_json("own.json").shapes == shapes
    ok("fit", "edges.csv", "rows.csv", "--cut-points", "cuts.json", "--shape", "marginal", "-o", "all.json")
    assert set(DiscretizedBayesNet.from_json("all.json").shapes) == set(CUTS)
    assert "shape must be" in refused(
        2, "fit", "edges.csv", "rows.csv", "--cut-points", "cuts.json", "--shape", "round", "-o", "x.json"
    )


def test_a_folder_of_files_is_counted_in_pieces(files, rows):
    (files / "rows").mkdir()
    for k in range(3):
        rows.iloc[k::3].to_parquet(files / "rows" / f"{k}.parquet")
    ok("fit", "edges.csv", "rows.csv", "--cut-points", "cuts.json", "-o", "own.json")
    result = ok("fit", "edges.csv", "rows", "--cut-points", "cuts.json", "-o", "all.json")
    assert DiscretizedBayesNet.from_json("all.json") == DiscretizedBayesNet.from_json("own.json")
    assert f"All {len(rows):,} rows read." in result.stderr
    refused(2, "fit", "edges.csv", "rows", "--cut-points", "cuts.json", "-o", "rows/all.json")
    assert "Continuous columns of a table in pieces need cuts: a, b." in refused_last(
        3, "fit", "edges.csv", "rows", "-o", "x.json"
    )
    of_text = refused(
        2, "fit", "edges.csv", "rows", "--cut-points", "cuts.json", "-o", "x.json", "--sep", ","
    )
    assert "Error: --sep does not apply to a folder of files, whose columns have names" in of_text


def test_a_folder_of_files_may_have_missing_values(files, rows):
    (files / "gaps").mkdir()
    gaps = rows.mask(np.random.default_rng(1).random(rows.shape) < 0.1)
    gaps.to_csv("gaps.csv", index=False)
    for k in range(2):
        gaps.iloc[k::2].to_parquet(files / "gaps" / f"{k}.parquet")
    options = ["--cut-points", "cuts.json", "-o", "all.json"]
    for missing, tolerance in (("available", 0.05), ("drop", 1e-12)):
        ok(
            "fit",
            "edges.csv",
            "gaps.csv",
            "--cut-points",
            "cuts.json",
            "--missing",
            missing,
            "-o",
            "own.json",
        )
        # --missing available is the default
        ok("fit", "edges.csv", "gaps", *options, *(["--missing", missing] if missing == "drop" else []))
        own, pieces = (DiscretizedBayesNet.from_json(name) for name in ("own.json", "all.json"))
        for name in own.names:
            np.testing.assert_allclose(pieces.tables[name], own.tables[name], atol=tolerance)


def test_a_network_of_dates_and_units_fits_the_rows_it_was_learned_from(files, rows):
    frame = rows[["c"]].assign(
        mass=[f"{60 + 3 * value:.1f} kg" for value in rows["a"]],
        day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(rows)) * 37 % 300, unit="D"),
    )
    frame.to_csv("dated.csv", index=False)
    (files / "dated").mkdir()
    for k in range(2):
        frame.iloc[k::2].to_parquet(files / "dated" / f"{k}.parquet")
    learner = BayesNetLearner(max_evaluations=60, random_state=1, density="bins")
    learner.fit("dated.csv").network_.to_json("graph.json")
    for data in ("dated.csv", "dated"):
        ok("fit", "graph.json", data, "-o", f"{data}.json")
    own, pieces = (DiscretizedBayesNet.from_json(f"{name}.json") for name in ("dated.csv", "dated"))
    assert own.names == pieces.names
    assert own.cut_points["day [days since 1970-01-01]"] == pytest.approx(
        pieces.cut_points["day [days since 1970-01-01]"]
    )
    for name in own.names:
        np.testing.assert_allclose(pieces.tables[name], own.tables[name], atol=1e-12)
