"""What `confidence` computes of a learned network: repeated networks and probabilities of edges."""

import dataclasses
import json

import pandas as pd
import pytest
from command_line import RUN_FILES, invoke, ok, refused_last

from gomea_bn import BayesNetEnsemble, BayesNetLearner, DiscretizedBayesNet, GomeaBnError
from gomea_bn.certainty import edge_posterior
from gomea_bn.certainty.chains import bins_chain

FURTHER = ["--max-evaluations", "300", "--seed", "1", "--curves", "none"]


@pytest.fixture
def run(table, tmp_path):
    ok("learn", table, *FURTHER, "--out", tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_bins_are_drawn_with_the_graphs(run, monkeypatch):
    monkeypatch.setattr(bins_chain, "SWEEPS_PER_DRAW", 1_000)
    monkeypatch.setattr(edge_posterior, "SWEEPS_PER_DRAW", 1_000)
    assert "bins drawn with the graphs" in ok("confidence", run, "--drawn-bins").stdout
    assert json.loads((run / "run.json").read_text())["confidence"]["has_drawn_bins"]


@pytest.mark.parametrize(
    ("options", "score"),
    [
        (["--discretizer", "equal-width"], "'density-bic'"),
        (["--discretizer", "equal-width", "--scoring-method", "density-bd", "--prior", "bdeu"], "BDeu prior"),
    ],
)
def test_drawn_bins_under_another_score_are_refused(table, tmp_path, options, score):
    ok("learn", table, *FURTHER, *options, "--out", tmp_path / "run")
    result = invoke("confidence", tmp_path / "run", "--drawn-bins")
    assert result.exit_code == 2, result.stderr
    assert "Drawn bins need the score 'density-bd'" in result.stderr
    assert score in result.stderr
    assert {path.name for path in (tmp_path / "run").iterdir()} == RUN_FILES


def test_the_folder_gets_probabilities_and_stability_until_it_is_learned_again(table, run):
    result = ok("confidence", run, "--repeat", "2")
    assert {path.name for path in run.iterdir()} == RUN_FILES | {"confidence.json", "stability.json"}
    record = json.loads((run / "run.json").read_text())
    assert record["stability"]["n_networks"] == 2
    assert record["confidence"]["n_bin_sets"] == 2
    stored = json.loads((run / "confidence.json").read_text())
    network = DiscretizedBayesNet.from_json(run / "network.json")
    assert network.conditionals is not None
    assert network.metadata["edge_probabilities"]["pairs"] == stored["pairs"]
    assert "Learned again 2 times" in result.stdout
    assert network.metadata["stability_in_words"][0] in result.stdout
    assert "Probabilities of edges (exact; means over 2 sets of bins" in result.stdout
    content = json.loads(ok("confidence", run, "--json").stdout)
    assert content["confidence"]["n_bin_sets"] == 1
    assert not content["confidence"]["has_drawn_bins"]
    assert "stability" not in content
    ok("learn", table, *FURTHER, "--out", run)
    assert {path.name for path in run.iterdir()} == RUN_FILES


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("first", "then", "difference"),
    [
        (["--repeat", "1"], ["--repeat", "2"], "option --repeat was 1, and is now 2"),
        (
            ["--drawn-bins", "--max-sweeps", "2"],
            ["--max-sweeps", "2"],
            "option --drawn-bins or --repeat was 'drawn', and is now []",
        ),
        ([], ["--repeat", "1"], "option --drawn-bins or --repeat was [], and is now those of 1 network"),
        ([], ["--max-seconds", "3"], "option --max-seconds was 60.0, and is now 3.0"),
    ],
)
def test_other_options_than_in_the_checkpoint_are_refused(run, tmp_path, first, then, difference):
    options = [run, "--checkpoint", tmp_path / "saved"]
    ok("confidence", *options, *first)
    before = (run / "confidence.json").read_bytes()
    result = invoke("confidence", *options, *then, "--resume")
    assert result.exit_code == 2, result.stderr
    assert difference in result.stderr.replace("\n", " ")
    assert (run / "confidence.json").read_bytes() == before


def test_chains_that_have_not_mixed_are_reported_by_options_of_the_command(run):
    result = ok("confidence", run, "--drawn-bins", "--max-sweeps", "1")
    assert "The chains have not mixed" in result.stderr
    assert "Raise --max-sweeps." in result.stderr.replace("\n", " ")


def test_ctrl_c_during_the_chains_says_that_the_probabilities_are_those_so_far(run, monkeypatch):
    whole = BayesNetLearner.edge_probabilities

    def interrupted(learner, **options):
        return dataclasses.replace(whole(learner, **options), stopped_by="interrupt")

    monkeypatch.setattr(BayesNetLearner, "edge_probabilities", interrupted)
    result = ok("confidence", run)
    assert "Interrupted: the probabilities are those of the sweeps so far." in result.stderr
    assert (run / "confidence.json").exists()


@pytest.mark.sample(1)
@pytest.mark.parametrize("call", ["edge_probabilities", "fit"])
def test_ctrl_c_keeps_what_is_complete(run, monkeypatch, call):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    owner = BayesNetLearner if call == "edge_probabilities" else BayesNetEnsemble
    monkeypatch.setattr(owner, call, interrupted)
    result = invoke("confidence", run, "--repeat", "2")
    assert result.exit_code == (130 if call == "fit" else 0)
    assert "Interrupted: the network is kept." in result.stderr
    expected = RUN_FILES if call == "fit" else RUN_FILES | {"stability.json"}
    assert {path.name for path in run.iterdir()} == expected


def test_probabilities_that_cannot_be_computed_do_not_lose_the_repeats(run, monkeypatch):
    def failing(*_args, **_options):
        raise GomeaBnError("too many parent sets")

    monkeypatch.setattr(BayesNetLearner, "edge_probabilities", failing)
    assert "too many parent sets" in refused_last(1, "confidence", run, "--repeat", "1")
    assert (run / "stability.json").exists()


def test_probabilities_of_a_table_with_missing_values_are_means_over_completed_tables(tmp_path):
    rows = pd.DataFrame({"a": ["u", "v", None] * 20, "b": ["x", "y"] * 30})
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    ok("learn", tmp_path / "gaps.csv", *FURTHER, "--out", tmp_path / "run")
    result = ok("confidence", tmp_path / "run")
    assert "missing cells filled by draws, means over 5 tables" in result.stdout


@pytest.mark.long
def test_a_resumed_command_keeps_repeats_and_probabilities(run, tmp_path, monkeypatch):
    kept = ["--checkpoint", tmp_path / "kept", "--repeat", "2"]
    ok("confidence", run, *kept)
    first = {path.name: path.read_bytes() for path in run.iterdir()}
    refused = invoke("confidence", run, *kept)
    assert refused.exit_code == 2
    saved = tmp_path / "kept" / "repeats" / "checkpoint.gomea"
    assert f"'{saved}' exists" in refused.stderr.replace("\n", "")
    monkeypatch.setattr(
        "gomea_bn.learning.ensemble._fitted_member", lambda *_: pytest.fail("a search was repeated")
    )
    monkeypatch.setattr(
        "gomea_bn.certainty.edge_posterior._Options.posterior", lambda *_: pytest.fail("computed again")
    )
    ok("confidence", run, *kept, "--resume")
    for name in ("network.json", "stability.json", "confidence.json"):
        assert (run / name).read_bytes() == first[name]
