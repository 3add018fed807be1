"""A reader of XML files that may be malformed, or made to take all memory."""

from __future__ import annotations

import re
from typing import NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

from gomea_bn.errors import GomeaBnError

_DEEPEST = 100

_LONGEST_DEFAULT = 200


class Element(ElementTree.Element):
    """An element of XML that knows the line of its start, counted from 1."""

    line: int = 0


_XML_ENCODING = re.compile(rb"""(\s*<\?xml[^>]*?encoding=["'])([\w.-]+)(["'])""")


def xml_tree(content: bytes, root: str) -> Element:
    """Return the root element of XML in the encoding that it declares, one of Python's.

    Document types are read, since files of other programs have them, but entities are refused: a few of them can make a
    small file expand to gigabytes. So are another root, and elements that are nested too deeply.
    """
    builder = ElementTree.TreeBuilder(element_factory=Element)
    parser = expat.ParserCreate()
    depth = 0

    def fail(message: str) -> NoReturn:
        raise GomeaBnError(f"line {parser.CurrentLineNumber}: {message}.")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            fail(f"elements are nested more than {_DEEPEST} deep")
        if depth == 1 and tag != root:
            fail(f"wanted the root element {root}, got {tag!r:.60}")
        element = builder.start(tag, attributes)
        assert isinstance(element, Element)
        element.line = parser.CurrentLineNumber

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse_entity(name: str, *_: object) -> None:
        fail(f"it declares the entity {name!r:.60}; remove it, since files with entities are not read")

    def check_default(element: str, _attribute: str, _kind: str, default: str | None, _required: int) -> None:
        if default is not None and len(default) > _LONGEST_DEFAULT:
            fail(f"an attribute of {element!r:.60} has a default of more than {_LONGEST_DEFAULT} characters")

    declared = _XML_ENCODING.match(content[:200])
    if declared is not None and declared[2].lower() not in (b"utf-8", b"utf-16", b"iso-8859-1", b"us-ascii"):
        # of other encodings expat knows those of single bytes alone
        try:
            text = content.decode(declared[2].decode("ascii"))
        except (UnicodeError, LookupError) as error:
            raise GomeaBnError(f"it is not text in the encoding that it declares: {error}.") from error
        content = _XML_ENCODING.sub(rb"\1utf-8\3", text.encode(), count=1)
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse_entity
    parser.AttlistDeclHandler = check_default
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, GomeaBnError):
            raise
        raise GomeaBnError(f"it is not XML: {error}.") from error
    tree = builder.close()
    assert isinstance(tree, Element)
    return tree


def child_text(element: ElementTree.Element, tag: str, owner: str) -> str:
    """Return the text of the child with a tag, without outer blanks; "" if there is none.

    Several are an error, whose message begins with the owner, for example "node 'rain'".
    """
    children = element.findall(tag)
    if len(children) > 1:
        raise GomeaBnError(f"{owner} has {len(children)} elements {tag} where one is allowed.")
    return (children[0].text or "").strip() if children else ""
