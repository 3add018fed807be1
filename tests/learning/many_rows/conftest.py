"""Tables, a learner and a network of all rows that the tests of tables in pieces share."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner
from gomea_bn.simulation import random_network


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    rows = random_network(5, kind="random", random_state=5).sample(6_000, random_state=1)
    rows["level"] = np.where(rows["X2"] > rows["X2"].median(), "high", "low")
    return rows


@pytest.fixture(scope="session")
def learner() -> BayesNetLearner:
    return BayesNetLearner(
        # the discrete columns of the frame would follow logits
        curves="none",
        max_seconds=None,
        max_evaluations=1_500,
        sample_rows=1_000,
        random_state=2,
    )


@pytest.fixture(scope="session")
def fit(frame, learner):
    return replace(learner).fit([frame.iloc[:2_500], frame.iloc[2_500:2_501], frame.iloc[2_501:]])


@pytest.fixture(scope="session")
def letters() -> pd.DataFrame:
    generator = np.random.default_rng(3)
    a = generator.integers(0, 3, 4_000)
    b = np.where(generator.random(4_000) < 0.8, a, 0)
    c = np.where(generator.random(4_000) < 0.6, b, 1)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": generator.integers(0, 2, 4_000)}).astype(str)
