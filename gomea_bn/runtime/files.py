"""Files and folders: read whole, as text or as strict, versioned JSON, and written completely or not at all."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import platform
import secrets
import shutil
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from gomea_bn.errors import GomeaBnError, environment_limit, give_warning, is_integer, nearest

SIZE_VARIABLE = "GOMEA_BN_MAX_FILE_BYTES"
"""Environment variable with the largest number of bytes that is read of a network, a front, or a compressed table."""

VERSIONS = {
    "gomea-bn averaged network": 1,
    "gomea-bn cut points": 1,
    "gomea-bn decision": 1,
    "gomea-bn edge probabilities": 1,
    "gomea-bn expert": 1,
    "gomea-bn front": 2,
    "gomea-bn network": 1,
    "gomea-bn networks": 1,
    "gomea-bn run": 1,
    "gomea-bn stability": 1,
}
"""The version of every format of JSON that this release writes, and the newest one that it reads."""

_GZIP_MAGIC = b"\x1f\x8b"
_MOST_BYTES = 2**30
# files of tables and networks rarely shrink to a twentieth; bombs shrink to a thousandth
_MOST_UNPACKED, _MOST_RATIO = 2**28, 100

_SUFFIX = ".part"
# of the name of a file, in that of its temporary file
_MOST_NAME_BYTES = 100


def most_bytes(packed: int | None = None) -> int:
    """Return the largest number of bytes that is read of a file, also after decompression.

    The content of a compressed file of `packed` bytes may have 100 times as many, and at least 256 MiB, unless the
    environment variable `SIZE_VARIABLE` sets another limit.
    """
    default = _MOST_BYTES if packed is None else max(_MOST_UNPACKED, _MOST_RATIO * packed)
    return environment_limit(SIZE_VARIABLE, default, "bytes")


def check_is_file(path: str | os.PathLike[str]) -> None:
    """Raise `GomeaBnError` for a device or a pipe, which may have no end; a missing file and a folder pass."""
    if _is_stream(path):
        raise GomeaBnError(
            f"{named_source(path)} is a device or a pipe, not a file; write its content to a file first."
        )


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is that of a device or a pipe."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def check_unpacked(path: str | os.PathLike[str], n_bytes: int) -> None:
    """Raise `GomeaBnError` if a compressed file holds more bytes, after decompression, than its size justifies."""
    most = most_bytes(os.path.getsize(path))
    if n_bytes > most:
        raise _too_large(named_source(path), most, None)


def file_text(path: str | os.PathLike[str], description: str, *, max_bytes: int | None = None) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark, plain or compressed by gzip.

    Parameters and errors are those of `file_bytes`; bytes that are not such text are another error.
    """
    return decoded(file_bytes(path, description, max_bytes=max_bytes), named_source(path))


def decoded(content: bytes, where: str) -> str:
    """Return bytes in UTF-8, with or without a byte order mark, as text; `where` names them in the error."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GomeaBnError(f"{where} is not UTF-8 text: {error.reason} at byte {error.start}.") from error


def file_bytes(path: str | os.PathLike[str], description: str, *, max_bytes: int | None = None) -> bytes:
    """Return the bytes of a file, plain or compressed by gzip.

    `description` says what the file should be, for example "a network". `max_bytes` limits the content after
    decompression; by default it is `most_bytes()`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise GomeaBnError(f"Reading {description} needs a path, got {path!r:.80}.")
    where = named_source(path)
    check_is_file(path)
    most = most_bytes() if max_bytes is None else max_bytes
    try:
        with open(path, "rb") as file:
            is_compressed = file.read(2) == _GZIP_MAGIC
            if is_compressed:
                most = min(most, most_bytes(os.path.getsize(path)))
            file.seek(0)
            content = (gzip.GzipFile(fileobj=file) if is_compressed else file).read(most + 1)
    except FileNotFoundError as error:
        raise GomeaBnError(f"{where} does not exist.") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise GomeaBnError(f"{where} cannot be read: {reason}.") from error
    except ValueError as error:  # a name with a null character
        raise GomeaBnError(f"{where} cannot be read: {error}.") from error
    if len(content) > most:
        raise _too_large(where, most, f"it is not {description}" if max_bytes is not None else None)
    return content


