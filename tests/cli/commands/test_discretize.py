"""`gomea-bn discretize` and `learn --cut-points`: what they print, write, read and refuse."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused, refused_last

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.cli.commands.learn import _report
from gomea_bn.discretization import MDLP, BayesianDiscretizer, EqualFrequency, MDLDiscretizer
from gomea_bn.discretization.cut_files import read_cut_file, write_cut_file
from gomea_bn.learning.run_folder import run_record


def discretize(*arguments):
    return invoke("discretize", *arguments)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    a = rng.normal(size=200)
    frame = pd.DataFrame({"a": a, "long name": a + rng.normal(scale=0.3, size=200)})
    frame["c"] = np.where(frame["long name"] > 0.4, "high", "low")
    return frame


@pytest.fixture
def network(rows, tmp_path):
    network_with_fixed_cuts = DiscretizedBayesNet.from_table(
        read_table(rows), [("a", "long name"), ("long name", "c")], {"a": [0.0], "long name": [0.1, 0.7]}
    )
    network_with_fixed_cuts.to_json(tmp_path / "network.json")
    return tmp_path / "network.json"


def exact(cut_points):
    return {name: np.asarray(cuts).tolist() for name, cuts in cut_points.items()}


def test_discretize_prints_a_row_per_continuous_column(table, rows):
    result = ok("discretize", table, "--method", "equal-frequency", "--option", "n_bins=3")
    cuts = EqualFrequency(n_bins=3).fit(rows).cut_points_
    assert result.stdout.splitlines() == [
        "column     bins  cuts",
        *(f"{name:<9}     3  {cut_points[0]:g}, {cut_points[1]:g}" for name, cut_points in cuts.items()),
        "",
        result.stdout.splitlines()[-1],
    ]
    assert result.stdout.splitlines()[-1].startswith("Stopped by fixpoint after ")
    assert "c          discrete" in result.stderr
    assert "no --out given" in result.stderr


def test_files_hold_cuts_and_codes(table, rows, network, tmp_path):
    out, codes = tmp_path / "cuts.json", tmp_path / "codes.csv"
    result = ok(
        "discretize", table, "--method", "mdl", "--network", network, "--option", "search=merge", "-o", out,
        "--codes", codes, "--json", "-q",
    )  # fmt: skip
    assert result.stderr == ""
    alone = MDLDiscretizer("merge").fit(rows, network=DiscretizedBayesNet.from_json(network))
    assert json.loads(out.read_text()) == {
        "format": "gomea-bn cut points",
        "format_version": 1,
        "cut_points": exact(alone.cut_points_),
    }
    assert read_cut_file(out) == exact(alone.cut_points_)
    pd.testing.assert_frame_equal(pd.read_csv(codes).astype(np.int32), alone.transform(rows))
    printed = json.loads(result.stdout)
    assert printed["cut_points"] == exact(alone.cut_points_)
    assert (printed["method"], printed["stopped_by"], printed["n_rows"]) == ("mdl", "fixpoint", 200)


def test_no_file_that_it_reads_is_replaced(table, network, tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    before = table.read_bytes(), network.read_bytes()
    arguments = (table, "--method", "mdl", "--network", network, "-q")
    for option, target in (("-o", table), ("--codes", table), ("--codes", link), ("-o", network)):
        assert "since it is an input (" in refused(2, "discretize", *arguments, option, target)
    both = ("-o", tmp_path / "x", "--codes", tmp_path / "x")
    assert "must be two files" in refused(2, "discretize", *arguments, *both)
    assert (table.read_bytes(), network.read_bytes()) == before


def test_advice_names_options_of_the_command(table, rows):
    rows.assign(a=rows["a"].where(rows["a"] > -1)).to_csv(table, index=False)
    assert "give --missing drop" in refused_last(3, "discretize", table, "--method", "mdl")


def test_learn_takes_the_cuts(table, rows, tmp_path):
    cuts = tmp_path / "cuts.json"
    ok("discretize", table, "--method", "bayesian", "-o", cuts, "-q")
    assert read_cut_file(cuts) == exact(BayesianDiscretizer().fit(rows).cut_points_)
    result = ok("learn", table, "--cut-points", cuts, "--max-evaluations", 500, "--seed", 1, "--json", "-q")
    learned = DiscretizedBayesNet.from_json(json.dumps(json.loads(result.stdout)["network"]))
    fixed = BayesNetLearner(cut_points=read_cut_file(cuts), max_evaluations=500, random_state=1).fit(rows)
    assert learned == fixed.network_
    assert learned.metadata["fixed_cut_points"] == ["a", "long name"]

    assert "names 'a' twice" in refused(2, "learn", table, "--cut-points", cuts, "--cut-points", "a=0", "-q")
    write_cut_file(cuts, {"a": [0.0], "b": []})
    assert "unknown column 'b'" in refused(2, "learn", table, "--cut-points", cuts, "-q")
    write_cut_file(cuts, {"a": [0.25]})
    both = ["--cut-points", cuts, "--cut-points", "long name=0.5", "--max-evaluations", 50, "--json", "-q"]
    parameters = json.loads(invoke("learn", table, *both).stdout)["run"]["parameters"]
    assert parameters["cut_points"] == {"a": [0.25], "long name": [0.5]}


def test_learn_takes_a_discretizer_by_name(table, rows):
    options = ["--discretizer", "bayesian", "--max-evaluations", 2000, "--seed", 1, "--json", "-q"]
    content = json.loads(ok("learn", table, *options).stdout)
    learner = BayesNetLearner("bayesian", max_evaluations=2000, random_state=1).fit(rows)
    assert DiscretizedBayesNet.from_json(json.dumps(content["network"])) == learner.network_
    assert content["run"]["parameters"]["discretizer"] == "bayesian"
    assert content["run"]["counts"]["discretizer_runs"] == learner.statistics_["discretizer_runs"] > 0
    assert "needs classes" in refused(2, "learn", table, "--discretizer", "mdlp", "-q")


def test_what_repeats_a_run_is_said_where_it_does(table, rows):
    learner = BayesNetLearner("mdl", max_evaluations=500, random_state=1).fit(rows)
    assert run_record(learner, table, "", compile_seconds=0.0)["repeat"]["max_evaluations"] == 500
    assert "with --seed 1 give this network again" in _report(learner, table, None)
    learner.statistics_["preparation_cut_short"] = 1
    assert "shortened by the limit on seconds, so another run may give" in _report(learner, table, None)
    learner.statistics_["discretizer_cut_short"] = 1
    assert run_record(learner, table, "", compile_seconds=0.0)["repeat"] is None
    text = _report(learner, table, None)
    assert "The clock ended the discretizer in 1 of " in text
    assert "again" not in text


def test_classes_come_from_a_column(table, rows):
    result = ok("discretize", table, "--method", "mdlp", "--target", "c", "--json", "-q")
    assert json.loads(result.stdout)["cut_points"] == exact(MDLP().fit(rows, "c").cut_points_)


def test_kinds_and_fixed_cuts_of_a_network_hold(table, rows, tmp_path):
    saved = tmp_path / "fixed.json"
    whole = rows.assign(d=np.arange(200) % 4)
    whole.to_csv(table, index=False)
    whole_number_network = DiscretizedBayesNet.from_table(
        read_table(whole, kinds={"d": "continuous"}),
        [("a", "d")],
        {"a": [0.0], "long name": [], "d": [1.5]},
        metadata={"fixed_cut_points": ["a"]},
    )
    whole_number_network.to_json(saved)
    start = ("discretize", table, "--method", "mdl", "--network", saved)
    cuts = json.loads(ok(*start, "--json", "-q").stdout)["cut_points"]
    assert list(cuts) == ["a", "long name", "d"]
    assert cuts["a"] == [0.0]
    assert "'d' is continuous in the network" in refused(2, *start, "--kind", "d=discrete", "-q")


def test_rows_with_missing_values_are_left_out_of_the_codes(rows, table, tmp_path):
    holes = rows.copy()
    holes.loc[[3, 60], "a"] = np.nan
    holes.to_csv(table, index=False)
    assert discretize(table, "--method", "equal-width").exit_code == 3
    codes = tmp_path / "codes.csv"
    ok("discretize", table, "--method", "equal-width", "--missing", "drop", "--codes", codes)
    assert len(pd.read_csv(codes)) == 198


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--method", "bayes"], 2, "Error: --method must be one of"),
        (["--method", "mdl", "--option", "serch=merge"], 2, "Did you mean 'search'"),
        (["--method", "mdl", "--option", "search=best"], 2, "--option search must be one of"),
        (["--method", "mdl", "--option", "search"], 2, "--option must be name=value"),
        (["--method", "mdl", "--option", "n_cells=9", "--option", "n_cells=8"], 2, "'n_cells' twice"),
        (["--method", "mdl", "--option", "max_seconds=3"], 2, "give it as --max-seconds"),
        (["--method", "mdl", "--option", "kinds=3"], 2, "give it as --kind"),
        (["--method", "mdlp"], 2, "needs classes: --target"),
        (["--method", "mdlp", "--target", "C"], 2, "unknown column 'C'"),
        (["--method", "mdlp", "--target", "a"], 3, "Raise --option max_classes"),
        (["--method", "mdl", "--kind", "z=discrete"], 2, "unknown column 'z'"),
        (["--method", "mdl", "--missing", "fill"], 2, "--missing must be"),
        (["--method", "mdl", "--network", "none.json"], 3, "does not exist"),
        (["--method", "mdl", "-o", "none/cuts.json"], 1, "Cannot write"),
        (["--method", "mdl", "-o", "cuts.txt"], 2, "--out: 'cuts.txt' must end in .json."),
        (["--method", "mdl", "--codes", "."], 2, "--codes: '.' must end in .csv."),
        ([], 2, "Missing option '--method'"),
    ],
)  # fmt: skip
def test_mistakes_have_a_message_and_a_code(table, arguments, code, message):
    result = discretize(table, *arguments)
    assert result.exit_code == code, result.stderr
    assert isinstance(result.exception, SystemExit)
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_method_that_draws_prints_the_seed_that_repeats_it(table, tmp_path):
    first = ok("discretize", table, "--method", "mgcd", "-o", tmp_path / "first.json")
    (seed,) = re.findall(r"with --option (random_state=\d+) give these cuts again", first.stdout)
    again = discretize(table, "--method", "mgcd", "--option", seed, "-o", tmp_path / "again.json")
    assert seed in again.stdout
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "first.json").read_bytes()
    assert "random_state" not in discretize(table, "--method", "equal-width").stdout


def test_cuts_that_differ_are_printed_differently(table, rows):
    rows.assign(a=1e9 + np.arange(200) / 2).to_csv(table, index=False)
    printed = discretize(table, "--method", "equal-width", "--option", "n_bins=4").stdout
    (cuts,) = re.findall(r"^a +4  (.+)$", printed, re.MULTILINE)
    assert len(set(cuts.split(", "))) == 3


def test_unusable_data_end_with_exit_code_3(table, tmp_path, network):
    mdl = ("--method", "mdl")
    assert "none.csv' does not exist" in refused_last(3, "discretize", tmp_path / "none.csv", *mdl)
    pd.DataFrame({"a": [1.5] * 20, "b": [2] * 20}).to_csv(table, index=False)
    constant = "All columns of the table are constant: 'a' is 1.5, 'b' is 2"
    assert constant in refused_last(3, "discretize", table, *mdl)
    pd.DataFrame({"a": [1.5] * 20, "long name": np.arange(20.0), "c": ["high", "low"] * 10}).to_csv(
        table, index=False
    )
    kinds = "'a' is continuous in the network, but discrete here (constant: 1.5"
    assert kinds in refused_last(3, "discretize", table, *mdl, "--network", network)
    pd.DataFrame({"a": np.arange(20.0)}).to_csv(table, index=False)
    assert "long name" in refused_last(3, "discretize", table, *mdl, "--network", network)


def test_few_rows_are_enough(tmp_path):
    path = tmp_path / "few.csv"
    pd.DataFrame({"a": [0.5, 1.0, 9.0]}).to_csv(path, index=False)
    result = ok("discretize", path, "--method", "equal-width", "--option", "n_bins=2", "--json", "-q")
    assert json.loads(result.stdout)["cut_points"] == {"a": [4.75]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", 'wanted "format": .* got list'),
        ('{"format": "gomea-bn network"}', "got 'gomea-bn network'"),
        ('{"format": "gomea-bn cut points", "format_version": 2}', "format_version 2"),
        ('{"format": "gomea-bn cut points", "format_version": 1}', "wanted an object under 'cut_points'"),
        ('{"format": "gomea-bn cut points", "format_version": 1, "cut_points": {"a": "1"}}', "'a' must be a list"),
        (
            '{"format": "gomea-bn cut points", "format_version": 1, "cut_points": {"a": [NaN]}}',
            "NaN is not a JSON number",
        ),
    ],
)  # fmt: skip
def test_files_that_hold_no_cuts_are_refused(tmp_path, content, message):
    path = tmp_path / "cuts.json"
    path.write_text(content)
    with pytest.raises(GomeaBnError, match=message):
        read_cut_file(path)
    with pytest.raises(GomeaBnError, match="does not exist"):
        read_cut_file(tmp_path / "none.json")


def test_a_byte_order_mark_before_cuts_is_ignored(tmp_path):
    write_cut_file(tmp_path / "cuts.json", {"a": [0.5]})
    text = (tmp_path / "cuts.json").read_text(encoding="utf-8")
    (tmp_path / "marked.json").write_text(text, encoding="utf-8-sig")
    assert read_cut_file(tmp_path / "marked.json") == {"a": [0.5]}


def test_cut_files_are_exact(tmp_path):
    cuts = {"a": [0.1, 1 / 3, 1e300], 'q"é\n': [], "b": [5e-324]}
    write_cut_file(tmp_path / "cuts.json", cuts)
    assert read_cut_file(tmp_path / "cuts.json") == cuts
    write_cut_file(tmp_path / "cuts.json", {})
    assert read_cut_file(tmp_path / "cuts.json") == {}
