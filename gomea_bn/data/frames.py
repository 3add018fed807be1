"""Tables in memory as pandas frames in plain storage.

That is NumPy arrays, and pandas' text, nullable integers and bools, and categoricals. Every table passes `plain_frame`
and every column of new rows `plain`, so that no other module needs to know Arrow types, sparse columns and
half-precision floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd

SOURCES = (
    "a Table, a frame of pandas or polars, an Arrow table, a dict of columns, a NumPy array of shape "
    "(n_rows, n_columns), or the path of a file"
)
"""What a table may be read from, in words."""


def column_names(n_columns: int) -> list[str]:
    """Return the names of columns that have none: x0, x1, ..."""
    return [f"x{i}" for i in range(n_columns)]


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
        kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
        pyarrow = require_pyarrow(f"Reading a {kind}")
        try:
            table = pyarrow.table(source)
        # a single column offers the same interface
        except pyarrow.ArrowInvalid as error:
            raise _no_table(source) from error
        return arrow_frame(table)
    if hasattr(source, "__dataframe__"):
        require_pyarrow("Reading an object with the dataframe interchange")
        from pyarrow.interchange import from_dataframe

        return arrow_frame(from_dataframe(source))
    raise _no_table(source)


def stored_types(source: Any) -> dict[str, str]:
    """Return the names of the types of the columns of a frame of pandas, if pandas reads them; none for others.

    Categoricals are left out.
    """
    import pandas as pd

    if not isinstance(source, pd.DataFrame):
        return {}
    names = {}
    for name, dtype in zip(source.columns, source.dtypes, strict=True):
        # types of Arrow with numbers in their names, such as decimals, cannot be read
        with suppress(TypeError, NotImplementedError):
            if not isinstance(dtype, pd.CategoricalDtype) and pd.api.types.pandas_dtype(str(dtype)) == dtype:
                names[str(name)] = str(dtype)
    return names


def as_stored(values: Any, dtype: Any) -> Any:
    """Return a column in a type or the type of a name, or as it is where that cannot hold its values.

    Dates and durations are rounded to the unit of the type, and numbers to its digits.
    """
    import pandas as pd

    column: Any = pd.Series(values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    try:
        wanted: Any = pd.api.types.pandas_dtype(dtype)
        is_moment = isinstance(wanted, (np.dtype, pd.DatetimeTZDtype)) and wanted.kind in ("m", "M")
        if is_moment and getattr(column.dtype, "kind", "") in ("m", "M"):
            unit = getattr(wanted, "unit", None) or np.datetime_data(wanted)[0]
            column = column.dt.round(unit)
        stored = column.astype(wanted)
        is_rounded = pd.api.types.is_float_dtype(wanted) and pd.api.types.is_numeric_dtype(
            column.infer_objects().dtype
        )
        # a bool cannot be missing, texts such as 02163 are no numbers, and whole ones beyond a range would be others
        is_same = stored.isna().equals(column.isna()) and (is_rounded or _have_equal_cells(stored, column))
    except (TypeError, ValueError, OverflowError, NotImplementedError, ImportError):
        return values
    return stored if is_same else values


def _have_equal_cells(stored: pd.Series[Any], column: pd.Series[Any]) -> bool:
    """Return whether the cells of a column that are not missing are the same in another type."""
    from pandas.api import types

    known, others = stored[column.notna().to_numpy()], column[column.notna()]
    if types.is_numeric_dtype(others.dtype) and not types.is_bool_dtype(others.dtype):
        # decimals of Arrow differ from the floats that they stand for
        return bool((known.to_numpy(np.float64) == others.to_numpy(np.float64)).all())
    return bool((known.astype(object) == others.astype(object)).all())


def _no_table(source: Any) -> GomeaBnError:
    """Return the error for an object that is no table."""
    advice = [
        f"call its {method}()"
        for method in ("to_frame", "collect")
        if callable(getattr(type(source), method, None))
    ]
    return GomeaBnError(f"A table must be {SOURCES}; got {type(source).__name__}.", advice)


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


def distinct_values(series: pd.Series[Any]) -> tuple[NDArray[np.intp], Any]:
    """Return the positions of the values of a column among its distinct ones, intp (n_rows,), and these in their order.

    A missing value has the position -1. Values that cannot be compared, such as lists, raise `TypeError`.
    """
    import pandas as pd

    values = series.array
    # pandas before 3.0 deprecates its own wrapper of NumPy's arrays here
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        return pd.factorize(values.to_numpy())
    return pd.factorize(values)


def has_floats(dtype: Any) -> bool:
    """Return whether NumPy's floats are the type of a column, which then holds no texts, dates or identifiers."""
    return isinstance(dtype, np.dtype) and dtype.kind == "f"