def unpacked(packed: bytes, where: str) -> bytes:
    """Return the content of bytes that gzip has compressed; `where` names them in errors.

    Content larger than `most_bytes()` is an error.
    """
    most = min(most_bytes(), most_bytes(len(packed)))
    try:
        content = gzip.GzipFile(fileobj=BytesIO(packed)).read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise GomeaBnError(f"{where} is not compressed by gzip: {error}.") from error
    if len(content) > most:
        raise _too_large(where, most, None)
    return content


def _too_large(where: str, most: int, reason: str | None) -> GomeaBnError:
    """Return the error for a file that exceeds a limit: that of a kind of file, or that of all files."""
    why = reason or f"the environment variable {SIZE_VARIABLE} sets this limit"
    return GomeaBnError(f"{where} is larger than {most:,} bytes; {why}.")


def named_source(path: str | os.PathLike[str]) -> str:
    """Return the words that name a file in messages, "File 'x'"."""
    return f"File '{os.fspath(path)!s:.200}'"


@contextmanager
def prefixed_errors(where: str) -> Iterator[None]:
    """Put the name of a source in front of the `GomeaBnError` that its content causes."""
    try:
        yield
    except GomeaBnError as error:
        raise GomeaBnError(f"{where}: {error}") from error


_KINDS = {
    list: "a list",
    str: "text",
    dict: "an object",
    int: "an integer",
    float: "a number",
    bool: "true or false",
}


def read_json(
    source: str | os.PathLike[str],
    description: str,
    form: str | tuple[str, ...],
    *,
    max_bytes: int | None = None,
    advice: str = "",
) -> tuple[dict[str, Any], str]:
    """Return the object in a JSON file, or in JSON text, and the words that name the source in messages.

    The source is a file, or text that begins with a brace, and should be what `description` says, for example "a
    network". Its "format" must be one of `form`, and its "format_version" at most that of `VERSIONS`. Files have by
    default the limit `text_files.most_bytes()`, and text has none. `advice` is a sentence for sources of another
    format. Text that holds NaN or a duplicate key is an error.
    """
    text, where = source_text(source, description, max_bytes=max_bytes)
    return parse_json(text, where, description, form, advice=advice), where


def source_text(
    source: str | os.PathLike[str], description: str, *, max_bytes: int | None = None
) -> tuple[str, str]:
    """Return the text of a file, or the given text if it begins with a brace, and the words that name the source."""
    if not isinstance(source, (str, os.PathLike)):
        raise GomeaBnError(f"Reading {description} needs a path or JSON text, got {type(source).__name__}.")
    if not isinstance(source, str) or source.lstrip()[:1] != "{":
        return file_text(source, description, max_bytes=max_bytes), named_source(source)
    if max_bytes is not None and len(source) > max_bytes:
        raise GomeaBnError(
            f"JSON text of {len(source):,} characters is not {description}; the limit is {max_bytes:,}."
        )
    return source, "JSON text"


def parse_json(
    text: str, where: str, description: str, form: str | tuple[str, ...], *, advice: str = ""
) -> dict[str, Any]:
    """Return the object that JSON text holds, its format and version checked; see `read_json`."""
    return check_format(load_json(text, where), where, description, form, advice=advice)


def head_of(form: str) -> dict[str, Any]:
    """Return the first fields of an object of a format."""
    return {"format": form, "format_version": VERSIONS[form]}


