"""Columns of a frame that a table is made of: those chosen by name, without identifiers and free text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gomea_bn.data.columns import FEW_VALUES, column_positions
from gomea_bn.data.files.reading import Note
from gomea_bn.data.frames import has_floats
from gomea_bn.data.number_texts import is_number, numbers_in
from gomea_bn.data.symbols import is_text_like
from gomea_bn.errors import GomeaBnError, Option, Setting, environment_limit, nearest
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

COLUMNS_VARIABLE = "GOMEA_BN_MAX_COLUMNS"
"""Environment variable with the largest number of columns of a table."""

_UUID = re.compile(r"\{?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\}?", re.IGNORECASE)
# what an identifier is of, and how it may end; both together name one, with or without a mark between them
_OWNERS = (
    "p|pat|patient|subj|subject|usubj|case|pers|person|member|client|cust|customer|user|u|row|rec|record|sample|"
    "specimen|study|hadm|stay|icustay|encounter|enc|visit|account|acct|order|invoice|ticket|serial|emp|employee|stud|"
    "student|household|hh|family|fam|animal|chart|accession|participant|respondent|resp|rand|screening|trans|"
    "transaction|doc|document|contract|policy|loan|film|article|product|item"
)
_ENDINGS = "id|ids|key|nr|no|num|number"
_ALONE = (
    "uuid|guid|index|idx|key|rownames?|unnamed: 0|mrn|ssn|nin|nhs|barcode|zip|zip_?codes?|post_?codes?|postal_?codes?|"
    "plz|phone|phone_?(no|number)|telephone|tel|mobile|fax|record|accession|serial|iban|isbn|issn|ean|upc|sku|vin|"
    "licen[cs]e|passport|ticket|invoice|docket|case_?control_?id|nhs_?(no|number)|enrolid|"
    "kennung|fallnummer|laufnummer|lfd_?nr|matricule"
)
# "new_case" may be a count
_WHOLE = "subject|participant|case|specimen|respondent|account|seq"
IDENTIFIER = rf"(.*[_\W])?(id|ids|nr|no|{_ALONE}|({_OWNERS})[_\W]?({_ENDINGS}))|{_WHOLE}"
"""Pattern of names of identifiers, of any case."""

_IDENTIFIER_NAME = re.compile(IDENTIFIER, re.IGNORECASE)
_CAPITAL_IDENTIFIER = re.compile(r".*[a-z](Id|ID|Key|UUID|Index|Nr|No)")


def check_column_count(n_columns: int) -> None:
    """Raise `GomeaBnError` for a table with more columns than can be learned from: pairs of columns take memory.

    The environment variable `COLUMNS_VARIABLE` sets the limit.
    """
    most = environment_limit(COLUMNS_VARIABLE, 10_000, "columns")
    if n_columns > most:
        raise GomeaBnError(
            [
                f"The table has {n_columns:,} columns; the limit is {most:,}. Choose some with ",
                Option("columns"),
                ".",
            ],
            [f"to have more, set the environment variable {COLUMNS_VARIABLE}"],
        )


def chosen_columns(
    frame: pd.DataFrame,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    apart: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return the columns named in `columns`, or all, without those in `drop`, in their order; some must remain.

    The columns of `apart`, by the option that names each, are chosen whatever these say.
    """
    apart = apart or {}
    if columns is None and not drop and not apart:
        check_column_count(frame.shape[1])
        return frame
    names = list(map(str, frame.columns))
    of_apart = [(option, (name,)) for option, name in apart.items()]
    for option, chosen in (("columns", columns or ()), ("drop", drop), *of_apart):
        for name in chosen:
            if name not in names:
                raise GomeaBnError([Option(option), f": unknown column '{name}'.{nearest(name, names)}"])
    remaining = [
        position
        for position, name in enumerate(names)
        if name in apart.values() or ((columns is None or name in columns) and name not in drop)
    ]
    if all(names[position] in apart.values() for position in remaining):
        raise GomeaBnError(["No column remains after ", Option("columns"), " and ", Option("drop"), "."])
    check_column_count(len(remaining))
    return frame.iloc[:, remaining]


