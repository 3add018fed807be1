"""Tables in memory as pandas frames: pandas, polars, Arrow, dicts of columns, NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.data.files.headers import column_names
from gomea_bn.data.plain import arrow_frame, plain_frame
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd

SOURCES = (
    "a Table, a frame of pandas or polars, an Arrow table, a dict of columns, a NumPy array of shape "
    "(n_rows, n_columns), or the path of a file"
)
"""What a table may be read from, in words."""


def frame_of(source: Any) -> pd.DataFrame:
    """Return a table in memory as a frame in plain storage; a pandas frame that is stored so is returned as it is.

    Objects of polars, pyarrow and other libraries offer ``__arrow_c_stream__`` or ``__dataframe__``. A mapping maps
    names to columns of equal length. The columns of an array are named x0, x1, ..., those of a structured array as its
    fields.
    """
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return plain_frame(source)
    if isinstance(source, np.ndarray):
        return plain_frame(_frame_of_array(source))
    if isinstance(source, Mapping):
        return plain_frame(_frame_of_columns(source))
    if hasattr(source, "__arrow_c_stream__"):
        pyarrow = require_pyarrow(f"Reading a {_type_name(source)}")
        return arrow_frame(pyarrow.table(source))
    if hasattr(source, "__dataframe__"):
        return plain_frame(pd.api.interchange.from_dataframe(source))
    raise GomeaBnError(f"A table must be {SOURCES}; got {type(source).__name__}.")


def _type_name(source: object) -> str:
    return f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"


def _frame_of_array(array: np.ndarray[Any, Any]) -> pd.DataFrame:
    import pandas as pd

    if array.ndim == 1 and array.dtype.names is not None:
        return pd.DataFrame({name: array[name] for name in array.dtype.names})
    if array.ndim != 2:
        raise GomeaBnError(f"An array must have shape (n_rows, n_columns), got shape {array.shape}.")
    frame = pd.DataFrame(array, columns=column_names(array.shape[1]))
    # columns of an array of objects may have types of their own
    return frame.infer_objects() if array.dtype == object else frame


def _frame_of_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    import pandas as pd

    lengths = {}
    for name, values in columns.items():
        try:
            lengths[str(name)] = len(values)
        except TypeError:
            raise GomeaBnError(
                f"A dict must map names to columns; '{name}' maps to {type(values).__name__}."
            ) from None
        if isinstance(values, (str, bytes)):
            raise GomeaBnError(f"A dict must map names to columns; '{name}' maps to the text {values!r:.40}.")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"'{name}' {length}" for name, length in list(lengths.items())[:5])
        raise GomeaBnError(f"Columns of a dict must have the same number of rows, got {shown}.")
    return pd.DataFrame({name: _without_index(str(name), values) for name, values in columns.items()})


def _without_index(name: str, values: Any) -> Any:
    """Return a column of a dict without the index of pandas, by which a dict of series would be aligned."""
    import pandas as pd

    if isinstance(values, pd.Series):
        return values.reset_index(drop=True)
    # the cells of an Arrow array are objects of pyarrow
    if hasattr(values, "to_pylist"):
        return arrow_frame(require_pyarrow("Reading an Arrow array").table({name: values})).iloc[:, 0]
    return (
        values if isinstance(values, (np.ndarray, list, pd.api.extensions.ExtensionArray)) else list(values)
    )


def require_pyarrow(what: str) -> Any:
    """Return the module pyarrow; raises `GomeaBnError`, whose subject is `what`, if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise GomeaBnError(f"{what} needs pyarrow: pip install 'gomea-bn[parquet]'.") from error
    return pyarrow
