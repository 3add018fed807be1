"""Tables as callers hand them over: frames, arrays, files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["as_frame", "read_source", "source_frame"]


def as_frame(source: Any) -> Any:
    """Return arrays as a frame with columns x0, x1, ...; everything else as it is."""
    if isinstance(source, np.ndarray):
        import pandas as pd

        if source.ndim != 2:
            raise GomeaBnError(f"An array must have shape (n_rows, n_columns), got shape {source.shape}.")
        return pd.DataFrame(source, columns=[f"x{i}" for i in range(source.shape[1])])
    return source


def read_source(source: Any) -> Any:
    """Return a file's table as a frame; everything else as it is."""
    if isinstance(source, (str, os.PathLike)):
        from gomea_bn.data.table_files import read_frame

        return read_frame(source)
    return source


def source_frame(source: Any) -> pd.DataFrame:
    """Return a frame as it is, an array with columns x0, x1, ..., or the rows of a file."""
    import pandas as pd

    if isinstance(source, (str, os.PathLike)):
        from gomea_bn.data.table_files import read_frame

        return read_frame(source)
    if isinstance(source, np.ndarray):
        if source.ndim != 2:
            raise GomeaBnError(f"An array must have shape (n_rows, n_columns), got shape {source.shape}.")
        return pd.DataFrame(source, columns=[f"x{i}" for i in range(source.shape[1])])
    if not isinstance(source, pd.DataFrame):
        raise GomeaBnError(
            f"A table must be a DataFrame, an array or the path of a file, got {type(source).__name__}."
        )
    return source
