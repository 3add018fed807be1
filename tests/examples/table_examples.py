"""Small tables: rows of truncated Gaussians, and patients."""

import numpy as np
import pandas as pd


def truncated_gaussians(seed, n, n_configurations=4, borders=(0.0, 1.0, 2.5, 3.0, 5.0), spread=4.0):
    """Rows of truncated Gaussians between borders, weighed by a configuration; values and codes."""
    rng = np.random.default_rng(seed)
    edges = np.asarray(borders)
    codes = rng.integers(0, n_configurations, n)
    weights = rng.dirichlet(np.ones(len(edges) - 1), n_configurations)
    k = (np.cumsum(weights, axis=1)[codes] < rng.random(n)[:, None]).sum(axis=1)
    low, high = edges[k], edges[k + 1]
    values = np.full(n, np.inf)
    while (outside := (values <= low) | (values >= high)).any():
        values[outside] = rng.normal((low + high) / 2, (high - low) / spread)[outside]
    return values, codes


def patients(n=60, seed=0):
    """Return a frame with two continuous and two discrete columns."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n).round(1)
    return pd.DataFrame(
        {
            "age": age,
            "smoker": rng.choice(["no", "yes"], n),
            "bp": age + rng.normal(80, 15, n).round(1),
            "stage": rng.integers(1, 4, n),
        }
    )
