"""How the texts of options are read."""

import pytest

from gomea_bn.cli.commands.discretize import _read_options
from gomea_bn.cli.option_texts import read_candidates, read_kinds, read_pseudo_count
from gomea_bn.errors import GomeaBnError


def test_the_last_equals_sign_separates_a_column_from_its_kind():
    assert read_kinds(["a=b=discrete", " c = continuous "]) == {"a=b": "discrete", "c": "continuous"}


def test_the_first_equals_sign_separates_an_option_from_its_value():
    assert _read_options(["a=b=c", "n=3", 'names=["x"]']) == {"a": "b=c", "n": 3, "names": ["x"]}


def test_pseudo_counts_are_auto_or_at_least_0():
    assert [read_pseudo_count(text) for text in ("auto", "0", "2.5")] == ["auto", 0.0, 2.5]
    for text in ("-1", "inf", "nan", "many"):
        with pytest.raises(
            GomeaBnError, match="--pseudo-count must be auto or a finite number of at least 0"
        ):
            read_pseudo_count(text)


def test_candidates_are_auto_all_or_at_least_1():
    assert [read_candidates(text) for text in ("auto", "all", "1", "12")] == ["auto", None, 1, 12]
    for text in ("0", "-1", "1.5", "many"):
        with pytest.raises(
            GomeaBnError, match="--max-candidates must be auto, all or an integer of at least 1"
        ):
            read_candidates(text)
