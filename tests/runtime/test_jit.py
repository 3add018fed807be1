import ast
import gc
from typing import Any

import numpy as np
import pytest
from numba.core import types

from gomea_bn.problems import undo
from gomea_bn.runtime import jit, read_only
from gomea_bn.runtime.jit import _compiled_modules
from gomea_bn.runtime.sources import package_sources

SOURCES = {
    "gomea_bn.kernels": b"from gomea_bn.runtime.jit import kernel\n"
    b"from gomea_bn.runtime.limits import A\n\n@kernel\ndef f(): ...\n",
    "gomea_bn.runtime.limits": b"from gomea_bn.deep import (\n    one,\n    two,\n)\n",
    "gomea_bn.deep": b"one = 1\n",
    "gomea_bn.deep.two": b"x = 1\n",
    "gomea_bn.user": b"from gomea_bn.kernels import f\n",
    "gomea_bn.runtime.jit": b"",
}


def test_compiled_code_depends_on_modules_with_kernels_and_on_what_they_import():
    assert _compiled_modules(SOURCES) == [
        "gomea_bn.deep", "gomea_bn.deep.two", "gomea_bn.kernels", "gomea_bn.runtime.jit",
        "gomea_bn.runtime.limits",
    ]  # fmt: skip


def test_modules_that_are_imported_whole_count():
    sources = {
        **SOURCES,
        "gomea_bn.kernels": SOURCES["gomea_bn.kernels"] + b"\nimport gomea_bn.user as user\n",
    }
    assert "gomea_bn.user" in _compiled_modules(sources)


def test_every_kernel_file_of_the_package_counts_and_the_command_line_does_not():
    sources = package_sources()
    modules = _compiled_modules(sources)
    kernels = {name for name in sources if "kernels" in name.split(".") and sources[name].count(b"@kernel")}
    assert len(kernels) >= 20
    assert kernels <= set(modules)
    assert "gomea_bn.problems.base" in modules
    assert "gomea_bn.cli.app" not in modules
    assert "gomea_bn.network.bayes_net" not in modules


def test_every_name_that_a_kernel_uses_comes_from_a_module_that_counts():
    sources = package_sources()
    modules = set(_compiled_modules(sources))
    n_names = 0
    for module in modules:
        tree = ast.parse(sources[module])
        homes = {
            name.asname or name.name: {node.module, f"{node.module}.{name.name}"}
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gomea_bn")
            for name in node.names
        }
        kernels = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and any("kernel" in ast.unparse(decorator) for decorator in node.decorator_list)
        ]
        for kernel in kernels:
            for name in _used(kernel, tree) & set(homes):
                assert homes[name] & modules, f"{module}.{kernel.name} uses {name}"
                n_names += 1
    assert n_names > 100


def _used(kernel, tree):
    """Return the names that a kernel uses, and those that constants and named tuples of these names use."""
    defined = {
        target.id: node
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    } | {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    used, waiting = set(), [kernel]
    while waiting:
        names = {node.id for node in ast.walk(waiting.pop()) if isinstance(node, ast.Name)} - used
        used |= names
        waiting += [defined[name] for name in names & set(defined)]
    return used


def test_no_edit_of_a_reader_compiles_kernels_again_and_one_of_the_kernels_of_tables_does(folder_of):
    sources = package_sources()
    former = folder_of(sources)
    readers = {name for name in sources if name.startswith("gomea_bn.data.")} - {"gomea_bn.data.kernels"}
    assert {"gomea_bn.data.table", "gomea_bn.data.files.separated"} <= readers
    assert folder_of({name: text + b"# new" * (name in readers) for name, text in sources.items()}) == former
    of_tables = "gomea_bn.data.kernels"
    assert folder_of({**sources, of_tables: sources[of_tables] + b"# new"}) != former


def test_a_message_does_not_compile_kernels_again(folder_of):
    sources = package_sources()
    former = folder_of(sources)
    assert folder_of({**sources, "gomea_bn.errors": sources["gomea_bn.errors"] + b"# new"}) == former
    kernels = "gomea_bn.problems.kernels.score"
    assert folder_of({**sources, kernels: sources[kernels] + b"# new"}) != former


@pytest.fixture
def folder_of(monkeypatch):
    """Return a function from the sources of a package to the folder of its compiled kernels."""

    def folder(sources):
        monkeypatch.setattr(jit, "package_sources", lambda: sources)
        jit._package_digest.cache_clear()
        return jit.kernel_cache_dir()

    yield folder
    jit._package_digest.cache_clear()


def test_the_folder_of_kernels_changes_with_the_text_of_a_module_that_they_depend_on(folder_of):
    former = folder_of(SOURCES)
    assert folder_of(dict(SOURCES)) == former
    assert folder_of({**SOURCES, "gomea_bn.deep": b"one = 2\n"}) != former
    assert folder_of({**SOURCES, "gomea_bn.user": b"from gomea_bn.kernels import g\n"}) == former


def test_arrays_that_can_and_cannot_be_written_share_a_kernel():
    @jit.kernel
    def total(values):
        result = 0.0
        for value in values:
            result += value
        return result

    fixed = np.arange(4.0)
    fixed.flags.writeable = False
    plain = np.arange(5.0)
    assert [total(read_only(values)) for values in (plain, fixed)] == [10.0, 6.0]
    assert plain.flags.writeable
    if isinstance(total, jit.KernelDispatcher):
        assert len(total.signatures) == 1


@pytest.mark.skipif(not isinstance(undo, jit.KernelDispatcher), reason="kernels are plain Python")
def test_garbage_is_collected_as_before_after_compiling():
    seen = []

    def watch(sig):
        seen.append(gc.get_threshold())
        raise KeyboardInterrupt

    before = gc.get_threshold()
    dispatcher: Any = jit.KernelDispatcher(lambda x: x, targetoptions={"nopython": True})
    dispatcher._compiler.compile = lambda *args: watch(args)
    with pytest.raises(KeyboardInterrupt):
        dispatcher.compile((types.float64,))
    assert seen[0][0] > before[0]
    assert gc.get_threshold() == before
