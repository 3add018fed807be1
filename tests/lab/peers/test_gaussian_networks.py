"""Rows of Gaussian networks that are read from files."""

import json
from typing import Any

import numpy as np

from lab.peers import skeletons
from lab.peers.skeletons import gaussian_network


def test_regressions_of_the_rows_are_those_of_the_file(tmp_path, monkeypatch):
    model: dict[str, Any] = {
        "nodes": ["b", "c", "a"],
        "arcs": [["a", "b"], ["a", "c"], ["b", "c"]],
        "cpds": {
            "c": {
                "coefficients": {"(Intercept)": [3], "a": [-1.5], "b": [0.5]},
                "variance": [0.04],
                "parents": ["a", "b"],
            },
            "b": {"coefficients": {"(Intercept)": [-1], "a": [2.0]}, "variance": [1.0], "parents": ["a"]},
            "a": {"coefficients": {"(Intercept)": [5]}, "variance": [4.0], "parents": []},
        },
    }
    (tmp_path / "small.json").write_text(json.dumps(model))
    monkeypatch.setattr(skeletons, "published_model", lambda name: tmp_path / name)
    sample = gaussian_network(20_000, 0, "small")
    assert sample.edges == [("a", "b"), ("a", "c"), ("b", "c")]
    assert sample.kinds == dict.fromkeys(sample.frame, "continuous")
    for child, of_child in model["cpds"].items():
        columns = [sample.frame[parent] for parent in of_child["parents"]]
        design = np.column_stack([np.ones(20_000), *columns])
        found, residues, *_ = np.linalg.lstsq(design, sample.frame[child], rcond=None)
        np.testing.assert_allclose(found, np.ravel(list(of_child["coefficients"].values())), atol=0.1)
        np.testing.assert_allclose(residues / 20_000, of_child["variance"], rtol=0.05)
    assert {tuple(gaussian_network(2, seed, "small").frame) for seed in range(9)} > {tuple(sample.frame)}
