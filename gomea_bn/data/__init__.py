"""Tables, the kinds of their columns, and the files that they are read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import lazy_names

if TYPE_CHECKING:
    from gomea_bn.data.files.table_files import read_frame
    from gomea_bn.data.table import Column, Table, read_table

__all__ = [
    "Column",
    "Table",
    "read_frame",
    "read_table",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Column": "gomea_bn.data.table",
        "Table": "gomea_bn.data.table",
        "read_frame": "gomea_bn.data.files.table_files",
        "read_table": "gomea_bn.data.table",
    },
)
