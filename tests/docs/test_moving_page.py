"""The page for users of 0.2: its code runs, options that moved warn, and names that are gone are refused."""

import re
from pathlib import Path
from typing import Any

import pytest

import gomea_bn
from gomea_bn import BayesNetLearner, GomeaBnError
from gomea_bn.learning import Averaged, EdgeSearch, OptimalCuts, Scoring

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "moving.md").read_text(encoding="utf-8")
MOVED: dict[str, tuple[str, Any, Any]] = {
    "penalty": ("scoring_method", Scoring(penalty="aic"), "aic"),
    "prior": ("scoring_method", Scoring(prior="bdeu"), "bdeu"),
    "equivalent_sample_size": ("scoring_method", Scoring(equivalent_sample_size=5.0), 5.0),
    "cut_cost": ("scoring_method", Scoring(cut_cost=1.0), 1.0),
    "edge_cost": ("scoring_method", Scoring(edge_cost=0.0), 0.0),
    "min_width": ("discretizer", OptimalCuts(min_width=0.01), 0.01),
    "min_bin_count": ("discretizer", OptimalCuts(min_bin_count=20), 20),
    "line": ("density", Averaged(line="none"), "none"),
    "max_candidates": ("edge_search", EdgeSearch(max_candidates=20), 20),
    "initial_indegree": ("edge_search", EdgeSearch(initial_indegree=2.0), 2.0),
    "random_repair": ("edge_search", EdgeSearch(random_repair=False), False),
}


def section(title):
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_code_makes_the_learner_of_the_former_options():
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    options: dict[str, Any] = {"edge_cost": 0.5, "min_bin_count": 20, "max_candidates": 20}
    with pytest.warns(DeprecationWarning, match="is now"):
        former = BayesNetLearner(scoring_method="density-bd", **options)
    assert former.get_params(deep=False) == names["learner"].get_params(deep=False)


def test_every_option_of_the_table_warns_and_stands_in_its_object():
    first_cells = re.findall(r"^\| (`.*?) \|", section("Options that stand in objects"), flags=re.MULTILINE)
    assert set(re.findall(r"`([a-z_]+)`", " ".join(first_cells))) == set(MOVED)
    for name, (parameter, held, value) in MOVED.items():
        given: dict[str, Any] = {name: value}
        with pytest.warns(DeprecationWarning, match=name):
            learner = BayesNetLearner(**given)
        assert getattr(learner, parameter) == held


def test_names_that_warn_and_names_that_are_gone():
    warning, gone = section("Names that warn"), section("Names that are gone")
    assert "`AveragedBayesNet`" in warning
    with pytest.warns(DeprecationWarning, match="AveragedBayesNet is now"):
        assert gomea_bn.AveragedBayesNet is gomea_bn.DiscretizedBayesNet
    for name in ("seed", "n_threads", "width_floor"):
        assert f"`{name}`" in gone
        gone_option: dict[str, Any] = {name: 1}
        with pytest.raises((GomeaBnError, TypeError), match=name):
            BayesNetLearner(**gone_option)