def without_identifiers(
    frame: pd.DataFrame, wanted: Collection[str], max_levels: int
) -> tuple[pd.DataFrame, dict[str, str], list[Note]]:
    """Return the frame without identifiers and free text, why each of these was left out by name, and warnings.

    A warning names these columns and how to take them in. Columns in `wanted` stay whatever they hold. It is an error
    if no column remains.
    """
    left_out: dict[str, tuple[int, str, str]] = {}
    dtypes = list(frame.dtypes)
    for name, position in column_positions(frame).items():
        if name in wanted or has_floats(dtypes[position]):
            continue
        series = frame.iloc[:, position]
        reason = identifier_reason(series, name) or free_text_reason(series, max_levels)
        if reason is not None:
            kind = "discrete" if is_text_like(series) else "continuous"
            left_out[name] = position, reason, kind
    if not left_out:
        return frame, {}, []
    reasons = {name: reason for name, (_, reason, _) in left_out.items()}
    described = listed([f"'{name}' ({reason})" for name, reason in reasons.items()], 10)
    first, (_, _, kind) = next(iter(left_out.items()))
    note = Note(
        f"Left out {counted(len(left_out), 'column')}: {described}. To take one in:",
        [Setting("kinds", kind, first), "name it among the columns to read"],
    )
    positions = {position for position, _, _ in left_out.values()}
    remaining = [position for position in range(frame.shape[1]) if position not in positions]
    if not remaining:
        raise GomeaBnError(
            f"No column of the table can be used: {described}.", [Setting("kinds", kind, first)]
        )
    return frame.iloc[:, remaining], reasons, [note]


def identifier_reason(series: pd.Series[Any], name: str) -> str | None:
    """Return why the values of a column identify the rows, or None if they do not.

    A pandas categorical is no identifier. The name "" is that of row names, which are identifiers if all differ.
    """
    from pandas.api import types

    if types.is_float_dtype(series.dtype):
        return None
    values = series.dropna()
    n_values = len(values)
    least = 1 if not name else FEW_VALUES
    if n_values <= least:
        return None
    if types.is_integer_dtype(series.dtype):
        numbers = values.to_numpy()
        if n_values == len(series) and bool((numbers[1:] - numbers[:-1] == 1).all()):
            return "a running number"
    elif not is_text_like(series) or types.infer_dtype(values, skipna=True) != "string":
        return None
    elif _UUID.fullmatch(values.iloc[0].strip()) and all(_UUID.fullmatch(text.strip()) for text in values):
        return "UUIDs"
    if not values.is_unique:
        return None
    if types.is_integer_dtype(series.dtype):
        is_named_so = is_name_of_identifier(name)
        return "a different number in every row, under the name of an identifier" if is_named_so else None
    return None if numbers_in(list(values)) else "a different text in every row"


def is_name_of_identifier(name: str) -> bool:
    """Return whether a column has the name of one that identifies rows, persons or things."""
    return bool(_IDENTIFIER_NAME.fullmatch(name) or _CAPITAL_IDENTIFIER.fullmatch(name))


def free_text_reason(series: pd.Series[Any], max_levels: int) -> str | None:
    """Return why a column of more than `max_levels` different texts is free text, or None if it is not."""
    from pandas.api import types

    if not is_text_like(series):
        return None
    values = series.dropna()
    if types.infer_dtype(values, skipna=True) != "string":
        return None
    distinct = values.unique()
    if len(distinct) <= max_levels or numbers_in(list(distinct)):
        return None
    n_words = sum(len(str(text).split()) for text in distinct) / len(distinct)
    # free text has at least so many different values per row, or words per value
    if len(distinct) < 0.5 * len(values) and n_words < 4:
        return None
    return f"{len(distinct):,} different texts in {len(values):,} rows"


def names_that_are_data(names: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Return the names that could be values of their columns, if at least half are such, and two; otherwise none.

    A name is a number among numbers, or one of the texts of its column. Running numbers, such as years, are names.
    """
    from pandas.api import types

    whole = [int(name) for name in names if name.lstrip("+-").isdecimal()]
    if len(whole) > 1 and whole == list(range(whole[0], whole[0] + len(whole))):
        return []
    suspicious = []
    for position, name in enumerate(names):
        dtype: Any = frame.dtypes.iloc[position]
        values = getattr(dtype, "categories", None)
        values = frame.iloc[:, position].dropna() if values is None else values
        is_real = types.is_numeric_dtype(dtype) or types.infer_dtype(values) in ("integer", "floating")
        if is_real and not types.is_bool_dtype(dtype):
            is_value = is_number(name)
        else:
            is_value = bool(name) and name in {str(value).strip() for value in values}
        if is_value:
            suspicious.append(name)
    return suspicious if len(suspicious) > 1 and 2 * len(suspicious) >= len(names) else []
