"""Kernels: the decorator that compiles them, what it compiles, and the machine code that it keeps on disk.

Each kernel that Python calls becomes one piece of machine code, with all that it calls. Numba's own dispatcher
optimises and emits every kernel on its own, with a copy of all kernels below it, and then does the same work again in
each caller. Kernels that are only called by others are therefore typed and lowered here, but left unoptimised; the
kernel that Python calls is optimised once, as a whole.

On disk there is one file per kernel and argument types, in a folder that only its owner writes and whose name changes
with all sources that compiled code depends on. A file holds a pickle, so it is read only if nobody else can have
written it. Whatever goes wrong with the folder, kernels are compiled in memory, with a warning: code that was compiled
from other sources is never used in their place.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, BinaryIO, ParamSpec, TypeVar, cast

import llvmlite.binding as llvm
import numba
import numba._dynfunc as numba_functions
import numba.core.config as numba_config
import numpy as np
from llvmlite import ir
from numba.core import cgutils as numba_builders
from numba.core import typed_passes as numba_typed
from numba.core import types
from numba.core import untyped_passes as numba_untyped
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.environment import lookup_environment
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_new_ref as numba_new_value
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.types.functions import BaseFunction as NumbaFunction
from numba.core.typing import templates as numba_templates
from platformdirs import user_cache_path

from gomea_bn.errors import GomeaBnError, give_warning
from gomea_bn.runtime.files import write_bytes
from gomea_bn.runtime.held_tuples import held, promise_fields
from gomea_bn.runtime.kernel_progress import compiling, kernel_needed
from gomea_bn.runtime.sources import package_sources

_HEADER = b"gomea-bn kernel 2\n"
_DIGEST_BYTES = 32
# name of a folder of kernels, a part of a digest
_FOLDER_NAME = re.compile(r"[0-9a-f]{16}")
_MOST_FOLDERS = 12
_DAY = 86_400.0
_warned: set[Path] = set()

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A", bound="np.ndarray[Any, Any]")

_chosen_by_user: str = getattr(numba_config, "CACHE_DIR")  # noqa: B009 (numba sets its options at run time)
_HAS_KERNELS = re.compile(rb"^@(separate_)?kernel\b", re.MULTILINE)
_IMPORTS = re.compile(rb"^\s*from (gomea_bn[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_WITHOUT_CODE = frozenset(
    f"gomea_bn.{name}"
    for name in (
        "data.columns",
        "data.dates",
        "data.sources",
        "data.table",
        "errors",
        "problems.cuts.policies",
        "problems.cuts.shape",
        "runtime.files",
        "runtime.kernel_progress",
        "runtime.sources",
        "texts",
    )
)
"""Modules that modules with kernels import and no kernel uses: editing a message or a reader leaves code valid."""
_PACKAGE = Path(__file__).resolve().parent.parent
_COLOUR = re.compile(r"\x1b\[\d*m")
# numba's report of a place in the source: the file, the number of the line, and the line above a mark
_PLACE = re.compile(
    r'^ *File "(?P<file>[^"]+)", line (?P<line>\d+):\n(?P<source>(?: *[^\s^].*\n)+) *\^', re.MULTILINE
)
_WHOLE_IMPORTS = re.compile(rb"^\s*import (gomea_bn[\w.]*)", re.MULTILINE)
_PLAIN_TYPES = (
    types.Array,
    types.Boolean,
    types.NoneType,
    types.Number,
    types.NumPyRandomGeneratorType,
    types.Omitted,
)
# numba declares no types of these
_builders: Any = numba_builders
_NumbaFunction: Any = NumbaFunction
_templates: Any = numba_templates
_new_value: Any = numba_new_value
_runtime: Any = rtsys
_foreign_digests: set[str] = set()
_kernels: list[KernelDispatcher] = []
# what numba's own functions return, by themselves and the types of their arguments
_types_of_calls: dict[tuple[Any, ...], Any] = {}
# steps of numba for what no kernel of this package has: inner functions, functions to be written out, literal values,
# expressions of whole arrays
_UNUSED_PASSES = frozenset(
    (
        numba_typed.AnnotateTypes,
        numba_typed.DumpParforDiagnostics,
        numba_typed.InlineOverloads,
        numba_typed.NopythonRewrites,
        numba_untyped.FindLiterallyCalls,
        numba_untyped.InlineClosureLikes,
        numba_untyped.InlineInlinables,
        numba_untyped.LiteralPropagationSubPipelinePass,
        numba_untyped.LiteralUnroll,
        numba_untyped.MakeFunctionToJitFunction,
        numba_untyped.RewriteDynamicRaises,
        numba_untyped.WithLifting,
    )
)


def fingerprint(*functions: Callable[..., Any]) -> str:
    """Return a digest that changes with the code and constants of functions and of the kernels that they call.

    Constants are global and enclosed numbers, texts, tuples and arrays, whose values compiling freezes.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()
    for function in functions:
        for part in _parts(function, seen):
            digest.update(part)
    return digest.hexdigest()


