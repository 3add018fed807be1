"""Processor seconds of fits by phase, and the first fit that is about as good as the best one."""

import pytest

from lab.scaling.scale import Cost, cost_of_size


def test_the_soonest_fit_is_nearly_as_good_as_the_best():
    limited = [(1.0, 0.9, -3.5), (2.0, 1.8, -3.01), (5.0, 2.5, -3.0)]
    assert Cost({"search": 3.0}, -3.0, limited).soonest() == (1.8, "limit 2")
    # a limited fit may be the best one
    assert Cost({"search": 3.0}, -3.1, limited).soonest() == (1.8, "limit 2")
    assert Cost({"search": 0.5, "checks": 0.3}, -3.02, limited).soonest() == (0.8, "no limit")
    assert Cost({"search": 3.0}, -1.0, limited).soonest() == (3.0, "no limit")


@pytest.mark.long
def test_seconds_of_phases_are_those_of_the_whole_fit():
    cost = cost_of_size(1_200, 4, [0.5])
    assert set(cost.seconds) == {
        "reading",
        "search",
        "shown cuts",
        "edges",
        "densities",
        "all rows",
        "checks",
    }
    assert min(cost.seconds["search"], cost.seconds["densities"], cost.seconds["checks"]) > 0
    ((limit, seconds, density),) = cost.limited
    assert limit == 0.5
    assert seconds > 0
    assert density == pytest.approx(cost.density, abs=1.0)
