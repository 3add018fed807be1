"""Errors with advice: their text, their copies, and how a command spells them; options; counts and lists as text."""

import copy
import math
import pickle
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gomea_bn
from gomea_bn import (
    GOMEA,
    MOGOMEA,
    RVGOMEA,
    BayesNetClassifier,
    BayesNetEnsemble,
    BayesNetLearner,
    BayesNetRegressor,
    GomeaBnError,
    GomeaBnWarning,
    ParetoBayesNetLearner,
    read_table,
)
from gomea_bn.errors import Option, Setting, check_integer, check_number
from gomea_bn.texts import counted, listed, percent


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (Setting("max_levels"), "raise max_levels"),
        (Setting("missing", "drop"), 'pass missing="drop"'),
        (Setting("kinds", "continuous", "a b"), "pass kinds={'a b': 'continuous'}"),
    ],
)
def test_a_setting_is_spelled_as_an_argument(setting, text):
    assert str(setting) == text


def test_advice_is_the_last_sentence():
    assert str(GomeaBnError("It is wrong.")) == "It is wrong."
    assert str(GomeaBnError("It is wrong.", ["drop it"])) == "It is wrong. Drop it."
    advice: list[str | Setting] = ["drop it", Setting("max_levels"), Setting("missing", "drop")]
    assert str(GomeaBnError("Wrong.", advice)) == 'Wrong. Drop it, raise max_levels, or pass missing="drop".'
    assert (
        GomeaBnError("Wrong.", advice[1:]).text(lambda setting: f"--{setting.name}")
        == "Wrong. --max_levels, or --missing."
    )


def test_an_error_survives_pickling_and_copying():
    for error in (GomeaBnError("It is wrong."), GomeaBnError("It is wrong.", [Setting("missing", "drop")])):
        for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(other) is GomeaBnError
            assert (str(other), other.args) == (str(error), error.args)
            assert other.text(lambda setting: setting.name) == error.text(lambda setting: setting.name)


def test_a_caller_spells_the_options_of_a_message():
    with pytest.raises(GomeaBnError) as caught:
        check_integer("max_bins", 1, 2)
    assert str(caught.value) == "max_bins must be an integer of at least 2, got 1."
    assert caught.value.text(lambda option: f"--{option.name}").startswith("--max_bins must be")
    for kind in (GomeaBnError, GomeaBnWarning):
        message = kind(["Leave ", Option("method", "dp"), " out."], [Setting("max_bins")])
        assert str(message) == "Leave method='dp' out. Raise max_bins."
        assert str(pickle.loads(pickle.dumps(message))) == str(message)


@pytest.mark.parametrize("value", [1, 3])
def test_an_integer_may_lie_at_both_ends_of_its_range(value):
    check_integer("n", value, 1, 3)


@pytest.mark.parametrize("value", [0, 4, True, 2.0, None])
def test_another_integer_is_refused(value):
    with pytest.raises(GomeaBnError, match="n must be an integer from 1 to 3, got"):
        check_integer("n", value, 1, 3)


@pytest.mark.parametrize(
    ("value", "excluded"),
    [(0.0, {}), (1.0, {}), (1.0, {"above": True}), (0.0, {"below": True}), (None, {"optional": True})],
)
def test_a_number_may_lie_at_an_end_of_its_range_that_is_not_excluded(value, excluded):
    check_number("x", value, 0, 1, **excluded)


@pytest.mark.parametrize(
    ("value", "excluded", "limits"),
    [
        (0.0, {"above": True}, "above 0 and at most 1"),
        (1.0, {"below": True}, "of at least 0 and below 1"),
        (math.nan, {}, "of at least 0 and at most 1"),
        (None, {}, "of at least 0 and at most 1"),
    ],
)
def test_another_number_is_refused_with_the_range(value, excluded, limits):
    with pytest.raises(GomeaBnError, match=f"x must be a finite number {limits}, got"):
        check_number("x", value, 0, 1, **excluded)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_number_is_refused_where_there_is_no_range(value):
    with pytest.raises(GomeaBnError, match="x must be a finite number, got"):
        check_number("x", value)


