"""The formats of files of networks: their names, endings, writers and readers."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from gomea_bn.errors import GomeaBnError, check_choice, give_warning
from gomea_bn.runtime.files import decoded, file_bytes, named_source, prefixed_errors
from gomea_bn.texts import listed

# commands import this module before they know whether they need numba
if TYPE_CHECKING:
    from gomea_bn.network.recorded import NetworkLike

    Net = TypeVar("Net", bound=NetworkLike)


FORMATS = ("json", "bif", "dot", "xdsl", "net", "xmlbif")
"""Names of the formats, which are also the endings of their files."""
WRITTEN = tuple(name for name in FORMATS if name != "xmlbif")
"""Formats that can be written; the method `to_...` of networks with this name writes each."""
READ = tuple(name for name in FORMATS if name != "dot")
"""Formats that can be read: the function `{name}_variables` of module `{name}` returns the variables of a file.

JSON has a reader of its own.
"""
# formats whose reader takes bytes instead of text, since the file declares their encoding
_XML = ("xdsl", "xmlbif")

# formats of other programs, by ending, with what makes a file of FORMATS of theirs
_FOREIGN = {
    "dsl": "GeNIe's former format; open it in GeNIe, and save it as .xdsl",
    **dict.fromkeys(("dne", "dnet"), "Netica's format; open it in GeNIe, and save it as .xdsl"),
    "neta": "Netica's binary format; save it as .dne, open that in GeNIe, and save it as .xdsl",
    "uai": "the format of the UAI competitions; pyAgrum makes a .bif of it: saveBN(loadBN('a.uai'), 'a.bif')",
}


def format_of(path: str | os.PathLike[str], *, compressed: bool = False) -> str | None:
    """Return the name of the format that belongs to the ending of a path, or None; raise for those of other programs.

    With `compressed` an ending may be followed by .gz.
    """
    name = os.path.basename(str(path)).lower()
    if compressed:
        name = name.removesuffix(".gz")
    _, dot, ending = name.rpartition(".")
    if not dot:
        return None
    if ending in _FOREIGN:
        raise GomeaBnError(
            f"'{os.fspath(path)}': .{ending} files are neither read nor written. This is {_FOREIGN[ending]}."
        )
    # other endings of XMLBIF
    ending = "xmlbif" if ending in ("bifxml", "xml") else ending
    return ending if ending in FORMATS else None


def export(network: NetworkLike, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a network to a file; see `DiscretizedBayesNet.export`."""
    check_choice("format", format, WRITTEN, optional=True)
    chosen = format or format_of(path)
    if chosen not in WRITTEN:
        endings = listed(f".{name}" for name in WRITTEN)
        raise GomeaBnError(
            f"'{os.fspath(path)}' must end in one of {endings}.", ['pass format="bif", for example']
        )
    getattr(network, f"to_{chosen}")(path)


def network_from_file(
    path: str | os.PathLike[str], kind: Callable[..., Net], format: str | None = None, *, restore: bool = True
) -> Net:
    """Return the network of a file, which `kind` makes of its parts; see `DiscretizedBayesNet.from_file`."""
    from gomea_bn.network.formats.discrete import network_of_variables
    from gomea_bn.network.formats.json_format import from_json

    chosen = format or format_of(path, compressed=True) or "json"
    check_choice("format", chosen, READ)
    if chosen == "json":
        return from_json(path, kind)
    variables_of: Any = getattr(import_module(f"gomea_bn.network.formats.{chosen}"), f"{chosen}_variables")
    where = named_source(path)
    content = file_bytes(path, f"a {chosen.upper()} file")
    source = content if chosen in _XML else _text_of(content, where)
    with prefixed_errors(where):
        return network_of_variables(variables_of(source), kind, restore=restore)


def _text_of(content: bytes, where: str) -> str:
    """Return the text of a file of another program: UTF-8, UTF-16 with its mark, or with a warning Windows-1252."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError as error:
            raise GomeaBnError(
                f"{where} is not UTF-16 text: {error.reason} at byte {error.start}."
            ) from error
    try:
        return decoded(content, where)
    except GomeaBnError:
        # most of a file is in ASCII
        is_text = b"\0" not in content and 2 * sum(byte < 128 for byte in content) > len(content)
        if not is_text or (text := _in_cp1252(content)) is None:
            raise
    odd = next((line.strip() for line in text.splitlines() if not line.isascii()), "")
    give_warning(f"{where} is not UTF-8 text; it is read as Windows-1252, for example {odd!r:.60}.")
    return text


def _in_cp1252(content: bytes) -> str | None:
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError:
        return None
