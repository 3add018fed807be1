"""What `learn` computes after the search: repeated networks and probabilities of edges."""

import dataclasses
import json

import pandas as pd
import pytest
from command_line import RUN_FILES, learn, ok, refused_last

from gomea_bn import BayesNetEnsemble, BayesNetLearner, DiscretizedBayesNet, GomeaBnError
from gomea_bn.certainty import edge_posterior
from gomea_bn.certainty.chains import bins_chain

FURTHER = ["--max-evaluations", "300", "--seed", "1", "--curves", "none"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_learn_draws_bins_with_the_graphs(table, tmp_path, monkeypatch):
    monkeypatch.setattr(bins_chain, "SWEEPS_PER_DRAW", 1_000)
    monkeypatch.setattr(edge_posterior, "SWEEPS_PER_DRAW", 1_000)
    result = ok("learn", table, *FURTHER, "--confidence", "--drawn-bins", "--out", tmp_path / "run")
    assert "bins drawn with the graphs" in result.stdout
    assert json.loads((tmp_path / "run" / "run.json").read_text())["confidence"]["has_drawn_bins"]


@pytest.mark.parametrize(
    "options", [["--drawn-bins"], ["--confidence-seconds", "3"], ["--confidence-sweeps", "2"]]
)
def test_options_of_confidence_are_refused_without_it(table, options):
    result = learn(table, *FURTHER, *options)
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {options[0]} applies to --confidence, which is not given.\n",
    )


@pytest.mark.parametrize(
    ("options", "score"),
    [
        (["--discretizer", "equal-width"], "'density-bic'"),
        (["--discretizer", "equal-width", "--scoring-method", "density-bd", "--prior", "bdeu"], "BDeu prior"),
    ],
)
def test_drawn_bins_under_another_score_are_refused_before_the_search(table, tmp_path, options, score):
    result = learn(table, *FURTHER, "--confidence", "--drawn-bins", "--out", tmp_path / "run", *options)
    assert result.exit_code == 2, result.stderr
    assert "Drawn bins need the score 'density-bd'" in result.stderr
    assert score in result.stderr
    assert not (tmp_path / "run").exists()


def test_learn_writes_probabilities_of_edges_and_stability(table, tmp_path):
    out = tmp_path / "run"
    result = ok("learn", table, *FURTHER, "--repeat", "2", "--confidence", "--out", out)
    assert {path.name for path in out.iterdir()} == RUN_FILES | {"confidence.json", "stability.json"}
    record = json.loads((out / "run.json").read_text())
    assert record["stability"]["n_networks"] == 2
    assert record["confidence"]["n_bin_sets"] == 2
    stored = json.loads((out / "confidence.json").read_text())
    network = DiscretizedBayesNet.from_json(out / "network.json")
    assert network.conditionals is not None
    assert network.metadata["edge_probabilities"]["pairs"] == stored["pairs"]
    assert "Learned again 2 times" in result.stdout
    assert network.metadata["stability_in_words"][0] in result.stdout
    assert "Probabilities of edges (exact; means over 2 sets of bins" in result.stdout
    content = json.loads(ok("learn", table, *FURTHER, "--confidence", "--json", "--out", out).stdout)
    assert content["confidence"]["n_bin_sets"] == 1
    assert not content["confidence"]["has_drawn_bins"]
    assert "stability" not in content
    assert not (out / "stability.json").exists()
    ok("learn", table, *FURTHER, "--out", out)
    assert {path.name for path in out.iterdir()} == RUN_FILES


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("first", "then", "difference"),
    [
        (["--repeat", "1"], ["--repeat", "2"], "option --repeat was 1, and is now 2"),
        (
            ["--confidence", "--drawn-bins", "--confidence-sweeps", "2"],
            ["--confidence", "--confidence-sweeps", "2"],
            "option --drawn-bins or --repeat was 'drawn', and is now []",
        ),
        (
            ["--confidence"],
            ["--confidence", "--repeat", "1"],
            "option --drawn-bins or --repeat was [], and is now those of 1 network",
        ),
        (
            ["--confidence"],
            ["--confidence", "--confidence-seconds", "3"],
            "option --confidence-seconds was 60.0, and is now 3.0",
        ),
    ],
)
def test_other_options_after_the_search_than_in_the_checkpoint_are_refused_at_the_start(
    table, tmp_path, first, then, difference
):
    options = [*FURTHER, "--checkpoint", tmp_path / "saved"]
    ok("learn", table, *options, *first)
    result = learn(table, *options, *then, "--resume", "--out", tmp_path / "run")
    assert result.exit_code == 2, result.stderr
    assert difference in result.stderr.replace("\n", " ")
    assert "Searching" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_chains_that_have_not_mixed_are_reported_by_options_of_the_command(table):
    result = ok("learn", table, *FURTHER, "--confidence", "--drawn-bins", "--confidence-sweeps", "1")
    assert "The chains have not mixed" in result.stderr
    assert "Raise --confidence-sweeps." in result.stderr.replace("\n", " ")


