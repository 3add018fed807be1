"""The largest value of a function whose second derivative is known: Newton's method with a ridge and shorter steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

# expected gain of a step, in nats of a row, below which there are no more
LEAST_GAIN = 1e-9
_MOST_STEPS, _MOST_HALVINGS = 100, 40
# share of the mean information that keeps sums of rows regular: constants of all levels may move together
_RIDGE = 1e-9
# more than rounding takes from the information of sure rows
_LEAST_RIDGE = 1e-12

Parameters = NDArray[np.float64]
State = TypeVar("State")


def climb(
    value: Callable[[Parameters], tuple[float, State]],
    derivatives: Callable[[Parameters, State], tuple[Parameters, NDArray[np.float64]]],
    start: Parameters,
    moved: Callable[[Parameters], float],
    most_moved: float,
    *,
    n_ridges: int = 0,
    least_gain: float = LEAST_GAIN,
) -> tuple[Parameters, NDArray[np.float64]]:
    """Return the parameters where a mean log likelihood of rows is largest, and the information at the last step.

    Parameters
    ----------
    value : callable
        Returns the log likelihood at some parameters, and what `derivatives` needs to know of them.
    derivatives : callable
        Returns the gradient, (n,), and minus the second derivative, (n, n), which is never negative.
    start : ndarray of shape (n,), float64
        First parameters.
    moved : callable
        Returns how far a step moves the row that it moves most.
    most_moved : float
        The farthest that a step may move a row. A longer step is shortened, and one that lowers the likelihood halved.
    n_ridges : int
        How often the ridge becomes ten times as large before a long step is shortened: what sure rows leave open would
        move by any amount, and keep all else where it is.
    least_gain : float
        A step that promises half of it is no longer taken.
    """
    parameters = np.array(start, np.float64)
    present, state = value(parameters)
    information = np.empty(0)
    for _ in range(_MOST_STEPS):
        gradient, information = derivatives(parameters, state)
        ridge = _RIDGE * np.trace(information) / len(parameters) + _LEAST_RIDGE
        step = _solved(information, gradient, ridge)
        if gradient @ step < least_gain:
            break
        for _ in range(n_ridges):
            if moved(step) <= most_moved:
                break
            ridge *= 10
            step = _solved(information, gradient, ridge)
        step *= min(1.0, most_moved / max(moved(step), LEAST_GAIN))
        for _ in range(_MOST_HALVINGS):
            following, next_state = value(parameters + step)
            if following > present:
                break
            step /= 2
        else:
            break
        parameters, present, state = parameters + step, following, next_state
    return parameters, information


def _solved(information: NDArray[np.float64], gradient: Parameters, ridge: float) -> Parameters:
    return np.asarray(
        scipy.linalg.solve(information + ridge * np.eye(len(gradient)), gradient, assume_a="pos")
    )