def test_a_noun_is_plural_unless_there_is_one():
    assert [counted(n, "edge") for n in (0, 1, 2)] == ["0 edges", "1 edge", "2 edges"]
    assert counted(1, "probability", "probabilities") == "1 probability"
    assert counted(1234, "probability", "probabilities") == "1,234 probabilities"


def test_only_items_beyond_the_limit_are_counted():
    assert listed([]) == ""
    assert listed(range(3)) == listed(range(3), most=3) == "0, 1, 2"
    assert listed(range(5), most=3) == "0, 1, 2 and 2 more"


def test_small_shares_say_how_small():
    shares = (0, 0.0004, 0.0005, 0.0312, 0.0996, 0.5, 1)
    assert [percent(share) for share in shares] == [
        "0 %", "below 0.1 %", "0.1 %", "3.1 %", "10 %", "50 %", "100 %"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "wrong", "right"),
    [
        (BayesNetLearner, "max_evaluation", "max_evaluations"),
        (ParetoBayesNetLearner, "max_evaluation", "max_evaluations"),
        (BayesNetEnsemble, "n_network", "n_networks"),
        (BayesNetClassifier, "n_network", "n_networks"),
        (BayesNetRegressor, "structures", "structure"),
        (GOMEA, "local_searches", "local_search"),
        (MOGOMEA, "archive", "archive_size"),
        (RVGOMEA, "base_populations", "base_population"),
        (BayesNetLearner, "edge_costs", "edge_cost"),
    ],
)
def test_an_unknown_parameter_is_named_with_its_class_and_the_nearest_one(owner, wrong, right):
    with pytest.raises(GomeaBnError, match=rf"^{owner.__name__} has no parameter '{wrong}'\. .*'{right}'\?"):
        owner(**{wrong: 3})


def test_subclasses_may_have_parameters_of_their_own():
    class Named(BayesNetLearner):
        def __init__(self, label: str, **options: Any) -> None:
            super().__init__(**options)
            self.label = label

    class NamedSearch(GOMEA):
        def __init__(self, label: str, **options: Any) -> None:
            super().__init__(**options)

    assert Named("a", max_bins=4).max_bins == 4
    assert NamedSearch("a", growth=3).growth == 3
    for owner in (Named, NamedSearch):
        with pytest.raises(GomeaBnError, match=f"{owner.__name__} has no parameter 'max_bin'"):
            owner("a", max_bin=4)


def test_parameters_that_resemble_none_are_answered_by_all():
    with pytest.raises(GomeaBnError, match=r"GOMEA has no parameter 'zzz'\. It has "):
        GOMEA(zzz=3)  # type: ignore[call-arg]


def test_the_package_s_warning_is_a_public_name():
    with pytest.warns(gomea_bn.GomeaBnWarning, match="constant"):
        read_table(pd.DataFrame({"x": range(12), "y": "a", "z": np.arange(12) / 7}))


_OF_PACKAGE = """
from contextlib import contextmanager
from gomea_bn.errors import give_warning

@contextmanager
def block():
    yield
    give_warning("Few rows.")

def deep():
    with block():
        pass

def call(function):
    return function()

def old():
    give_warning("Old.", DeprecationWarning)
"""


@pytest.fixture
def of_package():
    """Return functions as a module of the package would have them."""
    scope: dict[str, Any] = {"__name__": "gomea_bn.learning.some_module"}
    exec(_OF_PACKAGE, scope)
    return SimpleNamespace(**scope)


def test_a_warning_is_at_the_line_of_the_user_however_deep_its_cause(of_package):
    with pytest.warns(GomeaBnWarning, match="Few rows") as given:
        of_package.call(of_package.deep)
    assert (given[0].filename, given[0].lineno) == (__file__, line_with("of_package.call(of_package.deep)"))


def test_a_warning_of_a_callback_is_at_the_line_of_the_callback(of_package):
    with pytest.warns(DeprecationWarning, match="Old") as given:
        of_package.call(
            lambda: of_package.old(),
        )
    assert (given[0].filename, given[0].lineno) == (__file__, line_with("lambda: of_package.old(),"))


def line_with(text: str) -> int:
    """Return the number of the line with a text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_a_warning_of_one_line_is_shown_once(of_package):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("default")
        for _ in range(3):
            of_package.old()
    assert len(given) == 1
