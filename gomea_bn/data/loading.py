"""Rows of the chosen columns of a source in any form; the readers of files are imported for files alone."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from gomea_bn.data.columns import column_positions
from gomea_bn.data.files.reading import FILE_OPTIONS, USUAL_FORM, Loaded, ReadingOptions
from gomea_bn.data.forms import in_given_forms
from gomea_bn.data.frames import frame_of, stored_types
from gomea_bn.data.selection import chosen_columns
from gomea_bn.data.symbols import without_symbols
from gomea_bn.errors import GomeaBnError, Option


def load(
    source: Any,
    options: ReadingOptions,
    weight: str | None = None,
    groups: str | None = None,
    duration: str | None = None,
) -> Loaded:
    """Return the rows of a path or another source of `frame_of`, for which options of files are an error.

    The column `weight` has the weights of the rows, `groups` names their groups, and `duration` has times until an
    event, whatever the options say.
    """
    named = {"sample_weight": weight, "groups": groups, "duration": duration}
    if options.lags is not None:
        for name, given in named.items():
            if given is not None:
                raise GomeaBnError(
                    [Option("lags"), " has the time and the group of the rows; leave out ", Option(name), "."]
                )
        named |= {"time": options.lags["time"], "group": options.lags.get("group")}
    apart = {option: name for option, name in named.items() if name is not None}
    if weight is not None and weight == groups:
        raise GomeaBnError(
            [Option("groups"), f" names the column '{weight}', which has the weights of the rows."]
        )
    if isinstance(source, (str, os.PathLike)):
        from gomea_bn.data.files.table_files import read_file

        loaded = read_file(source, options, apart)
    else:
        frame = frame_of(source)
        for name in options.given:
            if name in FILE_OPTIONS:
                raise GomeaBnError(
                    [Option(name), f" applies to files, but the table is a {type(source).__name__}."]
                )
        form = USUAL_FORM._replace(decimal=options.decimal)
        chosen = chosen_columns(frame, options.columns, options.drop, apart)
        frame, notes, warnings = without_symbols(chosen, options.na_values, form.decimal or ".")
        frame, limits, limited = in_given_forms(frame, options.forms, form.decimal)
        loaded = Loaded(
            frame,
            options,
            tuple(notes),
            (*warnings, *limits),
            form=form,
            limited=limited,
            dtypes=stored_types(source),
        )
    weights, frame = None, loaded.frame
    if weight is not None:
        is_weight = np.arange(frame.shape[1]) == column_positions(frame, [weight])[weight]
        weights, frame = frame.loc[:, is_weight].iloc[:, 0], frame.loc[:, ~is_weight]
    return replace(loaded, frame=frame, weights=weights, groups=groups, duration=duration)
