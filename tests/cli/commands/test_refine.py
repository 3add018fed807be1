"""The command refine: the files that it reads and writes, and its exit codes."""

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused, refused_last

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, refine_boundaries


def test_refine_moves_cuts_and_answers_mistakes_by_its_exit_code(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    data, saved = tmp_path / "rows.csv", tmp_path / "network.json"
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(scale=0.3, size=200)})
    frame.to_csv(data, index=False)
    learner = BayesNetLearner("equal-frequency", density="bins", max_evaluations=2000, random_state=1)
    learner.fit(frame).network_.to_json(saved)
    out = tmp_path / "refined.json"

    def refine(*arguments):
        return invoke("refine", saved, *arguments)

    done = refine(data, "--out", out, "--bin-counts", "free")
    assert done.exit_code == 0, done.stderr
    assert "Stopped by fixpoint" in done.stdout
    assert DiscretizedBayesNet.from_json(out).score(frame) > DiscretizedBayesNet.from_json(saved).score(frame)
    assert refine(data, "--out", out, "--method", "rv-gomea", "--bin-counts", "free").exit_code == 2
    refined = DiscretizedBayesNet.from_json(out).cut_points
    assert refine(data, "--out", out, "--bin-counts", "free", "--max-bins", "auto").exit_code == 0
    assert str(DiscretizedBayesNet.from_json(out).cut_points) == str(refined)
    # no two bins are better than the present ones
    assert refine(data, "--out", out, "--bin-counts", "free", "--max-bins", "2").exit_code == 0
    assert str(DiscretizedBayesNet.from_json(out).cut_points) == str(learner.network_.cut_points)
    wrong = refine(data, "--out", out, "--max-bins", "many")
    assert wrong.exit_code == 2
    assert "--max-bins must be an integer" in wrong.stderr
    assert refine(data, "--out", out, "--method", "guess").exit_code == 2
    assert refine(tmp_path / "none.csv", "--out", out).exit_code == 3
    assert refine(data, "--out", tmp_path / "none" / "refined.json").exit_code == 1


def test_the_folder_of_a_run_names_its_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    x = rng.normal(size=120)
    pd.DataFrame({"x": x, "y": x + rng.normal(scale=0.3, size=120)}).to_csv("rows.csv", index=False)
    ok("learn", "rows.csv", "--max-evaluations", "300", "--quiet", "--out", "run")
    for name in ("run", "run/network.json"):
        ok("refine", name, "rows.csv", "--out", f"{name.replace('/', '-')}.json", "--seed", "1")
        ok(
            "discretize", "rows.csv", "--method", "bayesian", "--network", name, "-o",
            name.replace("/", "-") + ".cuts.json",
        )  # fmt: skip
    for ending in ("json", "cuts.json"):
        texts = [(tmp_path / f"{name}.{ending}").read_text() for name in ("run", "run-network.json")]
        assert texts[0] == texts[1]
    assert "since it is an input (NETWORK)" in refused(
        2, "refine", "run", "rows.csv", "--out", "run/network.json"
    )


def test_refine_learns_conditionals_of_the_refined_cuts(tmp_path):
    x = np.random.default_rng(3).normal(size=100)
    frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(4).normal(scale=0.3, size=100)})
    data, saved, out = (tmp_path / name for name in ("rows.csv", "network.json", "refined.json"))
    frame.to_csv(data, index=False)
    learner = BayesNetLearner("equal-frequency", max_evaluations=500, random_state=1).fit(frame)
    learner.network_.to_json(saved)
    ok("refine", saved, data, "--seed", "2", "--out", out)
    refined = DiscretizedBayesNet.from_json(out)
    assert refined.conditionals is not None
    assert refined == refine_boundaries(learner.network_, frame, random_state=2).network
    learner.network_.of_tables().to_json(saved)
    ok("refine", saved, data, "--seed", "2", "--out", out)
    plain = DiscretizedBayesNet.from_json(out)
    assert plain.conditionals is None
    np.testing.assert_equal(plain.cut_points, refined.cut_points)


@pytest.mark.parametrize("ending", ["bif", "xdsl", "net"])
def test_networks_of_other_formats_are_refined_and_guide_discretizers(tmp_path, ending):
    x = np.random.default_rng(3).normal(size=100)
    frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(4).normal(scale=0.3, size=100)})
    data, saved, out = tmp_path / "rows.csv", tmp_path / f"network.{ending}", tmp_path / "refined.json"
    frame.to_csv(data, index=False)
    network = DiscretizedBayesNet.from_table(frame, [("x", "y")], {"x": [1.0], "y": [1.0]})
    network.export(saved)
    ok("refine", saved, data, "--out", out)
    refined = DiscretizedBayesNet.from_json(out)
    assert refined.edges == network.edges
    assert refined.score(frame) > network.score(frame)
    cuts = tmp_path / "cuts.json"
    ok("discretize", data, "--method", "mdl", "--network", saved, "--out", cuts)


def test_a_network_without_cuts_is_not_refined(tmp_path):
    frame = pd.DataFrame({"x": ["a", "b"] * 20})
    data, saved = tmp_path / "rows.csv", tmp_path / "network.bif"
    frame.to_csv(data, index=False)
    DiscretizedBayesNet.from_table(frame, [], {}).to_bif(saved)
    assert "has no variable with cuts" in refused_last(
        3, "refine", saved, data, "--out", tmp_path / "refined.json"
    )
