"""The live table of a run."""

import io

from rich.console import Console

from gomea_bn.runtime.limits import Progress
from gomea_bn.runtime.progress import LiveTable


def progress(seconds: float, scored: int, best: float = -1.0) -> Progress:
    statistics = {"families_scored": scored, "cache_hits": 0}
    return Progress(seconds, scored, 1, (8,), (1,), best, statistics)


def shown(table: LiveTable, state: Progress) -> dict[str, str]:
    return {str(column.header): str(next(iter(column.cells))) for column in table.render(state).columns}


def test_rates_stay_positive_when_another_phase_counts_from_zero():
    table = LiveTable()
    rates = [shown(table, progress(*state))["families/s"] for state in ((1.0, 1000), (2.0, 50), (3.0, 250))]
    assert rates == ["1,000", "1,000", "200"]
    rates = [shown(table, progress(*state))["families/s"] for state in ((0.5, 300), (1.0, 400))]
    assert rates == ["200", "200"]


def test_the_last_state_is_drawn_at_the_end():
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    with LiveTable(console) as table:
        table(progress(1.0, 10, -5.0))
        table(progress(1.01, 20, -7.25))
    assert "7.250" in text.getvalue()
