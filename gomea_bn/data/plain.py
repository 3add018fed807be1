"""Columns in plain storage: NumPy arrays, and pandas' text, nullable integers and bools, and categoricals.

Every table passes `plain_frame` and every column of new rows `plain`, so that no other module needs to know Arrow
types, sparse columns and half-precision floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd


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
