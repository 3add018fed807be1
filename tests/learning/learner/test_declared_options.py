"""Every option of the learners is declared once: signature, command, documentation and error agree with that."""

import inspect
import re
import warnings
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import invoke
from learning_inside import (
    LearnerParameters,
    LearningOptions,
    automatic_bins,
    automatic_indegree,
)
from typer.main import get_command

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    GomeaBnError,
    GomeaBnWarning,
    ParetoBayesNetLearner,
)
from gomea_bn.cli import main
from gomea_bn.parameters import Choice, Declaration, Flag, Number, WholeNumber, declarations

LEARNERS = {"learn": BayesNetLearner, "front": ParetoBayesNetLearner}
DECLARED = [
    (command, declaration)
    for command, learner in LEARNERS.items()
    for declaration in declarations(learner).values()
]
GROUP: Any = get_command(main)
COMMANDS = {name: GROUP.get_command(None, name) for name in ("learn", "front")}


ROWS = pd.DataFrame({"a": np.random.default_rng(0).normal(size=24), "b": list("pq") * 12})
QUICK: dict[str, Any] = {"max_seconds": None, "max_evaluations": 1, "random_state": 0}


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        (learner, name)
        for learner in (BayesNetLearner, ParetoBayesNetLearner, BayesNetEnsemble)
        for name in inspect.signature(learner).parameters
    ],
)
def test_values_of_other_types_are_refused_in_the_package_s_words(learner: Any, name: str) -> None:
    options: dict[str, Any] = QUICK
    if learner is BayesNetEnsemble:
        options = {"learner": BayesNetLearner(**QUICK), "n_networks": 1}
    for value in (np.arange(2), ROWS, 10**400, object(), 1j, [1], "nothing", 3.5):
        # some of them are values of some options
        with warnings.catch_warnings(), suppress(GomeaBnError):
            warnings.simplefilter("ignore", GomeaBnWarning)
            learner(**{**options, name: value}).fit(ROWS)


def named(case: Any) -> str:
    return case if isinstance(case, str) else case.name


def wrong_value(check: Choice | Flag | WholeNumber | Number) -> Any:
    return wrong_values(check)[0]


def wrong_values(check: Choice | Flag | WholeNumber | Number) -> list[Any]:
    """Return values that a check must refuse: beyond and at its ends, of other types, and words of no meaning."""
    others = ["neither", float("nan"), [], np.arange(2)] + (
        [] if getattr(check, "none", None) is not None else [None]
    )
    if isinstance(check, (Choice, Flag)):
        return [*others, 2]
    below = check.least - 1 if check.least > 0 or isinstance(check, WholeNumber) else -1.0
    wrong = [below, *others, True, "3", 1j, 10**400]
    if check.most < inf:
        wrong.append(check.most * 2 + 1)
    if isinstance(check, WholeNumber):
        wrong.append(check.least + 0.5)
    if check.above:
        wrong.append(check.least)
    if check.none != "0":
        wrong.append(inf)
    return wrong


@pytest.mark.parametrize(("command", "declaration"), DECLARED, ids=named)
def test_signature_command_documentation_and_error_agree(command: str, declaration: Declaration) -> None:
    name, check, learner = declaration.name, declaration.check, LEARNERS[command]
    assert inspect.signature(learner).parameters[name].default == declaration.default
    # the docstring has an entry of its own, or names the learner whose parameter it is
    documented = f"{inspect.getdoc(learner)}"
    assert re.search(rf"^(\w+, )*{name}(, \w+)*( :|$)", documented, re.MULTILINE), name
    if check is not None:
        check(name, declaration.default)
        for wrong in wrong_values(check):
            with pytest.raises(GomeaBnError, match=f"^{name} must be"):
                learner(**{**QUICK, name: wrong}).fit(ROWS)
    spelled = f"--{declaration.command or name.replace('_', '-')}"
    options = {option: p for p in COMMANDS[command].params for option in p.opts}
    assert (spelled in options) == bool(declaration.help)
    if declaration.help:
        assert options[spelled].help == declaration.help
        if check is not None:
            result = invoke(command, "rows.csv", f"{spelled}={wrong_value(check)}")
            assert result.exit_code == 2
            assert spelled in result.stderr


@pytest.mark.parametrize("command", LEARNERS)
def test_a_command_without_options_means_the_defaults(command: str, monkeypatch, tmp_path) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(
        f"gomea_bn.cli.commands.{command}._{command}", lambda learner, *rest, **options: seen.append(learner)
    )
    assert invoke(command, tmp_path / "rows.csv").exit_code == 0
    defaults = {name: declared.default for name, declared in declarations(LEARNERS[command]).items()}
    assert {name: seen[0].get_params(deep=False)[name] for name in defaults} == defaults


def test_an_option_of_fit_is_refused_with_its_place() -> None:
    of_fit: dict[str, Any] = {"start": None}
    with pytest.raises(GomeaBnError, match=r"It is one of fit; call fit\(rows, start=\.\.\.\)\."):
        BayesNetLearner(**of_fit)
    of_networks: dict[str, Any] = {"penalty": "aic"}
    with pytest.raises(GomeaBnError, match="has no parameter 'penalty'"):
        ParetoBayesNetLearner(**of_networks)


def test_options_reach_the_search() -> None:
    learner = BayesNetLearner(min_bin_count=5).set_params(penalty="aic")
    assert LearningOptions.of(learner).penalty == "aic"
    assert LearningOptions.of(learner).min_bin_count == 5
    frame = pd.DataFrame(
        {"x": [value / 7 for value in range(120)], "y": [value % 11 / 3 for value in range(120)]}
    )
    quick: dict[str, Any] = {"max_evaluations": 60, "random_state": 1, "density": "bins"}
    network = BayesNetLearner(min_bin_count=30, cut_cost=0.0, **quick).fit(frame).network_
    assert all(len(cuts) <= 3 for cuts in network.cut_points.values())


@pytest.mark.parametrize(
    ("n_rows", "n_bins"),
    [(10, 10), (200, 10), (1_000, 15), (10_000, 32), (27_000, 45), (50_000, 55), (64_000, 60), (10**7, 60)],
)
def test_bins_grow_with_the_cube_root_of_the_rows(n_rows: int, n_bins: int) -> None:
    assert automatic_bins(n_rows) == n_bins


@pytest.mark.parametrize(
    ("n_rows", "n_parents"),
    [(10, 3), (32, 3), (64, 4), (500, 6), (2_000, 8), (8_192, 11), (16_384, 12), (10**7, 12)],
)
def test_parents_grow_with_the_logarithm_of_the_rows(n_rows: int, n_parents: int) -> None:
    assert automatic_indegree(n_rows) == n_parents


def test_only_auto_depends_on_the_rows() -> None:
    automatic = LearningOptions.of(LearnerParameters(), 2_000)
    assert (automatic.max_bins, automatic.max_indegree) == (19, 8)
    fixed = LearningOptions.of(LearnerParameters(max_bins=7, max_indegree=None), 2_000)
    assert (fixed.max_bins, fixed.max_indegree) == (7, None)