def load_json(text: str, where: str) -> Any:
    """Return the value of JSON text; raises `GomeaBnError` for other text, NaN, infinities and duplicate keys."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    except RecursionError as error:
        raise GomeaBnError(
            f"{where} is not JSON that can be read: its values are nested too deeply."
        ) from error
    except ValueError as error:
        # Python's words advise to change a setting of Python
        is_long = "integer string conversion" in str(error)
        reason = f"an integer has more than {sys.get_int_max_str_digits():,} digits" if is_long else error
        raise GomeaBnError(f"{where} is not JSON: {reason}.") from error


def has_format(path: str | os.PathLike[str], form: str) -> bool:
    """Return whether a file is JSON of a format, of any version; False also for a file that cannot be read."""
    try:
        content = load_json(file_text(path, form), str(path))
    except GomeaBnError:
        return False
    return isinstance(content, dict) and content.get("format") == form


def check_format(
    content: Any, where: str, description: str, form: str | tuple[str, ...], *, advice: str = ""
) -> dict[str, Any]:
    """Return a JSON value if it is an object of a format and version; see `read_json`."""
    forms = (form,) if isinstance(form, str) else form
    if not isinstance(content, dict) or content.get("format") not in forms:
        got = repr(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise GomeaBnError(
            f'{where} is not {description}: wanted "format": {forms[0]!r}, got {got:.80}.{advice and " " + advice}'
        )
    got_version: Any = content.get("format_version")
    version = VERSIONS[content["format"]]
    if not is_integer(got_version) or not 1 <= got_version <= version:
        versions = "1" if version == 1 else f"1 to {version}"
        raise GomeaBnError(
            f"{where} has format_version {got_version!r:.40}; this release reads {versions}. "
            "A newer file needs a newer gomea-bn."
        )
    return content


def check_fields(
    content: Mapping[str, Any], where: str, required: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Raise `GomeaBnError` for an unknown or a missing field of an object."""
    field_names = (*required, *optional)
    for key in content:
        if key not in field_names:
            raise GomeaBnError(
                f"{where} has the unknown field {key!r:.80}; fields are {', '.join(field_names)}."
                f"{nearest(key, field_names)}"
            )
    for key in required:
        if key not in content:
            raise GomeaBnError(f"{where} lacks the field {key!r}.")


def field_of(entry: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    """Return the value under a key; raises `GomeaBnError` if it is missing or of another type."""
    value = entry.get(key)
    if not isinstance(value, kind):
        got = type(value).__name__ if key in entry else "none"
        raise GomeaBnError(f"{where}: wanted {_KINDS[kind]} under {key!r}, got {got}.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key {duplicate!r:.80}")
    return content


def json_text(
    content: Mapping[str, Any], spread: Collection[str] = (), texts: Mapping[str, str] | None = None
) -> str:
    """Return an object as JSON text with one line for every field, and one for every entry of the fields `spread`.

    `texts` are further fields whose values are JSON text already.
    """
    dumps = partial(json.dumps, allow_nan=False)
    fields = []
    for key, value in content.items():
        if key in spread and value:
            is_object = isinstance(value, Mapping)
            entries = (
                [f"{dumps(k)}: {dumps(v)}" for k, v in value.items()] if is_object else map(dumps, value)
            )
            first, last = "{}" if is_object else "[]"
            text = first + "\n    " + ",\n    ".join(entries) + "\n  " + last
        else:
            text = dumps(value)
        fields.append(f"  {dumps(key)}: {text}")
    fields += [
        f"  {json.dumps(key)}: {text.strip()}".replace("\n", "\n  ") for key, text in (texts or {}).items()
    ]
    return "{\n" + ",\n".join(fields) + "\n}\n"


def written(text: str, path: str | os.PathLike[str] | None) -> str:
    """Return a text, and write it to a file if a path is given."""
    if path is not None:
        write_text(path, text)
    return text


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Replace a file by a text in UTF-8, whose line ends do not change, and return its path; see `write_bytes`."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise GomeaBnError(
            f"Cannot write '{os.fspath(path)}': the text has half of a surrogate pair, {error.object[error.start]!r}, "
            "which no UTF-8 file can hold; rename the column or level that has it."
        ) from error
    return write_bytes(path, content)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, mode: int = 0o666) -> Path:
    """Replace a file and return its path.

    The content goes to a temporary file in the same folder, which is then renamed. Readers therefore see the old file
    or the complete new one. Temporary files for this file that killed processes left are removed, with a
    `GomeaBnWarning`. A device or a pipe is not replaced: the content is written to it. `mode` are the permissions of
    the file, of which the process's umask is taken away. An older file stays as it is if the new one cannot be written.
    """
    target = Path(os.path.realpath(path))
    if _is_stream(path):
        return _write_into(path, content)
    if not os.path.isdir(target.parent):
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': the folder '{target.parent}' does not exist.")
    if os.path.isdir(target):
        raise GomeaBnError(
            f"Cannot write '{os.fspath(path)}': it is a folder, not a file; give the name of a file."
        )
    check_name(target)
    prefix = _temporary_prefix(target)
    temporary = target.with_name(f"{prefix}{process_mark()}{_SUFFIX}")
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:
            file.write(content)
        os.replace(temporary, target)
    except OSError as error:
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
    remove_leftovers(target)
    return Path(path)


