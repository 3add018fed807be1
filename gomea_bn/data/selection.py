"""Columns of a frame that a table is made of, chosen by name, and the one that names the groups of its rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import FEW_VALUES, MANY_ROWS, column_positions
from gomea_bn.data.files.reading import Note
from gomea_bn.data.frames import has_floats
from gomea_bn.data.number_texts import is_number, numbers_in
from gomea_bn.data.symbols import is_text_like
from gomea_bn.errors import GomeaBnError, Option, Setting, environment_limit, nearest, row_list
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


_UNITS = (
    "id|person|people|patient|subject|participant|respondent|individual|proband|client|customer|user|case|animal|"
    "site|centre|center|hospital|clinic|practice|ward|household|family|pair|twin|couple|"
    "school|class|classroom|student|pupil|teacher|firm|company|panel|cluster|group|village|plot|litter|herd"
)
_UNIT_NAME = re.compile(rf"(.*[_\W])?({_UNITS})([_\W]?(id|ids|no|nr|num|number|code|name))?", re.IGNORECASE)
_CAPITAL_NAME = re.compile(r".*[a-z](Id|ID)")
# rows per value
_LEAST_SIZE = 1.5


def group_codes(series: pd.Series[Any], name: str) -> NDArray[np.int64]:
    """Return numbers of the groups that a column names, int64 (n_rows,); raises `GomeaBnError` for missing values."""
    import pandas as pd

    codes = np.asarray(pd.factorize(series)[0], np.int64)
    if (codes < 0).any():
        where = row_list(np.flatnonzero(codes < 0).tolist())
        raise GomeaBnError(
            [
                Option("groups"),
                f": column '{name}' must name a group in every row; it is missing in {where}.",
            ],
            ["drop these rows", "give each of them a group of its own"],
        )
    return codes


def likeness(values: NDArray[Any], groups: NDArray[np.int64]) -> tuple[float, float]:
    """Return how alike the rows of a group are, by the analysis of variance of ranks or of indicators of levels.

    The first number is the intraclass correlation, from 0 to 1, and the second one the ratio of the mean squares
    between and within groups, which is 1 by chance.

    `values` (n_rows,) are numbers as float64 or codes of levels as integers, none of them missing, and `groups` codes
    from 0 on. The estimate for groups of different sizes is that of Donner, "A review of inference procedures for the
    intraclass correlation coefficient in the one-way random effects model", 1986.
    """
    n_rows = len(values)
    sizes = np.bincount(groups)
    sizes, n_groups = sizes[sizes > 0], int(np.count_nonzero(sizes))
    if n_groups < 2 or n_groups == n_rows:
        return 0.0, 1.0
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        return 0.0, 1.0
    if values.dtype.kind == "f":
        # the middle of equal ranks
        ranks = (np.cumsum(counts) - (counts + 1) / 2)[codes] / n_rows
        ranks -= ranks.mean()
        total = float(ranks @ ranks)
        of_groups = np.bincount(groups, ranks)[np.bincount(groups) > 0]
        between = float((of_groups**2 / sizes).sum())
    else:
        together, of_cells = np.unique(groups * len(distinct) + codes, return_counts=True)
        total = n_rows - float((counts**2.0).sum()) / n_rows
        of_group = np.bincount(groups)[together // len(distinct)]
        between = total - (n_rows - float((of_cells**2.0 / of_group).sum()))
    # sums of rounded numbers may miss zero
    within = max(total - between, 0.0)
    if within <= 1e-9 * total:
        return 1.0, np.inf
    of_between, of_within = between / (n_groups - 1), within / (n_rows - n_groups)
    size = (n_rows - float((sizes**2.0).sum()) / n_rows) / (n_groups - 1)
    correlation = (of_between - of_within) / (of_between + (size - 1) * of_within)
    return min(max(correlation, 0.0), 1.0), of_between / of_within


def doubts_about_groups(frame: pd.DataFrame) -> list[Note]:
    """Return a warning that names columns whose values look like those of persons, sites or panels with several rows.

    Such a column has at least ten values that repeat. Either it has the name of an identifier or a unit, and rows with
    the same value are alike in another column; or its values stand in runs of rows, within which at least two columns
    are constant that are no steps of it, and another one is not.
    """
    if frame.shape[1] < 2:
        return []
    rows = frame.iloc[:MANY_ROWS]
    found = [
        (-n_groups, name, said)
        for position, name in enumerate(map(str, frame.columns))
        for n_groups, said in _alike_in(rows, position, name)
    ]
    if not found:
        return []
    found.sort()
    texts = listed([f"'{name}' ({said})" for _, name, said in found], 3)
    which = "this column" if len(found) == 1 else "one of these columns"
    return [
        Note(
            f"Rows with the same value are alike: {texts}. They count as independent observations. If the rows of a "
            f"value of {which} belong together, as those of one person do:",
            [Setting("groups", found[0][1])],
        )
    ]


def _alike_in(rows: pd.DataFrame, position: int, name: str) -> list[tuple[int, str]]:
    """Return the number of groups that a column seems to name, and in what they are alike; nothing for most columns."""
    import pandas as pd

    series = rows.iloc[:, position]
    if series.dtype.kind in "fb":
        return []
    is_named = _is_name_of_unit(name)
    # first rows that show whether values repeat in runs
    if not is_named and not _stands_in_runs(series.iloc[:1_000]):
        return []
    try:
        codes = np.asarray(pd.factorize(series)[0], np.int64)
    except TypeError:
        # values that cannot be compared are an error later
        return []
    n_groups = int(codes.max(initial=-1)) + 1
    # fewer values are those of an ordinary discrete column
    if (codes < 0).any() or n_groups < 10 or n_groups * _LEAST_SIZE > len(codes):
        return []
    # columns that are looked at for likeness
    others = [v for v in range(rows.shape[1]) if v != position][:50]
    if not is_named:
        if 1 + np.count_nonzero(np.diff(codes)) != n_groups:
            return []
        constant, n_varying = _constant_in(rows, others, codes)
        # columns that are the same in all rows of a group, where no name says that it is one
        if len(constant) < 2 or not n_varying:
            return []
        return [
            (
                n_groups,
                f"{counted(n_groups, 'value')}, within each of which {listed(constant, 3)} are constant",
            )
        ]
    # five standard errors above chance
    least = 1 + 5.0 * np.sqrt(2 / (n_groups - 1) + 2 / (len(codes) - n_groups))
    best = max(
        (
            (found[0], str(rows.columns[v]))
            for v in others
            if not _is_name_of_unit(str(rows.columns[v]))
            and (found := _likeness_of(rows.iloc[:, v], codes))[1] > least
        ),
        default=(0.0, ""),
    )
    # intraclass correlation from which on rows of a group are alike
    if best[0] < 0.1:
        return []
    verb = "is constant" if best[0] == 1 else f"has a correlation of {best[0]:.2f}"
    return [(n_groups, f"{counted(n_groups, 'value')}, within each of which '{best[1]}' {verb}")]


def _is_name_of_unit(name: str) -> bool:
    return bool(_UNIT_NAME.fullmatch(name) or _CAPITAL_NAME.fullmatch(name) or is_name_of_identifier(name))


def _stands_in_runs(series: pd.Series[Any]) -> bool:
    """Return whether all rows with the same value are neighbours, several for most values."""
    import pandas as pd

    try:
        codes = pd.factorize(series)[0]
    except TypeError:
        return False
    n_values = int(codes.max(initial=-1)) + 1
    n_runs = 1 + np.count_nonzero(np.diff(codes))
    return bool(1 < n_values == n_runs and n_values * _LEAST_SIZE <= len(codes))


def _likeness_of(series: pd.Series[Any], groups: NDArray[np.int64]) -> tuple[float, float]:
    """Return how alike the rows of a group are in a column of a frame, over the rows in which it is not missing."""
    import pandas as pd

    try:
        codes, distinct = pd.factorize(series)
    except TypeError:
        return 0.0, 1.0
    is_known = codes >= 0
    # texts that differ in most rows say nothing
    if not is_known.any() or len(distinct) < 2:
        return 0.0, 1.0
    if pd.api.types.is_numeric_dtype(series.dtype):
        known = series.to_numpy(np.float64, na_value=np.nan)[is_known]
        return likeness(known, groups[is_known])
    return likeness(codes[is_known].astype(np.int64), groups[is_known])


def _constant_in(rows: pd.DataFrame, others: list[int], groups: NDArray[np.int64]) -> tuple[list[str], int]:
    """Return the names of the varying columns that are constant in every run, and the number of those that are not.

    Columns that only rise or only fall from run to run, such as an age group next to a sorted age, do not count.
    """
    import pandas as pd

    constant, n_varying = [], 0
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    for v in others:
        try:
            codes, distinct = pd.factorize(rows.iloc[:, v], sort=True)
        except TypeError:
            continue
        if len(distinct) < 2:
            continue
        if (codes != codes[starts][groups]).any():
            n_varying += 1
            continue
        steps = np.diff(codes[starts])
        if (steps > 0).any() and (steps < 0).any():
            constant.append(f"'{rows.columns[v]}'")
    return constant, n_varying
