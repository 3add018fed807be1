"""The plot of runs: the best value so far, or the size of the archive, by evaluations or seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gomea_bn.errors import GomeaBnError, check_choice
from gomea_bn.lazy import pd
from gomea_bn.plots.axes import BLUE, INK, ORANGE, new_axes, plain_legend, plain_text
from gomea_bn.runtime.limits import FrontHistoryEntry, HistoryEntry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


# a fitted learner with `history_`, the result of a search with `history`, or one of these lists
Run: TypeAlias = Any
History: TypeAlias = Run | Sequence[Run] | Mapping[str, Run]

# colours of Okabe & Ito
_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", INK, "#56b4e9", "#e69f00")
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


def history_steps(history: History) -> pd.DataFrame:
    """Return the data of `plot_history`: every improvement and the end of every run.

    Parameters
    ----------
    history : learner, result, list of HistoryEntry or FrontHistoryEntry, or a sequence or mapping of these
        One run or several: fitted learners, results of searches, or their histories. The keys of a mapping are the
        names of the runs; other runs are called "run 1", "run 2", ...

    Returns
    -------
    DataFrame
        Columns run, n_eval, seconds, value and quantity. The value is the best so far. The quantity is "score" (higher
        is better) if all runs are learners with a score, otherwise "objective". The value of runs with several
        objectives is the number of solutions in the archive after every generation that changed it, with the quantity
        "archive size". A last row repeats the value at the end of a run, if that is known.

    Raises
    ------
    GomeaBnError
        For a run without a history, for example a learner that is not fitted, and for runs with one objective together
        with runs with several.
    """
    runs = _named_runs(history)
    entries_of = {name: _entries(run, name) for name, run in runs.items()}
    quantity = _quantity(runs, entries_of)
    rows: list[tuple[str, int, float, float]] = []
    for name, entries in entries_of.items():
        rows += [(name, entry.n_eval, entry.seconds, _value(entry, quantity)) for entry in entries]
        run, last = runs[name], entries[-1]
        # a run without these ended at its last improvement, as far as is known
        n_eval = int(getattr(run, "n_eval_", getattr(run, "n_eval", last.n_eval)))
        seconds = float(getattr(run, "fit_seconds_", getattr(run, "exec_time", last.seconds)))
        if n_eval > last.n_eval or seconds > last.seconds:
            rows.append((name, n_eval, seconds, rows[-1][3]))
    frame = pd.DataFrame(rows, columns=["run", "n_eval", "seconds", "value"])
    frame["quantity"] = quantity
    return frame


def plot_history(history: History, *, x: str = "evaluations", ax: Axes | None = None) -> Axes:
    """Draw the best score or objective so far, with a step per improvement, and return the axes.

    Runs with several objectives are drawn by the number of solutions in the archive. Several runs share the axes and
    have a legend, unless they are more than seven without names. The horizontal scale is logarithmic. `history_steps`
    returns the data that are drawn.

    Parameters
    ----------
    history : learner, result, list of HistoryEntry or FrontHistoryEntry, or a sequence or mapping of these
        See `history_steps`.
    x : {"evaluations", "seconds"}
        Quantity of the horizontal axis.
    ax : matplotlib Axes, optional
        Axes to draw in; by default those of a new figure.

    Raises
    ------
    GomeaBnError
        For another `x`; see also `history_steps`.
    """
    check_choice("x", x, ("evaluations", "seconds"))
    steps = history_steps(history)
    if ax is None:
        ax = new_axes((6.4, 3.8))
    runs = [(str(name), run) for name, run in steps.groupby("run", sort=False)]
    column = "n_eval" if x == "evaluations" else "seconds"
    same_style = len(runs) > len(_COLOURS) and not isinstance(history, Mapping)
    lines: list[Line2D] = []
    for position, (_, run) in enumerate(runs):
        style = 0 if same_style else position
        lines += ax.plot(
            run[column],
            run["value"],
            drawstyle="steps-post",
            color=_COLOURS[style % len(_COLOURS)],
            linestyle=_DASHES[style % len(_DASHES)],
            linewidth=1.0 if same_style else 1.6,
            alpha=0.6 if same_style else 1.0,
        )
    _scale(ax, steps[column])
    ax.set_xlabel("Evaluations" if x == "evaluations" else "Time [seconds]")
    ax.set_ylabel(_LABELS[str(steps["quantity"].iloc[0])])
    ax.spines[["top", "right"]].set_visible(False)
    if isinstance(history, Mapping) or 1 < len(runs) <= len(_COLOURS):
        plain_legend(ax, lines, [plain_text(name, 40) for name, _ in runs], frameon=False)
    return ax


def _scale(ax: Axes, values: pd.Series[float]) -> None:
    """Make the horizontal scale logarithmic, with plain numbers that do not overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if not (values > 0).all():
        return
    ax.set_xscale("log")
    # largest ratio of the largest to the smallest value for ticks at 1, 2 and 5
    subs = (1.0, 2.0, 5.0) if values.max() < 300.0 * values.min() else (1.0,)
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
        raise GomeaBnError("history must have at least one run, got none.")
    return runs


def _entries(run: Any, name: str) -> list[Any]:
    """Return the improvements of one run, at least one and all of one kind."""
    entries = run if isinstance(run, Sequence) else getattr(run, "history_", getattr(run, "history", None))
    kinds = (HistoryEntry, FrontHistoryEntry)
    if not isinstance(entries, Sequence) or not any(
        all(isinstance(entry, kind) for entry in entries) for kind in kinds
    ):
        unfitted = hasattr(run, "fit") and entries is None
        raise GomeaBnError(
            f"'{name}' must be a fitted learner, a search's result, or a list of HistoryEntry or of "
            f"FrontHistoryEntry, got {type(run).__name__}" + ("; call fit(frame) first." if unfitted else ".")
        )
    if not entries:
        raise GomeaBnError(
            f"The history of '{name}' is empty: the search ended before its first improvement."
        )
    return list(entries)


def _quantity(runs: Mapping[str, Any], entries_of: Mapping[str, list[Any]]) -> str:
    """Return the quantity of the runs' values; raise if runs have different quantities."""
    several = {name for name, entries in entries_of.items() if isinstance(entries[0], FrontHistoryEntry)}
    if not several:
        return "score" if all(hasattr(run, "score_") for run in runs.values()) else "objective"
    single = next((name for name in entries_of if name not in several), None)
    if single is not None:
        raise GomeaBnError(
            f"Run '{single}' has one objective and run '{min(several)}' several, and their values cannot be compared; "
            "draw them in separate plots."
        )
    return "archive size"


def _value(entry: Any, quantity: str) -> float:
    """Return the drawn value of an entry."""
    if quantity == "archive size":
        return float(entry.archive_size)
    return -float(entry.objective) if quantity == "score" else float(entry.objective)
