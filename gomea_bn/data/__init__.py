"""Tables, the kinds of their columns, and the files that they are read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.data.files.table_files import read_frame as read_frame
    from gomea_bn.data.table import Column as Column
    from gomea_bn.data.table import Table as Table
    from gomea_bn.data.table import read_table as read_table

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
