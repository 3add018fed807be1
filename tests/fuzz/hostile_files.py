"""Damaged files: seeded changes of bytes, of texts and of JSON values, and the files that are changed."""

import copy
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.random import Generator

from gomea_bn import DiscretizedBayesNet

__all__ = ["HOSTILE_VALUES", "damage_front", "mutated_bytes", "mutated_json", "mutated_text", "network_files"]

HOSTILE_VALUES: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: 0, lambda: -1, lambda: 1.5, lambda: 1e308, lambda: -1e308, lambda: 5e-324,
    lambda: 10**400, lambda: -(10**400), lambda: 2**63, lambda: 10**9, lambda: "", lambda: "a", lambda: "\ud800",
    lambda: "x" * 5000, lambda: "../../etc", list, dict, lambda: [[]], lambda: [0, 0], lambda: [None],
    lambda: {"a": 1}, lambda: _nested(200), lambda: ["a", "a"], lambda: [10**400], lambda: "\x00", lambda: "nan",
]  # fmt: skip
_WORDS = (
    b"1e999", b"-1", b"99999999999999999999", b"nan", b"{", b"}", b"[", b"]", b"(", b")", b'"', b";", b",", b"\x00",
    b"\xff\xfe", b"\xed\xa0\x80", b"0", b"|", b"<!DOCTYPE x>", b"&a;", b"/*", b"property", b"default", b" " * 50,
)  # fmt: skip


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def mutated_bytes(rng: Generator, content: bytes) -> bytes:
    """Return bytes with one to four parts removed, repeated, moved, replaced, or filled in."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        low, high = sorted(int(i) for i in rng.integers(0, len(data) + 1, 2))
        high = min(high, low + int(rng.choice([1, 4, 40, 4000])))
        kind = int(rng.integers(6))
        if kind == 0:
            del data[low:high]
        elif kind == 1:
            data[low:low] = data[low:high]
        elif kind == 2 and data:
            data[low % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == 3:
            data[low:high] = _WORDS[int(rng.integers(len(_WORDS)))]
        elif kind == 4:
            data[low:low] = _WORDS[int(rng.integers(len(_WORDS)))]
        else:
            del data[high:]
    return bytes(data)


def mutated_text(rng: Generator, text: str) -> str:
    """Return a text with one to three of its words replaced by words of the same text, or by hostile ones."""
    words = re.split(r"(\W)", text)
    for _ in range(int(rng.integers(1, 4))):
        position = int(rng.integers(len(words)))
        if rng.random() < 0.6:
            words[position] = words[int(rng.integers(len(words)))]
        else:
            words[position] = _WORDS[int(rng.integers(len(_WORDS)))].decode("utf-8", errors="replace")
    return "".join(words)


def mutated_json(rng: Generator, value: Any) -> Any:
    """Return a JSON value with one to three of its parts removed, repeated, or replaced."""
    value = copy.deepcopy(value)
    for _ in range(int(rng.integers(1, 4))):
        parts: list[tuple[Any, Any]] = []
        _collect(value, parts)
        if not parts:
            return value
        # long tables would take most of the draws
        depth = int(rng.integers(min(len(parts), int(rng.choice([8, 60, 10**9])))))
        holder, key = parts[depth]
        kind = int(rng.integers(5))
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == 2:
            other, other_key = parts[int(rng.integers(len(parts)))]
            holder[key] = copy.deepcopy(other[other_key])
        else:
            holder[key] = HOSTILE_VALUES[int(rng.integers(len(HOSTILE_VALUES)))]()
    return value


def _collect(value: Any, parts: list[tuple[Any, Any]]) -> None:
    """Append (container, key) of all parts of a value, outer ones first."""
    level: list[Any] = [value]
    while level:
        holders = [holder for holder in level if isinstance(holder, (dict, list))]
        inner = [(h, key) for h in holders for key in (h if isinstance(h, dict) else range(len(h)))]
        parts += inner
        level = [holder[key] for holder, key in inner]


def network_files(network: DiscretizedBayesNet) -> dict[str, bytes]:
    """Return a network as the content of files of all formats that can be read, by ending."""
    return {
        "json": network.to_json().encode(),
        "bif": network.to_bif().encode(),
        "xdsl": network.to_xdsl().encode(),
        "net": network.to_net().encode(),
        "xmlbif": (
            b"<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
            b"<DEFINITION><FOR>a</FOR><TABLE>.25 .75</TABLE></DEFINITION></NETWORK></BIF>"
        ),
    }


def damage_front(rng: Generator, folder: Path) -> None:
    """Change the files of a front; digests are mostly mended, as a stranger who wants to be read would do."""
    main = json.loads((folder / "front.json").read_bytes())
    text, _, tables = gzip.decompress((folder / "networks.gz").read_bytes()).partition(b"\n")
    kind = int(rng.integers(5))
    if kind == 0:
        main = mutated_json(rng, main)
    elif kind == 1:
        text = json.dumps(mutated_json(rng, json.loads(text))).encode()
    elif kind == 2:
        tables = mutated_bytes(rng, tables)
    elif kind == 3 and (folder / "expert_completed.json").exists():
        content = json.loads((folder / "expert_completed.json").read_bytes())
        (folder / "expert_completed.json").write_text(json.dumps(mutated_json(rng, content)))
    packed = gzip.compress(text + b"\n" + tables, mtime=0)
    if kind == 4:
        packed = mutated_bytes(rng, packed)
    (folder / "networks.gz").write_bytes(packed)
    if isinstance(main, dict) and isinstance(main.get("sha256"), dict) and rng.random() < 0.9:
        for name in list(main["sha256"]):
            if isinstance(name, str) and (folder / name).is_file():
                main["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    content_of_main = json.dumps(main).encode()
    if rng.random() < 0.1:
        content_of_main = mutated_bytes(rng, content_of_main)
    (folder / "front.json").write_bytes(content_of_main)
