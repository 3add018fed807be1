"""The clock of a whole fit, and what it has cut short so that the fit ends in time."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Self

from gomea_bn.runtime.kernel_progress import search_clock

SEARCH = "the search"
SHAPES = "fine shapes of columns"
FIRST_BINS = "fine bins to begin with"
CURVES = "curves in the search"
FIRST_CUTS = "cuts that show dependence"
PAIRS = "the choice of pairs of columns"
SHOWN_CUTS = "the choice of shown cuts"
EDGES = "the judgement of edges by left-out rows"
SURENESS = "how sure cuts are"
SETS_OF_CUTS = "several sets of cuts"
ROWS = "rows of effects"
EFFECTS = "effects of columns"
MIXTURES = "mixtures of lines"
ODDS = "odds of cells"
GAPS = "draws for missing cells"
PARENTS = "the choice of the parents of the target"
DRAWS = "the comparison with the rows"

BEFORE_SEARCH = (FIRST_CUTS, PAIRS, CURVES, FIRST_BINS, SHAPES)
"""What the clock cuts short of the preparation of a search."""
ORDER = (
    *BEFORE_SEARCH,
    SEARCH,
    MIXTURES,
    ODDS,
    EDGES,
    SHOWN_CUTS,
    SURENESS,
    DRAWS,
    SETS_OF_CUTS,
    GAPS,
    PARENTS,
    ROWS,
    EFFECTS,
)
"""What the clock cuts short, what goes first first: later ones go only where the limit leaves hardly anything.

What follows the search is never cut short for it, since the search leaves time for that.
"""


def never() -> bool:
    """Return that it is not late."""
    return False


class FitClock:
    """The seconds that a fit has left, and the names of what they cut short.

    Without a limit nothing is cut short. Seconds are those of `search_clock`, which stands still while kernels are
    compiled. `began` is one of its times; the present one by default.
    """

    def __init__(self, max_seconds: float | None = None, began: float | None = None) -> None:
        self.began = search_clock() if began is None else began
        self.max_seconds = max_seconds
        self._end = inf if max_seconds is None else self.began + max_seconds
        self._short: set[str] = set()

    @property
    def seconds(self) -> float:
        """Return the seconds since the fit began."""
        return search_clock() - self.began

    @property
    def left(self) -> float:
        """Return the seconds that are left, below 0 if there are none, and infinity without a limit."""
        return self._end - search_clock()

    @property
    def cut_short(self) -> list[str]:
        """Return what has been cut short, in the order in which it goes."""
        return [name for name in ORDER if name in self._short]

    def spend(self, seconds: float) -> None:
        """Count some seconds of a former run."""
        self.began -= seconds
        self._end -= seconds

    def note(self, name: str) -> None:
        """Note that something has been cut short."""
        self._short.add(name)

    def before(self, seconds: float) -> Self:
        """Return the clock of work that leaves some seconds to what follows it."""
        return self._until(self._end - seconds)

    def part(self, share: float) -> Self:
        """Return the clock of work that may take a share of the seconds that are left."""
        return self._until(self._end if self._end == inf else search_clock() + share * max(self.left, 0.0))

    def share(self, share: float) -> Self:
        """Return the clock of a fit among several ones, as `part`, which notes for itself what it cuts short."""
        now = search_clock()
        return type(self)(None if self._end == inf else share * max(self._end - now, 0.0), now)

    def late(self, name: str) -> Callable[[], bool]:
        """Return a function that says whether time is up, and then notes that something has been cut short."""

        def is_late() -> bool:
            if self.left > 0:
                return False
            self.note(name)
            return True

        return is_late

    def affordable(self, n: int, seconds: float, least: int, name: str) -> int:
        """Return how many of `n` pieces of work that take some seconds each are affordable, at least `least`."""
        # without a limit
        if seconds * n <= self.left:
            return n
        fewer = max(int(max(self.left, 0.0) / seconds), least)
        if fewer >= n:
            return n
        self.note(name)
        return fewer

    def _until(self, end: float) -> Self:
        clock = type(self)(self.max_seconds, self.began)
        clock._end, clock._short = end, self._short
        return clock


NO_LIMIT = FitClock()
"""The clock of a fit that has all the time."""
