"""The command refine: the files that it reads and writes, and its exit codes."""

import numpy as np
import pandas as pd
from command_line import invoke

from gomea_bn import BayesNetLearner, DiscretizedBayesNet


def test_refine_moves_cuts_and_answers_mistakes_by_its_exit_code(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    data, saved = tmp_path / "rows.csv", tmp_path / "network.json"
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(scale=0.3, size=200)})
    frame.to_csv(data, index=False)
    learner = BayesNetLearner("equal-frequency", max_evaluations=2000, random_state=1)
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
    assert "--max-bins must be auto or an integer" in wrong.stderr
    assert refine(data, "--out", out, "--method", "guess").exit_code == 2
    assert refine(tmp_path / "none.csv", "--out", out).exit_code == 3
    assert refine(data, "--out", tmp_path / "none" / "refined.json").exit_code == 1
