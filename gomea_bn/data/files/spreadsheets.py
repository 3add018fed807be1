"""Tables in spreadsheets: Excel and OpenDocument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gomea_bn.data.files.cells import with_codes, without_last_empty_rows
from gomea_bn.data.files.headers import check_names, column_names, without_nameless
from gomea_bn.data.files.reading import Note, ReadingOptions
from gomea_bn.errors import GomeaBnError, Option, nearest
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

SPREADSHEETS = {
    ".xlsx": ("openpyxl", "openpyxl"),
    ".xlsm": ("openpyxl", "openpyxl"),
    ".ods": ("odf", "odfpy"),
}
"""pandas' engine and the package that it needs, by the ending of the file name."""


def read_sheet(
    path: str, ending: str, options: ReadingOptions
) -> tuple[pd.DataFrame, list[Note], list[Note]]:
    """Return the table in one sheet of a spreadsheet, notes and warnings.

    The sheet of the options is a name or a position, counted from 0; None stands for the first sheet with cells.
    """
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    engine, package = SPREADSHEETS[ending]
    try:
        book: Any = pd.ExcelFile(path, engine=engine)  # type: ignore[arg-type]
    except ImportError as error:
        raise GomeaBnError(f"Reading '{path}' needs {package}: pip install 'gomea-bn[excel]'.") from error
    # the libraries raise exceptions of many types
    except Exception as error:
        raise GomeaBnError(f"File '{path}' is not a readable {ending} file: {error}") from error
    with book:
        sheets = list(map(str, book.sheet_names))
        chosen = sheets if options.sheet is None else [_chosen(path, sheets, options.sheet)]
        cells, sheet = _first_with_cells(book, chosen)
        if cells is None:
            raise GomeaBnError(f"File '{path}' has no cells in {listed([repr(name) for name in chosen], 5)}.")
        notes = []
        if options.sheet is None and len(sheets) > 1:
            others = listed([repr(name) for name in sheets if name != sheet], 5)
            notes.append(
                Note([f"Sheet {sheet!r} is read, not {others}; ", Option("sheet"), " names another."])
            )
        names = _names(path, cells, options)

        def parsed(**more: Any) -> pd.DataFrame:
            frame: pd.DataFrame = book.parse(
                sheet,
                header=0 if options.header == "first-line" else None,
                names=[name or f"\0{position}" for position, name in enumerate(names)],
                index_col=None,
                keep_default_na=False,
                na_values=[""],
                **more,
            )
            return frame

        frame = parsed(dtype_backend="numpy_nullable")
        numeric = [
            position for position in range(len(names)) if is_numeric_dtype(frame.iloc[:, position].dtype)
        ]
        # pandas makes numbers of cells with text
        frame, codes = with_codes(frame, parsed(dtype=str).iloc[:, numeric] if numeric else frame.iloc[:, :0])
    # a blank row is a missing cell of one column, and no row of several
    if len(names) > 1:
        frame = frame.dropna(how="all")
    frame, empty_rows = without_last_empty_rows(frame)
    frame, left_out = without_nameless(path, frame, names)
    return frame, notes + codes + empty_rows, left_out


def _chosen(path: str, sheets: list[str], sheet: str | int) -> str:
    """Return the name of the chosen sheet."""
    if isinstance(sheet, str) and sheet in sheets:
        return sheet
    if (isinstance(sheet, int) or sheet.isdecimal()) and int(sheet) < len(sheets):
        return sheets[int(sheet)]
    raise GomeaBnError(
        [
            Option("sheet"),
            f": '{path}' has no sheet {sheet!r}; its sheets are {listed([repr(name) for name in sheets], 10)}."
            f"{nearest(str(sheet), sheets)}",
        ]
    )


def _first_with_cells(book: Any, sheets: list[str]) -> tuple[pd.DataFrame | None, str]:
    """Return the first row of the first of some sheets that has cells, and its name."""
    import pandas as pd

    for sheet in sheets:
        cells: pd.DataFrame = pd.read_excel(
            book, sheet_name=sheet, header=None, nrows=1, keep_default_na=False, na_values=[""]
        )
        if cells.shape[1]:
            return cells, sheet
    return None, ""


def _names(path: str, cells: pd.DataFrame, options: ReadingOptions) -> list[str]:
    """Return the names of the columns, "" for a column without one."""
    if options.header == "none":
        return column_names(cells.shape[1])
    names = ["" if value is None or value != value else str(value).strip() for value in cells.iloc[0]]
    check_names(path, names)
    return names
