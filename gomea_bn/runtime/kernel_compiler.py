"""How kernels are compiled: each one that Python calls becomes one piece of machine code, with all that it calls.

Numba's own dispatcher optimises and emits every kernel on its own, with a copy of all kernels below it, and then does
the same work again in each caller. Kernels that are only called by others are therefore typed and lowered here, but
left unoptimised; the kernel that Python calls is optimised once, as a whole.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numba._dynfunc as numba_functions
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.kernel_progress import compiling

_PACKAGE = Path(__file__).resolve().parent.parent
_COLOUR = re.compile(r"\x1b\[\d*m")
# numba's report of a place in the source: the file, the number of the line, and the line above a mark
_PLACE = re.compile(
    r'^ *File "(?P<file>[^"]+)", line (?P<line>\d+):\n(?P<source>(?: *[^\s^].*\n)+) *\^', re.MULTILINE
)


class _PartLibrary(JITCodeLibrary):
    """Unoptimised code of a kernel that other kernels call, for linking only."""

    def finalize(self) -> None:
        """Close the library without linking, optimising or emitting it."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def first_hand_module(self) -> Any:
        """Return the code of this kernel without that of the kernels below it."""
        return super()._get_module_for_linking()  # type: ignore[no-untyped-call]

    def libraries(self) -> list[Any]:
        """Return this library and all below it, each after one that needs it."""
        found: dict[int, Any] = {}
        waiting: list[Any] = [self]
        while waiting:
            library = waiting.pop()
            if id(library) not in found:
                found[id(library)] = library
                if isinstance(library, _PartLibrary):
                    waiting += reversed(library._linking_libraries)
        return list(found.values())

    def _get_module_for_linking(self) -> Any:
        """Return the code of this kernel with all below it, for callers that numba alone compiles."""
        whole = self.first_hand_module().clone()
        for library in self.libraries()[1:]:
            whole.link_in(_first_hand(library), preserve=True)
        return whole


class _WholeLibrary(JITCodeLibrary):
    """Machine code of a kernel that Python calls, and of all kernels below it."""

    def add_linking_library(self, library: Any) -> None:
        """Link a library, and all libraries below a part."""
        library._ensure_finalized()
        libraries = library.libraries() if isinstance(library, _PartLibrary) else [library]
        self._linking_libraries += [_FirstHand(each) for each in libraries]


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


class _WholeCompiler(Compiler):
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


class CalledKernelCompiler(Compiler):
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
    """A compiled function: `compile` is for calls from Python; calls from other kernels have a compiler of theirs."""

    _cache: Any

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        options = dict(targetoptions or {})
        super().__init__(py_func, locals or {}, options, pipeline_class=_WholeCompiler)
        self._as_part: Any = CPUDispatcher(
            py_func, locals or {}, options, pipeline_class=CalledKernelCompiler
        )

    def compile(self, sig: Any) -> Any:
        """Compile for a call from Python, or load what is compiled already.

        It is a `GomeaBnError` if a line outside this package cannot be typed.
        """
        try:
            with global_compiler_lock, compiling():
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

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the template of a call from another kernel."""
        return self._as_part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return the key by which another kernel finds this one."""
        return self._as_part.get_overload(sig)


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
