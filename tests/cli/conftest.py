from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from front_examples import StandIn, small_frame, stand_in_learner


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
