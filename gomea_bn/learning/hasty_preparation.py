"""What the preparation of a tall table leaves out when `max_seconds` is short."""

from __future__ import annotations

import warnings
from dataclasses import replace

from gomea_bn.data.columns import TALL_TABLE
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnWarning, Setting
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.problems.parents.screening import UNSCREENED_VARIABLES
from gomea_bn.runtime.checkpoints import Section
from gomea_bn.runtime.threads import thread_count

__all__ = ["options_of_run", "options_within"]

# seconds on one core: of a value for cells and codes, and for curves; of a column for its shape
_OF_VALUE = 6e-8
_OF_CURVES = 8e-8
_OF_SHAPE = 0.004
# of a pair of columns for the choice of candidates
_OF_PAIR = 3e-5


def options_of_run(
    options: LearningOptions, table: Table, seconds: float, section: Section
) -> LearningOptions:
    """Return the options of `options_within`; a run that goes on from a checkpoint has those with which it began.

    Parameters
    ----------
    options, table, seconds
        As of `options_within`.
    section : Section
        Section of the run in its checkpoint, which keeps what is left out.
    """
    if section.saved:
        options = replace(options, curves=section.saved["curves"], is_hasty=section.saved["is_hasty"])
    else:
        options = options_within(options, table, seconds)
    left_out = {"curves": options.curves, "is_hasty": options.is_hasty}
    section.keep(left_out.copy)
    return options


def options_within(options: LearningOptions, table: Table, seconds: float) -> LearningOptions:
    """Return options by which a table is prepared in about some seconds, with a warning of what that leaves out.

    The seconds of every step are estimated from the size of the table. A table of at most 50,000 rows keeps its
    options.

    Parameters
    ----------
    options : LearningOptions
    table : Table
        Rows to prepare.
    seconds : float
        Time that the preparation may take; infinity for no limit.
    """
    n_continuous = sum(column.is_continuous for column in table.columns)
    if table.n_rows <= TALL_TABLE or not n_continuous:
        return options
    n_cores = thread_count(-1)
    n_values = table.n_rows * n_continuous
    needed = n_values * _OF_VALUE / n_cores
    of_quality = n_continuous * _OF_SHAPE / n_cores
    if len(table.columns) > UNSCREENED_VARIABLES:
        of_quality += len(table.columns) ** 2 * _OF_PAIR
    of_curves = n_values * _OF_CURVES / n_cores if options.has_curves else 0.0
    left_out = []
    if needed + of_quality + of_curves > seconds and options.has_curves:
        options = replace(options, curves="none")
        left_out.append("smooth curves of parents")
    if needed + of_quality > seconds:
        options = replace(options, is_hasty=True)
        left_out.append("details of shapes and candidates")
    if left_out:
        warnings.warn(
            GomeaBnWarning(
                f"The time limit is short for {table.n_rows:,} rows of {n_continuous:,} continuous columns. The search "
                f"leaves out {' and '.join(left_out)}.",
                [Setting("max_seconds")],
            ),
            stacklevel=4,
        )
    return options