def test_ctrl_c_during_the_chains_says_that_the_probabilities_are_those_so_far(table, tmp_path, monkeypatch):
    whole = BayesNetLearner.edge_probabilities

    def interrupted(learner, **options):
        return dataclasses.replace(whole(learner, **options), stopped_by="interrupt")

    monkeypatch.setattr(BayesNetLearner, "edge_probabilities", interrupted)
    result = ok("learn", table, *FURTHER, "--confidence", "--out", tmp_path / "run")
    assert "Interrupted: the probabilities are those of the sweeps so far." in result.stderr
    assert (tmp_path / "run" / "confidence.json").exists()


@pytest.mark.sample(1)
@pytest.mark.parametrize("call", ["edge_probabilities", "fit"])
def test_ctrl_c_after_the_search_keeps_the_network(table, tmp_path, monkeypatch, call):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    owner = BayesNetLearner if call == "edge_probabilities" else BayesNetEnsemble
    monkeypatch.setattr(owner, call, interrupted)
    out = tmp_path / "run"
    result = ok("learn", table, *FURTHER, "--repeat", "2", "--confidence", "--out", out)
    assert "Interrupted: the network is kept." in result.stderr
    expected = RUN_FILES if call == "fit" else RUN_FILES | {"stability.json"}
    assert {path.name for path in out.iterdir()} == expected


def test_probabilities_that_cannot_be_computed_lose_no_network(table, tmp_path, monkeypatch):
    def failing(*_args, **_options):
        raise GomeaBnError("too many parent sets")

    monkeypatch.setattr(BayesNetLearner, "edge_probabilities", failing)
    assert "too many parent sets" in refused_last(
        1, "learn", table, *FURTHER, "--confidence", "--out", tmp_path / "run"
    )
    assert (tmp_path / "run" / "network.json").exists()


def test_probabilities_of_a_table_with_missing_values_are_means_over_completed_tables(tmp_path):
    rows = pd.DataFrame({"a": ["u", "v", None] * 20, "b": ["x", "y"] * 30})
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    result = ok("learn", tmp_path / "gaps.csv", *FURTHER, "--confidence")
    assert "missing cells filled by draws, means over 5 tables" in result.stdout


@pytest.mark.long
def test_a_resumed_run_keeps_repeats_and_probabilities(table, tmp_path, monkeypatch):
    kept = ["--checkpoint", tmp_path / "kept", "--repeat", "2", "--confidence"]
    ok("learn", table, *FURTHER, *kept, "--out", tmp_path / "first")
    refused = learn(table, *FURTHER, *kept)
    assert refused.exit_code == 2
    (tmp_path / "kept" / "checkpoint.gomea").rename(tmp_path / "moved")
    refused = learn(table, *FURTHER, *kept)
    assert f"'{tmp_path / 'kept' / 'repeats' / 'checkpoint.gomea'}' exists" in refused.stderr.replace(
        "\n", ""
    )
    assert "Searching" not in refused.stderr
    (tmp_path / "moved").rename(tmp_path / "kept" / "checkpoint.gomea")
    monkeypatch.setattr(
        "gomea_bn.learning.ensemble._fitted_member", lambda *_: pytest.fail("a search was repeated")
    )
    monkeypatch.setattr(
        "gomea_bn.certainty.edge_posterior._Options.posterior", lambda *_: pytest.fail("computed again")
    )
    ok("learn", table, *FURTHER, *kept, "--resume", "--out", tmp_path / "again")
    for name in ("network.json", "stability.json", "confidence.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "first" / name).read_bytes()
