"""How runs improved: the best value so far, or the archive's size, against evaluations or seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gomea_bn.errors import GomeaBnError
from gomea_bn.plots.axes import BLUE, INK, ORANGE, new_axes, plain_legend, plain_text
from gomea_bn.runtime.limits import FrontHistoryEntry, HistoryEntry

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["History", "Run", "history_steps", "plot_history"]


class FittedLearner(Protocol):
    """A learner after `fit`: history, evaluations and seconds of search."""

    history_: list[HistoryEntry] | list[FrontHistoryEntry]
    n_eval_: int
    fit_seconds_: float


class FinishedSearch(Protocol):
    """What a search returned: its history; evaluations and seconds are used where it has them."""

    @property
    def history(self) -> list[HistoryEntry] | list[FrontHistoryEntry]:
        """Improvements in order."""


Entry: TypeAlias = HistoryEntry | FrontHistoryEntry
Run: TypeAlias = FittedLearner | FinishedSearch | Sequence[HistoryEntry] | Sequence[FrontHistoryEntry]
History: TypeAlias = Run | Sequence[Run] | Mapping[str, Run]

_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", INK, "#56b4e9", "#e69f00")  # Okabe & Ito
_DASHES: tuple[tuple[float, Sequence[float]], ...] = (
    (0, ()),
    (0, (5, 2)),
    (0, (6, 2, 1.5, 2)),
    (0, (1.2, 1.6)),
)
_LABELS = {
    "score": "Best score [nats], higher is better",
    "objective": "Best objective, lower is better",
    "archive size": "Archive size [solutions that no other dominates]",
}
_LONGEST_LABEL = 40  # characters
_DECADES = 300.0  # ratio of the largest to the smallest value up to which 1, 2 and 5 are all marked


def history_steps(history: History) -> pd.DataFrame:
    """Return the steps that `plot_history` draws: every improvement of every run, and where the run ended.

    Parameters
    ----------
    history : learner, result, list of HistoryEntry or FrontHistoryEntry, or a sequence or mapping of these
        One run or several: fitted learners, what searches return, or their histories. A mapping's keys name
        the runs, "run 1", "run 2", ... otherwise.

    Returns
    -------
    DataFrame
        Columns: run, n_eval, seconds, value, quantity. The value is the best so far, quantity says of what:
        "score" (higher is better) if all runs are of learners that maximise one, else "objective". Runs for
        several objectives have no best value: theirs is the number of solutions in the archive, "archive size",
        after every generation that added to it. A last row repeats the value at the end of a run, where the run
        knows it.

    Raises
    ------
    GomeaBnError
        For a run without a history, as of a learner that was not fitted, and for runs for one objective beside
        runs for several.
    """
    import pandas as pd

    runs = _named_runs(history)
    found = {name: _entries(run, name) for name, run in runs.items()}
    quantity = _quantity(runs, found)
    rows: list[tuple[str, int, float, float]] = []
    for name, entries in found.items():
        values = [_value(entry, quantity) for entry in entries]
        rows += [
            (name, entry.n_eval, entry.seconds, value) for entry, value in zip(entries, values, strict=True)
        ]
        n_eval, seconds = _end(runs[name], entries[-1])
        if n_eval > entries[-1].n_eval or seconds > entries[-1].seconds:
            rows.append((name, n_eval, seconds, values[-1]))
    frame = pd.DataFrame(rows, columns=["run", "n_eval", "seconds", "value"])
    frame["quantity"] = quantity
    return frame


def plot_history(history: History, *, x: str = "evaluations", ax: Axes | None = None) -> Axes:
    """Draw the best score or objective so far as a step per improvement, and return the axes.

    Of runs for several objectives the number of solutions in the archive is drawn, and the axis says so. Several
    runs are drawn over each other, named in a legend unless they are more than seven without names. The
    horizontal scale is logarithmic. `history_steps` returns what is drawn.

    Parameters
    ----------
    history : learner, result, list of HistoryEntry or FrontHistoryEntry, or a sequence or mapping of these
        As in `history_steps`.
    x : {"evaluations", "seconds"}
        What the horizontal axis counts.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Raises
    ------
    GomeaBnError
        For another `x`, or as in `history_steps`.
    """
    if x not in ("evaluations", "seconds"):
        raise GomeaBnError(f"x must be 'evaluations' or 'seconds', got {x!r}.")
    steps = history_steps(history)
    if ax is None:
        ax = new_axes((6.4, 3.8))
    runs = [(str(name), run) for name, run in steps.groupby("run", sort=False)]
    column = "n_eval" if x == "evaluations" else "seconds"
    alike = len(runs) > len(_COLOURS) and not isinstance(history, Mapping)
    lines: list[Line2D] = []
    for place, (_, run) in enumerate(runs):
        style = 0 if alike else place
        lines += ax.plot(
            run[column],
            run["value"],
            drawstyle="steps-post",
            color=_COLOURS[style % len(_COLOURS)],
            linestyle=_DASHES[style % len(_DASHES)],
            linewidth=1.0 if alike else 1.6,
            alpha=0.6 if alike else 1.0,
        )
    _scale(ax, steps[column])
    ax.set_xlabel("Evaluations" if x == "evaluations" else "Time [seconds]")
    ax.set_ylabel(_LABELS[str(steps["quantity"].iloc[0])])
    ax.spines[["top", "right"]].set_visible(False)
    if isinstance(history, Mapping) or 1 < len(runs) <= len(_COLOURS):
        plain_legend(ax, lines, [plain_text(name, _LONGEST_LABEL) for name, _ in runs], frameon=False)
    return ax


def _scale(ax: Axes, values: pd.Series[float]) -> None:
    """Make the horizontal scale logarithmic, with plain numbers that do not run into each other."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if not (values > 0).all():
        return
    ax.set_xscale("log")
    subs = (1.0, 2.0, 5.0) if values.max() < _DECADES * values.min() else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _named_runs(history: Any) -> dict[str, Any]:
    """Return the runs by name."""
    if isinstance(history, Mapping):
        runs = {str(name): run for name, run in history.items()}
    elif (
        isinstance(history, Sequence)
        and history
        and not isinstance(history[0], (HistoryEntry, FrontHistoryEntry))
    ):
        runs = {f"run {number}": run for number, run in enumerate(history, start=1)}
    else:
        runs = {"run 1": history}
    if not runs:
        raise GomeaBnError("A plot of histories needs at least one run, got none.")
    return runs


