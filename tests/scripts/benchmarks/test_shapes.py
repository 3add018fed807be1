"""Command line of the benchmark of shapes, and its part on MGCD's networks."""

import json

import numpy as np
import pytest
import shapes
from parts import bells_of_mgcd

from gomea_bn.experiments.mgcd import random_truth

QUICK = ["--discretizer", "equal-frequency", "--option", "max_evaluations=300", "--workers", "1"]


def test_variants_add_to_the_shared_options():
    command = [
        "large",
        "--option",
        "shape=auto",
        "--variant",
        "a",
        "--variant",
        "b:shape=uniform,patience=None",
    ]
    assert shapes.learner_variants(shapes.command_line().parse_args(command)) == {
        "a": {"discretizer": "optimal", "shape": "auto"},
        "b": {"discretizer": "optimal", "shape": "uniform", "patience": None},
    }
    plain = shapes.command_line().parse_args(["skeletons"])
    assert shapes.learner_variants(plain) == {"ours": {"discretizer": "optimal"}}
    with pytest.raises(SystemExit, match="distinct"):
        shapes.learner_variants(
            shapes.command_line().parse_args(["large", "--variant", "a", "--variant", "a"])
        )


@pytest.mark.parametrize("command", [["skeletons", "--graphs", "0"], ["bells-of-mgcd", "--rows", "2.5"]])
def test_a_wrong_number_is_refused(command, capsys):
    with pytest.raises(SystemExit):
        shapes.main(command)
    assert "must be an integer of at least 1" in capsys.readouterr().err


def test_bells_of_mgcd_prints_a_row_per_number_of_rows(capsys, tmp_path):
    path = tmp_path / "bells.jsonl"
    command = ["bells-of-mgcd", *QUICK, "--nets", "1", "--first-seed", "3", "--rows", "100", "200"]
    shapes.main([*command, "--seconds", "2", "--results", str(path)])
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2].startswith("100 rows, ours")
    assert printed[-1].startswith("200 rows, ours")
    truth = random_truth(3)
    levels = np.mean([truth.cardinality(name) for name in truth.names])
    assert f"{len(truth.edges):.1f}" in printed[-1].split()
    assert f"{levels:.1f}" in printed[-1].split()


def test_averaged_prints_divergences_and_the_weight_of_lines(capsys, tmp_path):
    path = tmp_path / "averaged.jsonl"
    command = ["averaged", *QUICK, "--graphs", "1", "--laws", "tree", "--rows", "100", "300"]
    shapes.main([*command, "--seconds", "2", "--results", str(path)])
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2].startswith("tree, 100 rows, ours")
    assert printed[-1].startswith("tree, 300 rows, ours")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    fewer, more = sorted(records, key=lambda record: record["task"]["rows"])
    for record in records:
        assert record["network"] > 0
        assert 0 <= record["weight"] < 0.3
    assert more["bins"] < fewer["bins"]
    assert f"{more['weight']:.3f}" in printed[-1].split()


def test_a_learner_that_knows_the_network_has_no_errors(monkeypatch):
    truth = random_truth(0)

    class Learner:
        """Replaces the learner, and returns the true network."""

        network_, fit_seconds_ = truth, 0.5

        def fit(self, frame):
            assert frame.shape == (50, len(truth.names))
            return self

    monkeypatch.setattr(bells_of_mgcd, "make_learner", lambda options, **fixed: Learner())
    monkeypatch.setattr(bells_of_mgcd, "warm_up", lambda options: None)
    record = bells_of_mgcd.one_network({"net": 0, "rows": 50, "method": "m", "seconds": 1.0, "options": {}})
    assert (record["tpr"], record["fpr"], record["wrong"], record["missed"]) == (1.0, 0.0, 0, 0)
    assert record["bins"] == record["levels"]
    assert record["exact"] == 1.0
