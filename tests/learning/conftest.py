import numpy as np
import pandas as pd
import pytest

from gomea_bn import ExpertNetwork


@pytest.fixture(scope="module")
def mixed():
    """Return 240 rows of a chain a -> b -> c with a level column, an integer column and noise."""
    rng = np.random.default_rng(7)
    a = rng.normal(size=240)
    b = a + rng.normal(scale=0.4, size=240)
    frame = pd.DataFrame({"a": a, "b": b, "c": np.where(b > 0, "high", "low")})
    frame["d"] = rng.integers(0, 4, 240)
    frame["e"] = np.exp(rng.normal(size=240)) * 1000
    return frame


@pytest.fixture(scope="module")
def expert():
    """Return an expert who is right about one edge, wrong about another, and silent about two columns."""
    return ExpertNetwork.from_edges([("a", "b"), ("d", "a")], cut_points={"a": [-0.5, 0.5]})