def _entries(run: Any, name: str) -> list[Any]:
    """Return the improvements of one run, at least one and all of one kind."""
    found = run if isinstance(run, Sequence) else getattr(run, "history_", getattr(run, "history", None))
    kinds = (HistoryEntry, FrontHistoryEntry)
    if not isinstance(found, Sequence) or not any(
        all(isinstance(entry, kind) for entry in found) for kind in kinds
    ):
        unfitted = hasattr(run, "fit") and found is None
        raise GomeaBnError(
            f"'{name}' must be a fitted learner, a search's result, or a list of HistoryEntry or of "
            f"FrontHistoryEntry, got {type(run).__name__}" + ("; call fit(frame) first." if unfitted else ".")
        )
    if not found:
        raise GomeaBnError(f"The history of '{name}' is empty: the search had found nothing when it ended.")
    return list(found)


def _quantity(runs: Mapping[str, Any], found: Mapping[str, list[Any]]) -> str:
    """Return what the runs' values are, or refuse runs whose values are not of one kind."""
    several = {name for name, entries in found.items() if isinstance(entries[0], FrontHistoryEntry)}
    if not several:
        return "score" if all(hasattr(run, "score_") for run in runs.values()) else "objective"
    single = next((name for name in found if name not in several), None)
    if single is not None:
        raise GomeaBnError(
            f"'{single}' is a run for one objective and '{min(several)}' one for several, whose values cannot be "
            "compared; draw them apart."
        )
    return "archive size"


def _value(entry: Any, quantity: str) -> float:
    """Return what is drawn of an entry."""
    if quantity == "archive size":
        return float(entry.archive_size)
    return -float(entry.objective) if quantity == "score" else float(entry.objective)


def _end(run: Any, last: Entry) -> tuple[int, float]:
    """Return evaluations and seconds at the end of a run, or at its last improvement."""
    n_eval = getattr(run, "n_eval_", getattr(run, "n_eval", last.n_eval))
    seconds = getattr(run, "fit_seconds_", getattr(run, "exec_time", last.seconds))
    return int(n_eval), float(seconds)
