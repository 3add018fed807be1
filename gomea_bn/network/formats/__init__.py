"""Networks as files and as objects of other libraries: JSON, BIF, DOT, text, pyAgrum, pgmpy, networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.network.formats.bif import to_bif as to_bif
    from gomea_bn.network.formats.dot import to_dot as to_dot
    from gomea_bn.network.formats.json_format import from_json as from_json
    from gomea_bn.network.formats.json_format import to_json as to_json
    from gomea_bn.network.formats.net import to_net as to_net
    from gomea_bn.network.formats.other_libraries import to_networkx as to_networkx
    from gomea_bn.network.formats.other_libraries import to_pgmpy as to_pgmpy
    from gomea_bn.network.formats.other_libraries import to_pyagrum as to_pyagrum
    from gomea_bn.network.formats.registry import export as export
    from gomea_bn.network.formats.registry import network_from_file as network_from_file
    from gomea_bn.network.formats.summary import to_text as to_text
    from gomea_bn.network.formats.xdsl import to_xdsl as to_xdsl

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
