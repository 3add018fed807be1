"""Tables with a known effect: a treatment t, an outcome y and columns that both depend on, with their graph."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Values = NDArray[np.float64]
_N_TRUTH = 1_000_000


@dataclass(frozen=True)
class Law:
    """How the columns of a table come about.

    `columns` returns columns by name from a generator, a number of rows and, if it is not None, the value that the
    treatment is set to. Columns "t" and "y" are treatment and outcome; "p y" has the expected outcome. `ends` are the
    two values of the treatment that are compared, texts for a treatment of the levels "no" and "yes".
    """

    columns: Callable[[np.random.Generator, int, Any], dict[str, NDArray[Any]]]
    edges: str
    ends: tuple[Any, Any] = ("no", "yes")

    def sample(self, n_rows: int, seed: int) -> pd.DataFrame:
        """Return rows of the table."""
        columns = self.columns(np.random.default_rng([20_269, seed]), n_rows, None)
        return pd.DataFrame({name: column for name, column in columns.items() if name != "p y"})

    @property
    def graph(self) -> list[tuple[str, str]]:
        """The edges (parent, child)."""
        return [(edge[0], edge[1]) for edge in self.edges.split()]

    def truth(self) -> float:
        """Return the mean difference of the outcome between the ends, over a million rows."""
        start, end = (
            float(self.columns(np.random.default_rng(0), _N_TRUTH, value)["p y"].mean())
            for value in self.ends
        )
        return end - start


def _logistic(values: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-values)))


def _treatment(rng: np.random.Generator, log_odds: Values, value: str | None) -> NDArray[np.bool_]:
    drawn = rng.random(len(log_odds)) < _logistic(log_odds)
    return drawn if value is None else np.full(len(drawn), value == "yes")


def _with_outcome(
    rng: np.random.Generator, columns: dict[str, NDArray[Any]], log_odds: Values
) -> dict[str, NDArray[Any]]:
    expected = _logistic(log_odds)
    outcome = _words(rng.random(len(expected)) < expected)
    return {**columns, "y": outcome, "p y": expected}


def _words(is_true: NDArray[np.bool_]) -> NDArray[Any]:
    return np.where(is_true, "yes", "no")


def linear_log_odds(rng: np.random.Generator, n: int, value: str | None) -> dict[str, NDArray[Any]]:
    """Return a treatment and an outcome of two levels whose log odds are linear in three other columns."""
    z = rng.normal(size=n)
    w, s = rng.normal(size=n) + 0.5 * z, rng.random(n) < 0.4
    t = _treatment(rng, 0.9 * z - 0.6 * w + 0.8 * s - 0.2, value)
    columns = {"z": z, "w": w, "s": _words(s), "t": _words(t)}
    return _with_outcome(rng, columns, -1 + 2.2 * t + z + 0.5 * w + 0.5 * s)


def bent_log_odds(rng: np.random.Generator, n: int, value: str | None) -> dict[str, NDArray[Any]]:
    """Return a treatment and an outcome of two levels that both go with the square of a column."""
    z, w = rng.uniform(-2, 2, n), rng.exponential(1, n)
    t = _treatment(rng, 1.5 * (z**2 - 1.3) + 0.5 * (w - 1), value)
    log_odds = -0.8 + 1.4 * t + (z**2 - 1.3) - 0.6 * np.log(w + 0.2) + 0.5 * t * z
    return _with_outcome(rng, {"z": z, "w": w, "t": _words(t)}, log_odds)


def whole_numbers(rng: np.random.Generator, n: int, value: str | None) -> dict[str, NDArray[Any]]:
    """Return a treatment and an outcome of two levels that both go with a count and an age in years."""
    visits = rng.poisson(1.5, n)
    age = np.clip(rng.normal(60, 15, n), 18, 95).round()
    of_both = 0.5 * (np.minimum(visits, 4) - 1.5) + 0.04 * (age - 60)
    t = _treatment(rng, of_both, value)
    return _with_outcome(rng, {"v": visits, "a": age, "t": _words(t)}, -0.7 + 1.2 * t + 1.2 * of_both)


def waves(rng: np.random.Generator, n: int, value: str | None) -> dict[str, NDArray[Any]]:
    """Return a treatment of two levels and an outcome of numbers that both go with a wave of one column."""
    z, k = rng.normal(size=n), rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    t = _treatment(rng, 1.4 * np.sin(1.5 * z) + np.array([0, 0.6, -0.5, 1.0])[k], value)
    expected = 0.93 * t + 1.5 * np.sin(1.5 * z) + np.array([0, 1.0, -0.7, 0.4])[k] + 0.3 * z * t
    y = expected + rng.normal(size=n) * (0.7 + 0.4 * (k == 1))
    return {"z": z, "k": np.array(list("abcd"))[k], "t": _words(t), "y": y, "p y": expected}


def by_a_number(rng: np.random.Generator, n: int, value: str | None) -> dict[str, NDArray[Any]]:
    """Return a treatment of two levels that acts on an outcome of two levels by a number between them."""
    z = rng.normal(size=n)
    t = _treatment(rng, 1.2 * z, value)
    m = 1.0 * t + 0.5 * z + rng.normal(size=n)
    return _with_outcome(rng, {"z": z, "t": _words(t), "m": m}, -0.5 + m + 0.7 * z)


def doses(rng: np.random.Generator, n: int, value: float | None) -> dict[str, NDArray[Any]]:
    """Return a treatment and an outcome of numbers, of which the outcome bends with another column."""
    z, g = rng.normal(size=n), rng.random(n) < 0.5
    t = 10 + 2 * (0.8 * z + 0.6 * g + 0.8 * rng.normal(size=n)) if value is None else np.full(n, value)
    expected = 5 + 0.6 * (t - 10) + z + 0.5 * z**2 + 0.8 * g
    return {"z": z, "g": _words(g), "t": t, "y": expected + rng.normal(size=n), "p y": expected}


def skewed_doses(rng: np.random.Generator, n: int, value: float | None) -> dict[str, NDArray[Any]]:
    """Return a treatment of skewed numbers and an outcome of two levels whose log odds level off."""
    z, w = rng.normal(size=n), rng.uniform(-1, 1, n)
    t = np.exp(0.5 * (0.8 * z + w + 0.8 * rng.normal(size=n))) if value is None else np.full(n, value)
    log_odds = -0.5 + np.tanh(np.log(t) / 0.5) + 0.8 * z + 0.6 * w
    return _with_outcome(rng, {"z": z, "w": w, "t": t}, log_odds)


LAWS: dict[str, Law] = {
    "linear log odds": Law(linear_log_odds, "zw zt wt st zy wy sy ty"),
    "bent log odds": Law(bent_log_odds, "zt wt zy wy ty"),
    "whole numbers": Law(whole_numbers, "vt at vy ay ty"),
    "waves": Law(waves, "zt kt zy ky ty"),
    "by a number": Law(by_a_number, "zt zm tm zy my"),
    "doses": Law(doses, "zt gt zy gy ty", (9.0, 12.0)),
    "skewed doses": Law(skewed_doses, "zt wt zy wy ty", (0.65, 1.6)),
}
"""Laws by name."""
