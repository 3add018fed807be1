"""What several searches may take together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn.runtime.limits import Budget, Limits


def test_shares_are_of_what_is_left() -> None:
    budget = Budget(Limits(10.0, 1000, 40, patience=3.0)).spend(2.0, 100, 10).spend(2.0, 100)
    assert budget.share() == Limits(6.0, 800, 30, patience=3.0)
    assert budget.share(0.5) == Limits(3.0, 400, 15, patience=3.0)


@pytest.mark.parametrize("spent", [(10.0, 0, 0), (0.0, 1000, 0), (0.0, 0, 40)])
def test_one_limit_that_is_met_spends_the_budget(spent: tuple[float, int, int]) -> None:
    budget = Budget(Limits(10.0, 1000, 40))
    assert not budget.is_spent
    assert budget.spend(*spent).is_spent


def test_there_is_always_something_left() -> None:
    budget = Budget(Limits(10.0, 5, 5)).spend(20.0, 50, 50)
    assert budget.share(least_seconds=0.25) == Limits(0.25, 1, 1)


def test_limits_that_are_not_set_stay_so() -> None:
    assert Budget(Limits(patience=2.0)).spend(5.0, 7, 9).share(0.1) == Limits(patience=2.0)


@given(st.integers(1, 10**6), st.integers(1, 12))
def test_equal_shares_of_the_rest_never_exceed_the_whole(evaluations: int, n: int) -> None:
    budget = Budget(Limits(max_evaluations=evaluations))
    total = 0
    for k in range(n):
        if budget.is_spent:
            break
        share = budget.share(1 / (n - k)).max_evaluations
        assert share is not None
        total += share
        budget = budget.spend(0.0, share)
    assert total <= evaluations
