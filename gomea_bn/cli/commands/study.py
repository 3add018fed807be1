"""The command `study`: one page about a table and an outcome, from the rows to what an expert's arrows are worth."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from gomea_bn.cli.option_texts import read_cells, read_kinds, value_of_column
from gomea_bn.cli.options import (
    MAX_LEVELS,
    Data,
    Group,
    Kind,
    Lags,
    MaxLevels,
    Quiet,
    TimeOfRows,
    reads_table,
)
from gomea_bn.cli.output import UNUSABLE_DATA, WRONG_USE, check_output, failing, say, silent, writing
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import compile_first, limit, read_data, with_lags, with_tiers
from gomea_bn.data.files.reading import ReadingOptions


@reads_table()
def study(
    data: Data,
    out: Annotated[
        Path, opt("Page to write: .html, or .pdf, which Chromium or Chrome prints.", "--out", "-o")
    ],
    target: Annotated[
        str | None,
        opt(
            "Outcome: a column, and the level that is meant. Default level: 1, true or yes, or the rarest one.",
            metavar="COLUMN=LEVEL",
        ),
    ] = None,
    expert: Annotated[
        Path | None, opt("An expert's edges: a file with the columns parent,child, or of a network.")
    ] = None,
    row: Annotated[
        str | None,
        opt(
            "What is known about a new row, of which the page says how it comes to its figure.",
            metavar="COLUMN=VALUE,...",
        ),
    ] = None,
    folds: Annotated[
        int, opt("Parts of the rows that are left out in turn, to judge predictions; 0 for none.", min=0)
    ] = 4,
    max_seconds: Annotated[
        float,
        opt("Time limit of the search in seconds; 0 for none, so that a page can be repeated.", min=0),
    ] = 10.0,
    seed: Annotated[int, opt("Seed.", min=0)] = 0,
    duration: Annotated[
        str | None,
        opt(
            "Column of the times until the event of --target, or until nobody saw the row any more: the outcome is the "
            "event within --horizon, and rows that were seen until then count for the others.",
            metavar="COLUMN",
        ),
    ] = None,
    horizon: Annotated[
        float | None, opt("Time up to which events count. Default: the latest with enough rows.", min=0)
    ] = None,
    group: Group = None,
    time: TimeOfRows = None,
    lags: Lags = None,
    kind: Kind = None,
    max_levels: MaxLevels = MAX_LEVELS,
    title: Annotated[str | None, opt("Headline of the page.")] = None,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Write one page about DATA: what drives an outcome, how well it is predicted, what an expert's arrows are worth.

    Example: gomea-bn study data.csv --target readmitted=1 -o study.html

    With --row 'age=70, alone=yes' it also explains the figure of that new row. The page works offline and has no
    scripts. It shows a few rows of the table. Without --target it says which columns
    go together. Exit codes: 0 done, 1 not written, 2 wrong use, 3 data unusable, 130 interrupted.
    """
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.warm_up import compile_kernels, size_of_table
    from gomea_bn.problems.knowledge import ExpertKnowledge
    from gomea_bn.studies import study as study_of
    from gomea_bn.studies.outcome_study import EVALUATIONS, PAGES

    inputs = {"DATA": [data], "--expert": [expert] if expert else []}
    check_output("--out", out, inputs, PAGES)
    tell = silent if quiet else say
    with failing(WRONG_USE):
        kinds = read_kinds(kind or ())
        reading, group = with_lags(reading, time, group, lags)
    with failing(UNUSABLE_DATA, of_options=WRONG_USE, interrupted="Interrupted; nothing was written."):
        table = read_data(
            data,
            kinds=kinds,
            missing="available",
            max_levels=max_levels,
            reading=reading,
            groups=group,
            duration=duration,
            keeps_times=True,
        )
        with failing(WRONG_USE):
            cells = None if row is None else read_cells("--row", row, table.names)
        column, state = _outcome(target, table.names)
        learner = BayesNetLearner(
            max_seconds=limit(max_seconds),
            max_evaluations=EVALUATIONS,
            max_levels=max_levels,
            n_jobs=-1,
            knowledge=with_tiers(ExpertKnowledge(), table) if table.tiers else None,
        )
        compile_first(partial(compile_kernels, **size_of_table(table)), tell)
        made = study_of(
            table,
            column,
            state=state,
            expert=expert,
            row=cells,
            folds=folds,
            learner=learner,
            duration=duration,
            horizon=horizon,
            random_state=seed,
            tell=tell,
        )
    with writing(out, "the page"):
        made.write(out, title)


def _outcome(text: str | None, names: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Return the column and the level that COLUMN=LEVEL names; both names may contain "="."""
    if text is None or text in names or "=" not in text:
        return text, None
    if (named := value_of_column(text, names)) is not None:
        return named
    column, _, level = text.rpartition("=")
    return column.strip(), level.strip()