def plain_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose columns are stored plainly, the frame itself if they are; see `plain`."""
    other = [position for position, dtype in enumerate(frame.dtypes) if not _is_plain(dtype)]
    if not other:
        return frame
    stored = frame.copy(deep=False)
    for position in other:
        stored.isetitem(position, plain(frame.iloc[:, position]).array)
    return stored


def plain(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column in plain storage, the series itself if it is stored so.

    Columns of Arrow types are those of `arrow_frame`. Sparse columns become dense, and half-precision floats float32.
    Floats that pandas masks become NumPy's, so that their missing values and their NaN are one. The categories of a
    categorical are stored by the same rules. The series is never changed. An Arrow type that neither pandas nor Python
    has is an error.
    """
    import pandas as pd

    dtype: Any = series.dtype
    if _is_plain(dtype):
        return series
    if isinstance(dtype, pd.CategoricalDtype):
        categories = series.cat.categories
        return series.cat.rename_categories(plain(pd.Series(categories, name=series.name)).array)
    if isinstance(dtype, pd.SparseDtype):
        accessor: Any = series.sparse
        return plain(accessor.to_dense())
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        frame = arrow_frame(pa.table({str(series.name): pa.chunked_array(series.array.__arrow_array__())}))
        return pd.Series(frame.iloc[:, 0].array, series.index, name=series.name)
    return series.astype(np.float32 if dtype == np.float16 else dtype.numpy_dtype)


def _is_plain(dtype: Any) -> bool:
    """Return whether a column of a dtype is stored plainly."""
    import pandas as pd

    if isinstance(dtype, np.dtype):
        return dtype != np.float16
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype.categories is None or _is_plain(dtype.categories.dtype)
    return not isinstance(dtype, (pd.ArrowDtype, pd.SparseDtype, pd.Float32Dtype, pd.Float64Dtype))


def arrow_frame(table: Any) -> pd.DataFrame:
    """Return a pyarrow table as a frame in plain storage, without the index of pandas.

    Integers and bools next to missing values stay what they are. Dictionaries become categoricals. Values that NumPy
    and pandas have no type for become Python's objects. Nanoseconds of a time of day are cut off, since times are read
    to the microsecond. An Arrow type that pandas cannot hold is an error that names the column.
    """
    import pandas as pd
    import pyarrow as pa

    types: dict[Any, Any] = {pa.bool_(): pd.BooleanDtype()}
    for bits in (8, 16, 32, 64):
        types[getattr(pa, f"int{bits}")()] = getattr(pd, f"Int{bits}Dtype")()
        types[getattr(pa, f"uint{bits}")()] = getattr(pd, f"UInt{bits}Dtype")()

    def in_pandas(part: Any) -> pd.DataFrame:
        frame: pd.DataFrame = part.to_pandas(types_mapper=types.get, ignore_metadata=True)
        return frame

    index = _index_names(table.schema)
    positions = [position for position, name in enumerate(table.column_names) if name not in index]
    names = [table.column_names[position] for position in positions]
    columns = [_convertible(table.column(position)) for position in positions]
    failures = (pa.ArrowException, NotImplementedError, TypeError, ValueError, OverflowError)
    try:
        return in_pandas(pa.Table.from_arrays(columns, names=names))
    except failures:
        for name, column in zip(names, columns, strict=True):
            try:
                in_pandas(pa.table({name: column}))
            except failures as error:
                raise GomeaBnError(
                    f"Column '{name}' of the Arrow type {column.type} cannot be read: {error}.",
                    ["turn it into numbers or text", "leave it out of the table"],
                ) from error
        raise


def _index_names(schema: Any) -> set[str]:
    """Return the names of the columns of an Arrow schema that hold the index of pandas."""
    try:
        metadata = schema.pandas_metadata or {}
    # other programs may write what they like
    except ValueError:
        metadata = {}
    return {name for name in metadata.get("index_columns", ()) if isinstance(name, str)}


def _convertible(column: Any) -> Any:
    """Return an Arrow column with the same values in a type that pandas reads."""
    import pyarrow as pa

    if pa.types.is_float16(column.type):
        return column.cast(pa.float32())
    if column.type == pa.time64("ns"):
        return column.cast(pa.time64("us"), safe=False)
    if pa.types.is_dictionary(column.type) and not all(map(_is_categorical, column.chunks)):
        # encoded again, distinct values occur once and none is null
        return _convertible(column.cast(column.type.value_type)).dictionary_encode()
    return column


def _is_categorical(chunk: Any) -> bool:
    """Return whether the values of an Arrow dictionary may be the categories of a categorical."""
    import pyarrow as pa

    values = chunk.dictionary
    has_index = not pa.types.is_float16(values.type)
    return has_index and not values.null_count and len(values.unique()) == len(values)
