"""Tables in files of Stata, SAS, SPSS and R, with the labels of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from gomea_bn.data.files.reading import NUMBER, Note, number_form
from gomea_bn.data.symbols import is_text_like
from gomea_bn.errors import GomeaBnError, Option, first_line
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

_OF_R = (".rds", ".rdata", ".rda")

# in the first record of a transport file of SAS 8 and later
_VERSION_8 = b"LIBV8"
_SMALLEST_OF_TRANSPORT = 5.4e-79
# labels and columns that a message shows
_MOST_LABELS, _MOST_COLUMNS = 4, 5
# what labels of codes say that stand for no answer
_NO_ANSWER = re.compile(
    r".*\b(missing|refus\w*|don'?t know|do not know|no (answer|response)|not (asked|applicable|answered|stated|known|"
    r"ascertained|available)|unknown|inapplicable|skipp?ed|prefer not|keine (angabe|antwort)|weiß nicht|verweigert|"
    r"unbekannt|trifft nicht zu|sans réponse|non réponse|ne sait pas|no sabe|no contesta|weet niet|geen antwoord)\b.*|"
    r"n\.?/?a\.?|dk|nr|k\.? ?a\.?",
    re.IGNORECASE | re.DOTALL,
)


def read_statistics(
    path: str, ending: str, forms: Mapping[str, str], *, are_codes_missing: bool
) -> tuple[pd.DataFrame, list[Note], dict[str, str]]:
    """Return the table in a file of Stata, SAS, SPSS or R, warnings, and the forms by which rows like these are read.

    A column is a categorical of labels, in the order of their values, if all of its values have one and `forms` does
    not call it numbers. Otherwise it keeps its values, and a warning says which have labels. With `are_codes_missing`
    those whose labels say that there is no answer are missing values then.
    """
    import pandas as pd

    try:
        if ending in _OF_R:
            return _frame_of_r(path), [], {}
        if ending == ".dta":
            frame, labels = _stata(path)
            ordered: Mapping[str, str] = {}
        elif ending in (".sav", ".zsav"):
            import pyreadstat

            frame, about = pyreadstat.read_sav(path)
            labels, ordered = about.variable_value_labels, about.variable_measure
        else:
            frame, labels, ordered = _sas(path, ending), {}, {}
    except ImportError as error:
        package, extra = ("pyreadr", "r") if ending in _OF_R else ("pyreadstat", "statistics")
        raise GomeaBnError(f"Reading '{path}' needs {package}: pip install 'gomea-bn[{extra}]'.") from error
    except GomeaBnError:
        raise
    # the readers raise exceptions of many types
    except Exception as error:
        raise GomeaBnError(f"File '{path}' is not a readable {ending} file: {first_line(error)}") from error
    frame = _without_blank_texts(pd.DataFrame(frame))
    partly, missing, doubts = [], [], []
    found: dict[str, str] = {}
    if labels is None:
        doubts.append(Note("Two values have one label, so that the values are read without their labels."))
    for position, name in enumerate(map(str, frame.columns)):
        if (of_column := (labels or {}).get(name)) is None:
            continue
        column = frame.iloc[:, position]
        present = [*column.dropna().unique()]
        is_labelled = all(value in of_column for value in present)
        if is_labelled and number_form(forms.get(name, "")) is None:
            new = _labelled(column, of_column, present, is_ordered=ordered.get(name) == "ordinal")
            frame.isetitem(position, new.array)
            continue
        # rows of the same survey may all have labelled values
        if not is_text_like(column):
            found[name] = NUMBER
        shown = [value for value in present if value in of_column]
        no_answer = [
            value
            for value in shown
            if are_codes_missing
            and not isinstance(value, str)
            and _NO_ANSWER.fullmatch(of_column[value].strip())
        ]
        if no_answer:
            is_code = column.isin(no_answer)
            missing.append(f"'{name}' ({int(is_code.sum())} of {_shown(no_answer, of_column)})")
            frame.isetitem(position, column.mask(is_code).array)
        shown = [value for value in shown if value not in no_answer]
        if shown and not is_labelled:
            partly.append(f"'{name}' ({_shown(shown, of_column)})")
    if missing:
        doubts.append(
            Note(
                [
                    "Codes whose labels say that there is no answer are read as missing values: "
                    f"{listed(missing, _MOST_COLUMNS)}; ",
                    Option("na_values", "usual"),
                    " keeps them as numbers.",
                ]
            )
        )
    if partly:
        doubts.append(
            Note(
                "Only some of the values have labels, so that the values are read as they are: "
                f"{listed(partly, _MOST_COLUMNS)}."
            )
        )
    return frame, doubts, found


def _shown(values: Sequence[Any], labels: Mapping[Any, str]) -> str:
    """Return values with their labels in words."""
    texts = [
        f"{value if isinstance(value, str) else f'{value:g}'} {labels[value]!r}" for value in sorted(values)
    ]
    return listed(texts, _MOST_LABELS)


def _labelled(
    column: pd.Series[Any], labels: Mapping[Any, str], present: Sequence[Any], *, is_ordered: bool
) -> pd.Series[Any]:
    """Return a column whose values all have labels as a categorical of these, in the order of the values."""
    import pandas as pd

    values = sorted(present)
    texts = [labels[value].strip() for value in values]
    # two values may have one label
    names = [
        text if texts.count(text) == 1 else f"{text} ({value if isinstance(value, str) else f'{value:g}'})"
        for text, value in zip(texts, values, strict=True)
    ]
    categories = pd.Categorical(column, categories=values, ordered=is_ordered).rename_categories(
        dict(zip(values, names, strict=True))
    )
    return pd.Series(categories, column.index, name=column.name)


def _stata(path: str) -> tuple[pd.DataFrame, dict[str, dict[Any, str]] | None]:
    """Return the table in a file of Stata, and the labels of its values by column; None where two have one."""
    import pandas as pd

    plain = pd.read_stata(path, convert_categoricals=False)
    try:
        with_labels = pd.read_stata(path, order_categoricals=False)
    # pandas refuses two values with one label
    except ValueError:
        return plain, None
    labels: dict[str, dict[Any, str]] = {}
    for name in map(str, plain.columns):
        shown: Any = with_labels[name]
        if not isinstance(shown.dtype, pd.CategoricalDtype):
            continue
        pairs = zip(plain[name], shown.astype(object), strict=True)
        labels[name] = {value: text for value, text in pairs if isinstance(text, str) and text != value}
    return plain, labels


def _sas(path: str, ending: str) -> pd.DataFrame:
    """Return the table in a file of SAS."""
    import pandas as pd

    if ending == ".xpt":
        with open(path, "rb") as file:
            is_version_8 = _VERSION_8 in file.read(80)
        if is_version_8:
            import pyreadstat

            return cast("pd.DataFrame", pyreadstat.read_xport(path)[0])
        frame: Any = pd.read_sas(path, format="xport", encoding="utf-8")
        # pandas makes 5.4e-79, which no number of these files is, of a zero
        is_zero = frame.select_dtypes("number").abs() < _SMALLEST_OF_TRANSPORT
        return pd.DataFrame(frame.mask(is_zero.reindex(columns=frame.columns, fill_value=False), 0.0))
    return pd.DataFrame(pd.read_sas(path, format="sas7bdat", encoding="utf-8"))


def _without_blank_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with missing values for blank texts, which are what these programs have for them."""
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]
        if is_text_like(column):
            frame.isetitem(position, column.mask(column.isin(["", " "])).array)
    return frame


def _frame_of_r(path: str) -> pd.DataFrame:
    """Return the only data frame in a file of R."""
    import pyreadr

    frames = pyreadr.read_r(path)
    if len(frames) != 1:
        raise GomeaBnError(
            f"File '{path}' must hold one data frame, got {listed([*map(str, frames)], 5) or 'none'}.",
            ["write one of them by saveRDS"],
        )
    (frame,) = frames.values()
    return cast("pd.DataFrame", frame)