def check_name(path: str | os.PathLike[str]) -> None:
    """Raise `GomeaBnError` if the file system allows no file of this name, for example because it is too long."""
    try:
        os.lstat(path)
    except ValueError as error:
        raise GomeaBnError(f"Cannot write '{os.fspath(path)!s:.200}': {error}.") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise GomeaBnError(f"Cannot write '{os.fspath(path)!s:.200}...': {error.strerror}.") from error


def _write_into(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write to a device or a pipe, which must not be replaced by a file, and return its path."""
    try:
        # a pipe without a reader is an error instead of a wait without end
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "wb") as file:
            os.set_blocking(descriptor, True)
            file.write(content)
    except OSError as error:
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': {error.strerror or error}.") from error
    return Path(path)


def _temporary_prefix(target: Path) -> str:
    """Return the beginning of the names of temporary files for a file; a name has at most 255 bytes."""
    return f".{os.fsdecode(os.fsencode(target.name)[:_MOST_NAME_BYTES])}."


def remove_leftovers(target: Path) -> None:
    """Remove the temporary files for a file that killed processes left, with a `GomeaBnWarning`."""
    folder, prefix = target.parent, _temporary_prefix(target)
    for name in os.listdir(folder) if folder.is_dir() else []:
        mark = name.removeprefix(prefix).removesuffix(_SUFFIX)
        if len(mark) == len(name) - len(prefix) - len(_SUFFIX) and is_left_over(mark):
            with suppress(OSError):
                os.unlink(folder / name)
                give_warning(f"Removed '{folder / name}', the unfinished file of a process that was killed.")


def check_folder(folder: Path, files: Iterable[str]) -> None:
    """Raise `GomeaBnError` if files cannot be written to a folder, which need not exist; writes nothing."""
    existing = Path(os.path.abspath(folder))
    while not os.path.lexists(existing):
        existing = existing.parent
    if not os.path.isdir(existing):
        raise GomeaBnError(f"Cannot write to folder '{folder}': '{existing}' is not a folder.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise GomeaBnError(f"Cannot write to folder '{folder}': no permission to write in '{existing}'.")
    for name in files:
        target = folder / name
        check_name(target)
        if os.path.isdir(target):
            raise GomeaBnError(f"Cannot write '{target}': a folder has this name.")


def check_replaceable(folder: Path, names: Sequence[str], main: str, form: str, what: str) -> None:
    """Raise `GomeaBnError` if a folder has entries of some names that would be lost.

    Only those of `what`, which are recognised by its file `main` of a format, may be replaced.
    """
    in_the_way = [name for name in names if os.path.lexists(folder / name)]
    if in_the_way and not has_format(folder / main, form):
        raise GomeaBnError(
            f"Cannot write '{folder / in_the_way[0]}': the existing file does not belong to {what} (there is no "
            f"{main} of {what}) and would be lost; choose another folder."
        )


def process_mark() -> str:
    """Return a text for the name of a temporary entry: this process, this machine, and a random part."""
    return f"{os.getpid()}-{_host()}-{secrets.token_hex(4)}"


def is_left_over(mark: str) -> bool:
    """Return whether the process that made a text by `process_mark` has surely ended.

    A process of another machine, or one that cannot be asked for, may still run.
    """
    number, _, rest = mark.partition("-")
    # elsewhere a signal of number 0 would end the process
    if os.name != "posix" or not number.isascii() or not number.isdigit() or not rest.startswith(_host()):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError, ValueError):
        return False
    return False


def _host() -> str:
    """Return a short name of this machine: numbers of processes mean nothing on another one."""
    return hashlib.sha256(platform.node().encode(errors="surrogateescape")).hexdigest()[:8]


_PREFIX = ".part-"
# folders inside the temporary one: new entries before and after they are valid, and what they replace
_NEW, _READY, _OLD = "new", "ready", "old"
_PLAN = "plan.json"
_MOST_PLAN_BYTES = 100_000


@contextmanager
def replaced_entries(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield an empty folder to fill; at the end of the block its entries replace those of another folder.

    The folder is made if absent. `names` are those of all entries that belong together: those that the block did not
    make are removed, and other entries stay. After an error the entries are as they were.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        finish_exchange(folder, names)
        temporary = folder / f"{_PREFIX}{process_mark()}"
        (temporary / _NEW).mkdir(parents=True)
        try:
            yield temporary / _NEW
            plan = {"names": list(names), "new": sorted(os.listdir(temporary / _NEW))}
            (temporary / _PLAN).write_text(json.dumps(plan), encoding="utf-8")
            os.rename(temporary / _NEW, temporary / _READY)
            _exchange(folder, temporary, plan["names"], plan["new"])
            shutil.rmtree(temporary, ignore_errors=True)
        finally:
            shutil.rmtree(temporary / _NEW, ignore_errors=True)
            (temporary / _PLAN).unlink(missing_ok=True)
            # entries that could not be moved back stay
            for emptied in (temporary / _OLD, temporary):
                with suppress(OSError):
                    emptied.rmdir()
    except OSError as error:
        raise GomeaBnError(f"Cannot write to folder '{folder}': {error.strerror or error}.") from error


def finish_exchange(folder: Path, names: Sequence[str]) -> None:
    """Complete the exchange of entries that a killed process had begun, and remove what such processes left.

    Both are said by a `GomeaBnWarning`. Leftovers of processes that may still run stay. Only entries of some names may
    be moved: a folder can come from a stranger, so its own plan does not decide that, and an exchange of other entries
    stays as it is.
    """
    for temporary in sorted(folder.glob(f"{_PREFIX}*")):
        if not _is_own_folder(temporary) or not is_left_over(temporary.name.removeprefix(_PREFIX)):
            continue
        if not _is_own_folder(temporary / _READY):
            shutil.rmtree(temporary, ignore_errors=True)
            _warn_of_exchange(
                f"Removed unfinished files of a process that was killed from folder '{folder}'."
            )
            continue
        try:
            plan = _plan(temporary)
            if not {*plan["names"], *plan["new"]} <= set(names):
                continue
            _move(folder, temporary, plan["names"], plan["new"], [])
        except (OSError, ValueError, RecursionError) as error:
            raise GomeaBnError(
                f"A process was killed while it replaced the files of folder '{folder}', and this cannot be completed: "
                f"{error}. The new files are in '{temporary / _READY}', the old ones in '{temporary / _OLD}'."
            ) from error
        shutil.rmtree(temporary, ignore_errors=True)
        _warn_of_exchange(
            f"Completed the exchange of files in folder '{folder}' that a killed process had begun."
        )


def _exchange(folder: Path, temporary: Path, names: Sequence[str], new: Sequence[str]) -> None:
    """Move valid entries into a folder as `_move` does; undo all moves after an error."""
    moves: list[tuple[Path, Path]] = []
    try:
        _move(folder, temporary, names, new, moves)
    except BaseException:
        for source, target in reversed(moves):
            if os.path.lexists(target) and not os.path.lexists(source):
                os.rename(target, source)
        # the entries are no longer valid, so that nobody completes the exchange
        os.rename(temporary / _READY, temporary / _NEW)
        raise


def _move(
    folder: Path, temporary: Path, names: Sequence[str], new: Sequence[str], moves: list[tuple[Path, Path]]
) -> None:
    """Move entries of a folder to `old` and the valid ones into the folder, and note every move before it is made.

    Entries that another process moved before it was killed stay where they are.
    """
    ready, old = temporary / _READY, temporary / _OLD
    old.mkdir(exist_ok=True)
    for name in sorted({*names, *new}):
        is_waiting = os.path.lexists(ready / name)
        if os.path.lexists(folder / name) and (is_waiting or name not in new):
            moves.append((folder / name, old / name))
            os.rename(*moves[-1])
        if is_waiting:
            moves.append((ready / name, folder / name))
            os.rename(*moves[-1])


def _plan(temporary: Path) -> dict[str, list[str]]:
    """Return the plan of an exchange; raises `ValueError` if it is damaged."""
    check_is_file(temporary / _PLAN)
    with open(temporary / _PLAN, "rb") as file:
        plan = json.loads(file.read(_MOST_PLAN_BYTES))
    if not isinstance(plan, dict) or set(plan) != {"names", "new"}:
        raise ValueError("its plan is damaged")
    for entries in plan.values():
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise ValueError("its plan is damaged")
    if (temporary / _OLD).is_symlink():
        raise ValueError(f"'{_OLD}' is a link")
    return plan


def _is_own_folder(path: Path) -> bool:
    """Return whether a path is a folder and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _warn_of_exchange(text: str) -> None:
    give_warning(text)
