from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from front_examples import StandIn, small_frame, stand_in_learner

from gomea_bn import DiscretizedBayesNet


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Return 150 rows of a chain a -> b -> c and a column that depends on none; a module may have its own."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=150)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(scale=0.3, size=150)})
    frame["c"] = np.where(frame["b"] > 0, "high", "low")
    frame["d"] = rng.integers(0, 3, 150)
    return frame


@pytest.fixture(scope="module")
def network(rows: pd.DataFrame) -> DiscretizedBayesNet:
    """Return a network of the rows of a test module."""
    return DiscretizedBayesNet.from_table(
        rows, [("a", "b"), ("b", "c")], {"a": [-0.5, 0.5], "b": [-0.4, 0.6]}, pseudo_count="auto"
    )


@pytest.fixture
def table(rows: pd.DataFrame, tmp_path: Path) -> Path:
    """Return a file of the rows of a test module."""
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of the table that the example fronts are about."""
    path = tmp_path / "rows.csv"
    small_frame().to_csv(path, index=False)
    return path


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    """Return the learner of fronts that the command calls instead of the real one."""
    return stand_in_learner(monkeypatch)
