"""F1 of skeletons and CPDAGs, and what is printed of methods with and without results."""

import itertools

import numpy as np
import pandas as pd
import pytest

from lab.methods.peers import PeerRun
from lab.peers import skeletons
from lab.peers.skeletons import f1_of_cpdag, f1_of_skeleton
from lab.runner.results import ResultFolder

QUICK = ["--discretizer", "equal-frequency", "--option", "max_evaluations=300"]


def test_f1_equals_a_count_over_all_pairs():
    rng = np.random.default_rng(0)
    names = list("abcde")
    ordered = list(itertools.permutations(names, 2))
    for _ in range(50):
        true_edges, edges = ([pair for pair in ordered if rng.random() < 0.3] for _ in range(2))
        hits = wrong = missed = 0
        for pair in itertools.combinations(names, 2):
            is_true, is_learned = (pair in graph or pair[::-1] in graph for graph in (true_edges, edges))
            hits += is_true and is_learned
            wrong += is_learned and not is_true
            missed += is_true and not is_learned
        precision, recall = hits / max(hits + wrong, 1), hits / max(hits + missed, 1)
        expected = 2 * precision * recall / (precision + recall) if hits else 0.0
        assert f1_of_skeleton(true_edges, edges) == pytest.approx(expected)
    assert f1_of_skeleton([], []) == 1.0
    assert f1_of_skeleton([("a", "b")], []) == 0.0
    assert f1_of_skeleton([("a", "b")], [("b", "a"), ("a", "b")]) == 1.0


def test_f1_of_cpdags_counts_edges_whose_direction_is_right():
    collider = [("a", "c"), ("b", "c"), ("c", "d")]
    assert f1_of_cpdag(collider, collider) == 1.0
    # one edge has lost its direction, and one has another
    learned = [("a", "c"), ("c", "a"), ("b", "c"), ("d", "c")]
    assert f1_of_cpdag(collider, learned) == pytest.approx(2 * 1 / 6)
    assert f1_of_cpdag(learned, collider) == pytest.approx(2 * 1 / 6)
    assert f1_of_cpdag(collider, collider[:1]) == pytest.approx(2 * 1 / 4)
    undirected = [("d", "a"), ("a", "d")]
    assert f1_of_cpdag(undirected, undirected[::-1]) == 1.0
    assert f1_of_cpdag([], []) == 1.0
    assert f1_of_cpdag([], undirected) == 0.0


def test_skeletons_prints_every_method_and_resumes(monkeypatch, run_lab, tmp_path):
    calls = []

    def replaced(frame, timeout):
        calls.append((len(frame), timeout))
        edges = skeletons.essential_edges(frame.columns, skeletons.LAWS["mixed"](len(frame), 7).edges)
        yield PeerRun("perfect", edges, 0.25)
        yield PeerRun("absent", None, float("nan"), "No module named 'absent'")

    monkeypatch.setattr(skeletons, "peer_skeletons", replaced)
    command = ["shapes-skeletons", *QUICK, "--laws", "mixed", "--rows", "100", "150", "--graphs", "1"]
    command += ["--first-seed", "7", "--timeout", "3", "--seconds", "2"]
    printed = run_lab(*command)
    lines = {line.split()[0]: line.split() for line in printed.splitlines() if line}
    # F1 of the skeleton, and that of the CPDAG after the interval of the difference
    assert lines["perfect"][1] == lines["perfect"][7] == "1.00"
    assert lines["perfect"][-1] == "0.25"
    assert lines["absent,"][:3] == ["absent,", "150", "rows:"]
    assert 0.0 <= float(lines["ours"][1]) <= 1.0
    assert calls == [(100, 3.0), (150, 3.0)]
    folder = ResultFolder(tmp_path / "lab" / "shapes-skeletons")
    assert len(folder.rows()) == 4
    assert run_lab("shapes-skeletons", "--report") == printed
    variants = ["--variant", "ours", "--variant", "greedy:max_evaluations=100"]
    assert "greedy" in run_lab(*command, *variants, "--resume", "--accept-changes")
    assert len(calls) == 2
    methods = [row["task"]["method"] for row in folder.rows().values()]
    assert sorted(methods) == ["greedy", "greedy", "ours", "ours", "peers", "peers"]


def test_a_method_that_ended_on_some_graphs_is_compared_on_these():
    first = {g: {"f1": f1, "cpdag": 0.4, "edges": 5, "seconds": 1.0} for g, f1 in enumerate([0.5, 0.9])}
    ended = {"f1": 0.7, "cpdag": 0.6, "edges": 4, "seconds": 2.0}
    other: dict[int, skeletons.Record] = {0: ended, 1: {"f1": None}}
    cells = ["0.70 ± nan (1 of 2)", "+0.20 [+0.20, +0.20]", "0.60 ± nan", "4.0", "2.00"]
    assert skeletons._cell(other, first) == cells
    assert skeletons._cell({0: {"f1": None}}, first) == ["-"] * 5


def test_ours_gets_the_kinds_and_the_options(monkeypatch):
    calls = []

    class Learner:
        """Replaces the learner, and learns no edges."""

        def fit(self, frame):
            assert isinstance(frame, pd.DataFrame)
            self.network_ = type("Network", (), {"edges": [], "metadata": {}})
            self.score_ = float(len(calls))
            self.fit_seconds_ = 0.5
            return self

    def make(options, **fixed):
        calls.append((options, fixed))
        return Learner()

    monkeypatch.setattr(skeletons, "make_learner", make)
    monkeypatch.setattr(skeletons, "warm_up", lambda options: None)
    options = {"discretizer": "optimal", "shape": "marginal"}
    task = {"law": "mixed", "rows": 70, "graph": 2, "method": "m", "seconds": 3.0, "options": options}
    result = skeletons.ours({**task, "against_truth": True})["methods"]["m"]
    assert (result["f1"], result["edges"], result["seconds"]) == (0.0, 0, 0.5)
    # the second learner may only learn the true graph, and has the score 2
    assert result["excess"] == -1.0
    (given, fixed), (_, of_truth) = calls
    sample = skeletons.SAMPLES["mixed"](70, 2)
    rules = of_truth["knowledge"]
    assert list(rules.required_edges) == sample.edges
    assert len(rules.forbidden_edges) == 90 - len(sample.edges)
    assert skeletons.ours({**task, "against_truth": False})["methods"]["m"]["excess"] is None
    assert given == options
    assert list(fixed["kinds"].values()).count("discrete") == 4
    assert fixed["max_seconds"] == 3.0