def _parts(function: Callable[..., Any], seen: set[int]) -> Iterator[bytes]:
    plain = getattr(function, "py_func", function)
    if id(plain) in seen or not hasattr(plain, "__code__"):
        return
    seen.add(id(plain))
    yield from _code_parts(plain.__code__)
    values = {name: plain.__globals__[name] for name in plain.__code__.co_names if name in plain.__globals__}
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        values[name] = cell.cell_contents
    for name, value in sorted(values.items()):
        if isinstance(value, np.ndarray):
            yield f"{name} {value.dtype} {value.shape}".encode() + value.tobytes()
        elif isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic)):
            yield f"{name} {value!r}".encode()
        elif callable(value) and not (getattr(value, "__module__", "") or "").startswith(
            ("gomea_bn.", "numpy")
        ):
            yield from _parts(value, seen)


def _code_parts(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(constant).encode()


class _KernelLibrary(JITCodeLibrary):
    """Code of a kernel."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Take in the code of functions."""
        promise_fields(ir_module, self.codegen.target_data)
        super().add_ir_module(ir_module)  # type: ignore[no-untyped-call]


class _PartLibrary(_KernelLibrary):
    """Unoptimised code of a kernel that other kernels call, for linking only."""

    def finalize(self) -> None:
        """Close the library without linking, optimising or emitting it."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalized = True

    def first_hand_module(self) -> Any:
        """Return the code of this kernel without that of the kernels below it."""
        return super()._get_module_for_linking()  # type: ignore[no-untyped-call]

    def _get_module_for_linking(self) -> Any:
        """Return the code of this kernel with all below it, for callers that numba alone compiles."""
        whole = self.first_hand_module().clone()
        for library in _callers_first([self])[1:]:
            whole.link_in(_first_hand(library), preserve=True)
        return whole


class _WholeLibrary(_KernelLibrary):
    """Machine code of a kernel that Python calls, and of all kernels below it."""

    def finalize(self) -> None:
        """Link all libraries below, optimise and emit the code."""
        self._linking_libraries = [_FirstHand(each) for each in _callers_first(self._linking_libraries)]
        super().finalize()  # type: ignore[no-untyped-call]


def _callers_first(libraries: Sequence[Any]) -> list[Any]:
    """Return libraries and all below them, each after all that need it: linking drops code that nothing needs yet."""
    seen: set[int] = set()
    callees_first: list[Any] = []

    def visit(library: Any) -> None:
        if id(library) not in seen:
            seen.add(id(library))
            below_it = library._linking_libraries if isinstance(library, _PartLibrary) else []
            for below in reversed(below_it):
                visit(below)
            callees_first.append(library)

    for library in reversed(libraries):
        visit(library)
    return callees_first[::-1]


class _CallByAddress:
    """The library of a separate kernel as its callers link it: they look its machine code up at their first call."""

    def __init__(self, key: str, kernel: KernelDispatcher, arguments: tuple[Any, ...]) -> None:
        name = kernel.py_func.__module__, kernel.py_func.__qualname__
        # numba calls these before it loads the machine code of a caller from a file
        self._reload_init = {partial(_note_separate, key, *name, arguments)}

    def _ensure_finalized(self) -> None:
        """Do nothing: there may be no machine code yet."""

    def _get_module_for_linking(self) -> Any:
        return llvm.parse_assembly("")


# module, name and types of arguments of separate kernels that others call
_separate: dict[str, tuple[str, str, tuple[Any, ...]]] = {}


def _note_separate(key: str, module: str, name: str, arguments: tuple[Any, ...]) -> None:
    """Take in which kernel `address_of_separate` is asked for by a key."""
    _separate[key] = module, name, arguments


def address_of_separate(key: str) -> int:
    """Return the address of a separate kernel, loaded or compiled by now; machine code of other kernels calls this."""
    module, name, arguments = _separate[key]
    kernel = getattr(import_module(module), name)
    kernel.compile(arguments)
    compiled = kernel.overloads[arguments]
    if compiled.signature.return_type != kernel.declared_type:
        returned = compiled.signature.return_type
        raise TypeError(f"The separate kernel {name} returns {returned}, other than its annotation says.")
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def _implementation_by_address(key: str, signature: Any, library: _CallByAddress) -> Any:
    """Return what numba calls to write a call of a separate kernel: by an address, which the first call looks up."""

    def write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        slot = _global(builder.module, f"separate.{key}", ir.IntType(8).as_pointer()(None))
        found = _builders.alloca_once_value(builder, builder.load(slot))
        with _builders.if_unlikely(builder, _builders.is_null(builder, builder.load(found))):
            text = context.insert_const_string(builder.module, key)
            address = builder.call(_lookup(context, builder.module), [text])
            with _builders.if_unlikely(builder, _builders.is_null(builder, address)):
                context.call_conv.return_exc(builder)
            builder.store(address, slot)
            builder.store(address, found)
        kind = context.call_conv.get_function_type(signature.return_type, signature.args)
        function = builder.bitcast(builder.load(found), kind.as_pointer())
        status, result = context.call_conv.call_function(
            builder, function, signature.return_type, signature.args, args
        )
        with _builders.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return _new_value(context, builder, signature.return_type, result)

    implementation: Any = write
    implementation.signature = signature.args
    implementation.libs = (library,)
    return implementation


def _global(module: Any, name: str, value: Any) -> Any:
    """Return the global variable of a module for a name, which begins with a value."""
    if name not in module.globals:
        variable = ir.GlobalVariable(module, value.type, name)
        variable.linkage, variable.initializer = "internal", value
    return module.globals[name]


def _lookup(context: Any, module: Any) -> Any:
    """Return the machine code that calls `address_of_separate`: null if that raised, with Python's error set."""
    text = ir.IntType(8).as_pointer()
    name = "gomea_bn_address_of_separate"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(text, [text]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("cold")
    builder = ir.IRBuilder(function.append_basic_block())
    python = context.get_python_api(builder)
    lock = python.gil_ensure()
    found = _builders.alloca_once_value(builder, text(None))
    ours = python.import_module(context.insert_const_string(module, __name__))
    with builder.if_then(_builders.is_not_null(builder, ours)):
        kind = ir.FunctionType(python.pyobj, [python.pyobj, text, text], var_arg=True)
        call = _builders.get_or_insert_function(module, kind, "PyObject_CallMethod")
        method, format_ = (
            context.insert_const_string(module, part) for part in (address_of_separate.__name__, "s")
        )
        address = builder.call(call, [ours, method, format_, function.args[0]])
        with builder.if_then(_builders.is_not_null(builder, address)):
            builder.store(python.long_as_voidptr(address), found)
            python.decref(address)
        python.decref(ours)
    python.gil_release(lock)
    builder.ret(builder.load(found))
    return function


class _FirstHand:
    """A library as `_WholeLibrary` links it; equal to others of the same library."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._reload_init = library._reload_init

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FirstHand) and other._library is self._library

    def __hash__(self) -> int:
        return id(self._library)

    def _get_module_for_linking(self) -> Any:
        return _first_hand(self._library)


def _first_hand(library: Any) -> Any:
    return (
        library.first_hand_module()
        if isinstance(library, _PartLibrary)
        else library._get_module_for_linking()
    )


class _KernelCompiler(Compiler):
    """Compiles a kernel; those of this package without the steps that none of them needs."""

    def define_pipelines(self) -> list[Any]:
        """Return the steps of the compiler."""
        pipelines: list[Any] = super().define_pipelines()  # type: ignore[no-untyped-call]
        if not _is_ours(self.state.func_id.func):
            return pipelines
        needed: Any = PassManager("kernel")  # type: ignore[no-untyped-call]
        for each, description in pipelines[0].passes:
            if each not in _UNUSED_PASSES:
                needed.add_pass(each, description)
        needed.finalize()
        return [needed]


class _WholeCompiler(_KernelCompiler):
    """Compiles a kernel that Python calls."""

    def compile_extra(self, func: Any) -> Any:
        """Return the compiled function, ready to be called."""
        self.state.flags.no_cfunc_wrapper = True
        self.state.library = _new_library(_WholeLibrary, self.state.targetctx.codegen(), func)
        compiled = super().compile_extra(func)  # type: ignore[no-untyped-call]
        for name in [value.name for value in compiled.library._final_module.global_variables]:
            environment = None
            if name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(name)  # type: ignore[no-untyped-call]
            if environment is not None:
                compiled.library.codegen.set_env(name, environment)
        return compiled


class CalledKernelCompiler(_KernelCompiler):
    """Compiles a kernel for its callers alone."""

    def compile_extra(self, func: Any) -> Any:
        """Return the typed and lowered function, which has no machine code of its own."""
        flags = self.state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        self.state.library = _new_library(_PartLibrary, self.state.targetctx.codegen(), func)
        compiled = super().compile_extra(func)  # type: ignore[no-untyped-call]
        compiled.library._ensure_finalized()
        # numba looks functions up by such an object, which is never called: its address is 0
        description, environment = compiled.fndesc, compiled.environment
        key = numba_functions.make_function(
            description.lookup_module(), func.__name__, "", 0, environment, (compiled.library,)
        )
        compiled.target_context.insert_user_function(key, description, [compiled.library])
        return compiled._replace(entry_point=key)


def _new_library(kind: type[JITCodeLibrary], codegen: Any, function: Any) -> Any:
    library = kind(codegen, function.__qualname__)
    library.enable_object_caching()  # type: ignore[no-untyped-call]
    return library


class KernelDispatcher(CPUDispatcher):
    """A compiled function: `compile` is for calls from Python; calls from other kernels have a compiler of theirs.

    All calls of a separate kernel use the same machine code, which is compiled when the first of them is made.
    """

    _cache: Any
    _compiler: Any

    def __init__(
        self, py_func: Any, locals: Any = None, targetoptions: Any = None, *, is_separate: bool = False
    ) -> None:
        super().__init__(py_func, locals or {}, dict(targetoptions or {}), pipeline_class=_WholeCompiler)
        self._is_separate = is_separate
        # of a separate kernel, by the types of arguments
        self._keys: dict[tuple[Any, ...], str] = {}

    @cached_property
    def _part(self) -> Any:
        """What other kernels call; it is made when the first of them is compiled."""
        return CPUDispatcher(
            self.py_func, self.locals, dict(self.targetoptions), pipeline_class=CalledKernelCompiler
        )

    def compile(self, sig: Any) -> Any:
        """Compile for a call from Python, or load what is compiled already.

        It is a `GomeaBnError` if a line outside this package cannot be typed.
        """
        try:
            with global_compiler_lock, compiling(), _rare_collections(), _remembered_types():
                return super().compile(sig)
        except TypingError as error:
            problem = _problem_of_line(str(error))
            if problem is None:
                raise
            raise problem from None
        finally:
            # without a source file there is no cache of ours
            release = getattr(self._cache, "release", None)
            if release is not None:
                release()

    def typeof_pyval(self, val: Any) -> Any:
        """Return the type of an argument from Python."""
        return held(super().typeof_pyval(val))

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the template of a call from another kernel; constants do not count as types of their own."""
        general = {name: _without_constants(kws[name]) for name in kws}
        arguments = tuple(map(_without_constants, args))
        if not self._is_separate:
            return self._part.get_call_template(arguments, general)
        pysig, arguments = self._compiler.fold_argument_types(arguments, general)
        arguments = tuple(arguments)
        called = _templates.signature(self.declared_type, *arguments)
        if arguments not in self._keys:
            self._add_call(called)
        name = self.py_func.__name__
        return (
            _templates.make_concrete_template(f"CallTemplate({name})", name, [called]),
            pysig,
            arguments,
            {},
        )

    @property
    def declared_type(self) -> Any:
        """Type of what a separate kernel returns, by its annotation."""
        declared = self.py_func.__annotations__.get("return")
        if declared not in _DECLARED_TYPES:
            raise TypeError(
                f"The separate kernel {self.py_func.__name__} must return float or int, got {declared!r}."
            )
        return _DECLARED_TYPES[declared]

    def _add_call(self, called: Any) -> None:
        """Let other kernels call a separate kernel with some types."""
        name = self.py_func.__module__, self.py_func.__qualname__
        key = hashlib.sha256(repr((*name, str(called))).encode()).hexdigest()[:16]
        self._keys[called.args] = key
        _note_separate(key, *name, called.args)
        # numba looks implementations up here, also those of its own functions
        overloads = self.targetctx._defns[key]
        implementation = _implementation_by_address(key, called, _CallByAddress(key, self, called.args))
        overloads.append(implementation, called.args)

    def get_overload(self, sig: Any) -> Any:
        """Return the key by which another kernel finds this one."""
        return self._keys[tuple(sig)] if self._is_separate else self._part.get_overload(sig)


# `annotations` are texts, or classes in modules without the future import
_DECLARED_TYPES: dict[Any, Any] = {
    "float": types.float64,
    "int": types.int64,
    float: types.float64,
    int: types.int64,
}
_without_constants: Any = types.unliteral


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage rarely in the block; most of what compiling makes lives to its end, and every pass visits it."""
    thresholds = gc.get_threshold()
    # thresholds of the garbage collector: a sixth of the time to compile, for a fifth more memory
    gc.set_threshold(50_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@contextmanager
def _remembered_types() -> Iterator[None]:
    """Let numba ask once in the block what a call of one of its functions returns for arguments of some types.

    It asks for every place in the code, twice, and tries many functions that do not fit: a tenth of the time.
    """
    asked = _NumbaFunction.get_call_type

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        key = function, context, tuple(args), tuple(kws.items())
        if key not in _types_of_calls:
            _types_of_calls[key] = asked(function, context, args, kws)
        return _types_of_calls[key]

    _NumbaFunction.get_call_type = get_call_type
    try:
        yield
    finally:
        _NumbaFunction.get_call_type = asked


def _problem_of_line(report: str) -> GomeaBnError | None:
    """Return the error of the first line in numba's report that lies outside this package, or None if none does."""
    report = _COLOUR.sub("", report)
    for place in _PLACE.finditer(report):
        if _PACKAGE in Path(os.path.realpath(place["file"])).parents:
            continue
        before = report[: place.start()].rpartition("frontend)")[2].splitlines()
        reason, *following = [line.strip() for line in before if line.strip()]
        # the signature of a call is in the line below
        reason = f"{reason} {following[0].removeprefix('>>> ')}" if reason.endswith(":") else reason
        line = place["source"].splitlines()[-1].strip()
        return GomeaBnError(
            f"Line {place['line']} of '{place['file']}' cannot be compiled: {line!r}. Numba says: {reason.rstrip('.')}."
        )
    return None


class KernelFiles:
    """The files of one kernel, a Python function, in one folder; it has the methods of numba's own caches.

    The folder is made when the first file is written.
    """

    def __init__(self, folder: Path, function: Callable[..., Any]) -> None:
        self.cache_path = str(folder)
        self._folder = folder
        code = function.__code__
        self._name = f"{function.__module__.removeprefix('gomea_bn.')}.{function.__qualname__}"
        self._identity = (self._name, code.co_firstlineno, code.co_code)
        self._lock: BinaryIO | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None if there is none.

        With None this process holds the lock of that code, until `release`; if another process compiles it at this
        moment, its result is waited for.
        """
        compiled = self._read(sig, target_context)
        if compiled is None and self._take_lock(sig, target_context):
            compiled = self._read(sig, target_context)
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code for a signature; if that fails, warn once per process."""
        if data.library.has_dynamic_globals or not self._is_usable():
            return
        libdata, *others = data._reduce()
        payload = (_without_bitcode(libdata, data.fndesc), *others)
        key = self._key(sig, data.target_context)
        body = dumps((key, _outer_symbols(data.library), payload))  # type: ignore[no-untyped-call]
        try:
            make_folder(self._folder)
            write_bytes(
                self._path(sig, data.target_context),
                _HEADER + hashlib.sha256(body).digest() + body,
                mode=0o644,
            )
        except (OSError, GomeaBnError) as error:
            _warn(self._folder, f"cannot be written ({error})")

    def release(self) -> None:
        """Give back the lock that `load_overload` took."""
        if self._lock is not None:
            lock, self._lock = self._lock, None
            with suppress(OSError):
                _unlock(lock)
            lock.close()

    def flush(self) -> None:
        """Remove all files of the kernel."""
        for path in self._folder.glob(f"{self._name}-*.kernel"):
            with suppress(OSError):
                path.unlink()

    def _key(self, sig: Any, target_context: Any) -> tuple[Any, ...]:
        """Return all on which compiled code depends, apart from what the folder's name says."""
        return (self._folder.name, sig, target_context.codegen().magic_tuple(), self._identity)

    def _path(self, sig: Any, target_context: Any) -> Path:
        folder, _, machine, identity = self._key(sig, target_context)
        digest = hashlib.sha256(repr((folder, str(sig), machine, identity)).encode()).hexdigest()
        return self._folder / f"{self._name}-{digest[:16]}.kernel"

    def _read(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code from its file, None if there is none that can be used."""
        try:
            with open(self._path(sig, target_context), "rb") as file:
                if not (self._is_usable() and _only_its_owner_writes(os.fstat(file.fileno()))):
                    return None
                content = file.read()
        except OSError:
            return None
        start = len(_HEADER) + _DIGEST_BYTES
        body = content[start:]
        if content[:start] != _HEADER + hashlib.sha256(body).digest():
            return None
        try:
            key, outer_symbols, payload = pickle.loads(body)
        except Exception:
            # a class of a user's problem may have been moved or renamed since
            return None
        if key != self._key(sig, target_context):
            return None
        self._note_use()
        # numba's whole compiler, which has the rest, takes a fifth of a second to load
        for load in (partial(_runtime.initialize, target_context), target_context.refresh):
            if not all(map(llvm.address_of_symbol, outer_symbols)):
                load()
        return CompileResult._rebuild(target_context, *payload)  # type: ignore[no-untyped-call]

    def _is_usable(self) -> bool:
        """Return whether the folder is trusted; warn once per process if it is not."""
        usable = is_trusted(self._folder)
        if not usable:
            _warn(self._folder, "can be written by other users")
        return usable

    def _note_use(self) -> None:
        """Set the folder's time of change once a day, by which `prune_folders` sees what is in use."""
        with suppress(OSError):
            if time.time() - self._folder.stat().st_mtime > _DAY:
                os.utime(self._folder)

    def _take_lock(self, sig: Any, target_context: Any) -> bool:
        """Wait for the lock of a signature's file; returns False where files cannot be locked."""
        if not is_trusted(self._folder):
            return False
        try:
            make_folder(self._folder)
            self._lock = open(self._path(sig, target_context).with_suffix(".lock"), "ab")  # noqa: SIM115
            _wait_for_lock(self._lock)
        except OSError:
            self.release()
            return False
        except BaseException:
            self.release()
            raise
        return True


def is_trusted(folder: Path) -> bool:
    """Return whether a folder is absent, or only its owner, who is this user or root, can write to it."""
    try:
        return _only_its_owner_writes(folder.stat())
    except OSError:
        return True


def make_folder(folder: Path) -> None:
    """Make a folder of kernels unless it exists, and remove those that were not used for long."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o755, exist_ok=True)
        # the permissions of `mkdir` may be widened by default lists of the parent
        folder.chmod(0o755)
        prune_folders(folder.parent, keep=folder)


def prune_folders(base: Path, *, keep: Path) -> None:
    """Remove folders of kernels in `base` that were not used for long, and all but the last few.

    The folder `keep` and entries with other names stay.
    """
    used: list[tuple[float, Path]] = []
    with suppress(OSError):
        for folder in base.iterdir():
            if _FOLDER_NAME.fullmatch(folder.name) and folder != keep and not folder.is_symlink():
                used.append((folder.stat().st_mtime, folder))
    newest_first = sorted(used, reverse=True)
    for rank, (changed, folder) in enumerate(newest_first, start=1):
        if rank >= _MOST_FOLDERS or time.time() - changed > 60 * _DAY:
            shutil.rmtree(folder, ignore_errors=True)


def _outer_symbols(library: Any) -> list[str]:
    """Return the names of functions and variables outside a compiled library that its machine code uses."""
    module = library._final_module
    named = (*module.functions, *module.global_variables)
    return [each.name for each in named if each.is_declaration and not each.name.startswith("llvm.")]


def _without_bitcode(libdata: tuple[str, str, Any], description: Any) -> tuple[str, str, Any]:
    """Return the data of a compiled library whose bitcode only names the functions that Python and kernels call.

    The bitcode is for linking into other kernels, which compile a form of their own.
    """
    name, kind, (machine_code, _) = libdata
    names = description.llvm_cpython_wrapper_name, description.llvm_func_name
    symbols = [each.replace("\\", "\\5c").replace('"', "\\22") for each in names]
    named = llvm.parse_assembly("\n".join(f'define void @"{each}"() {{ ret void }}' for each in symbols))
    return name, kind, (machine_code, named.as_bitcode())


def _only_its_owner_writes(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user or root, and nobody else can write to it."""
    # on Windows, permissions are not in the mode; the folder lies in the user's profile
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022


def _warn(folder: Path, problem: str) -> None:
    if folder not in _warned:
        _warned.add(folder)
        give_warning(
            f"Compiled kernels are not kept, and every process compiles them again: the folder '{folder}' {problem}. "
            "NUMBA_CACHE_DIR can name another folder."
        )


if os.name == "nt":
    import msvcrt

    def _wait_for_lock(file: BinaryIO) -> None:
        while True:
            with suppress(OSError):
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
                return
            time.sleep(0.1)

    def _unlock(file: BinaryIO) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    import fcntl

    def _wait_for_lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


def _compiled_modules(sources: dict[str, bytes]) -> list[str]:
    """Return the modules on whose text compiled code depends: those with kernels, and what these import.

    Modules that no kernel uses are left out.
    """
    # most modules lack the word, which is found sooner than its line
    waiting = [name for name, text in sources.items() if b"kernel" in text and _HAS_KERNELS.search(text)]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in reached or name in _WITHOUT_CODE or name not in sources:
            continue
        reached.add(name)
        waiting += [module.decode() for module in _WHOLE_IMPORTS.findall(sources[name])]
        for module, imported in _IMPORTS.findall(sources[name]):
            package = module.decode()
            names = [f"{package}.{part}" for part in re.findall(r"\w+", imported.decode())]
            waiting += [package, *names]
    return sorted(reached)


@cache
def _package_digest() -> str:
    sources = package_sources()
    digest = hashlib.sha256(numba.__version__.encode())
    for name in _compiled_modules(sources):
        digest.update(name.encode())
        digest.update(sources[name])
    return digest.hexdigest()


def kernel_cache_dir(*, with_foreign: bool = False) -> Path:
    """Return the folder of compiled kernels, which changes with their sources and numba, wherever the package lies.

    Numba's own stamp only covers the file that defines a kernel, not the kernels which that one calls
    (numba issue 1833), so stale code would survive an edit or an upgrade. The folder for kernels compiled for users'
    problems, `with_foreign`, changes with these as well.
    """
    base = Path(_chosen_by_user) if _chosen_by_user else user_cache_path("gomea-bn") / "kernels"
    return base / _digest_with(_package_digest(), frozenset(_foreign_digests if with_foreign else ()))[:16]


@cache
def _digest_with(package_digest: str, foreign_digests: frozenset[str]) -> str:
    """Return the digest of the package and of users' problems."""
    digest = hashlib.sha256(package_digest.encode())
    for foreign in sorted(foreign_digests):
        digest.update(foreign.encode())
    return digest.hexdigest()


def kernels_are_cached(*names: str) -> bool:
    """Return whether the cache folder can be used and has some kernels, by default that of a search."""
    folder = kernel_cache_dir()
    wanted = names or ("vary_range",)
    return is_trusted(folder) and all(any(folder.glob(f"*.{name}-*.kernel")) for name in wanted)


def kernels_can_be_kept() -> bool:
    """Return whether kernels can be written to the cache folder, which is made if it is absent."""
    folder = kernel_cache_dir()
    try:
        make_folder(folder)
    except OSError:
        return False
    return is_trusted(folder) and os.access(folder, os.W_OK)


def note_source(function: Callable[..., Any]) -> None:
    """Make the cache of kernels for users' problems depend on the source of a user's function.

    Otherwise these kernels would contain the old code of an edited problem, and a process without the user's module
    could not read the index of cached kernels. Kernels that this process has already compiled do not change.
    """
    source = function.__code__.co_filename
    if _is_ours(function) or not os.path.isfile(source):
        return
    digest = hashlib.sha256(Path(source).read_bytes() + fingerprint(function).encode()).hexdigest()
    if digest in _foreign_digests:
        return
    _foreign_digests.add(digest)
    for compiled in _kernels:
        _place_cache(compiled)


def _is_ours(defined: Any) -> bool:
    return (defined.__module__ or "").startswith("gomea_bn.")


def _is_foreign(numba_type: Any) -> bool:
    """Return whether code compiled for an argument of this type may contain code of a user's problem."""
    if isinstance(numba_type, types.BaseTuple):
        parts: Any = numba_type
        named = isinstance(parts, types.BaseNamedTuple)
        return (named and not _is_ours(parts.instance_class)) or any(map(_is_foreign, parts.types))
    return not isinstance(numba_type, _PLAIN_TYPES)


class _KernelCache:
    """The disk cache of one kernel: users' problems have a folder of their own, next to the folder of all others.

    It has the methods of numba's own caches. Registering a problem thus leaves all other compiled kernels usable.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = function.__name__
        self._function = function

    @cached_property
    def _plain(self) -> KernelFiles:
        """Files of kernels without users' problems."""
        return KernelFiles(kernel_cache_dir(with_foreign=not _is_ours(self._function)), self._function)

    @cached_property
    def _foreign(self) -> KernelFiles:
        return KernelFiles(kernel_cache_dir(with_foreign=True), self._function)

    @property
    def cache_path(self) -> str:
        """Path of the folder for kernels without users' problems."""
        return str(self._plain.cache_path)

    def _of(self, sig: Any) -> KernelFiles:
        arguments = sig if isinstance(sig, tuple) else sig.args
        return self._foreign if any(map(_is_foreign, arguments)) else self._plain

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None if there is none; the caller then compiles it."""
        compiled = self._of(sig).load_overload(sig, target_context)
        kernel_needed(self._name, is_compiled=compiled is not None)
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the compiled code for a signature."""
        self._of(sig).save_overload(sig, data)

    def release(self) -> None:
        """Give back the locks that `load_overload` took."""
        self._plain.release()
        self._foreign.release()

    def flush(self) -> None:
        """Forget all compiled code of the kernel."""
        self._plain.flush()
        self._foreign.flush()


def compile_for(function: Callable[..., Any], *arguments: Any) -> None:
    """Compile or load a kernel for arguments like the given ones, without calling it."""
    # without a compiler kernels are plain functions
    if isinstance(function, KernelDispatcher):
        function.compile(tuple(map(held, map(numba.typeof, arguments))))


def read_only(array: A) -> A:
    """Return a view that cannot be written, for which a kernel has another type than for an array that can.

    Columns of tables come in both kinds. A kernel that only reads them is compiled once if all calls give such views.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _place_cache(compiled: KernelDispatcher) -> None:
    """Give a kernel its disk cache in today's folders."""
    # a function without a source file, as in an interactive session, is compiled in every process
    if os.path.isfile(compiled.py_func.__code__.co_filename):
        compiled._cache = _KernelCache(compiled.py_func)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function to run without the interpreter lock, cached on disk under `kernel_cache_dir`.

    Kernels cannot allocate, because numba's reference counting is off: counting references to the dozens of arrays in
    a problem's named tuple at every inner call made a step fifteen times slower.
    """
    return _compiled(function, is_separate=False)


def separate_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of a module like `kernel`, once for all kernels that call it, which cannot inline it.

    It is compiled when it is called, so that callers do not wait for kernels that they never call. That is for large
    kernels where the call is a small part of the work. They return a float or an integer, as their annotation says.
    """
    return _compiled(function, is_separate=True)


def _compiled(function: Callable[P, R], *, is_separate: bool) -> Callable[P, R]:
    note_source(function)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
    if getattr(numba_config, "DISABLE_JIT"):  # noqa: B009
        return function
    compiled = KernelDispatcher(
        function, targetoptions={"nopython": True, **options}, is_separate=is_separate
    )
    _place_cache(compiled)
    _kernels.append(compiled)
    return cast(Callable[P, R], compiled)
