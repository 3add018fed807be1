from gomea_bn._jit import _compiled_modules, _package_sources

SOURCES = {
    "gomea_bn.kernels": b"from gomea_bn._jit import kernel\nfrom gomea_bn.limits import A\n\n@kernel\ndef f(): ...\n",
    "gomea_bn.limits": b"from gomea_bn.deep import (\n    one,\n    two,\n)\n",
    "gomea_bn.deep": b"one = 1\n",
    "gomea_bn.deep.two": b"x = 1\n",
    "gomea_bn.user": b"from gomea_bn.kernels import f\n",
    "gomea_bn._jit": b"",
}


def test_compiled_code_depends_on_modules_with_kernels_and_on_what_they_import():
    assert _compiled_modules(SOURCES) == [
        "gomea_bn._jit",
        "gomea_bn.deep",
        "gomea_bn.deep.two",
        "gomea_bn.kernels",
        "gomea_bn.limits",
    ]


def test_every_kernel_file_of_the_package_counts_and_the_command_line_does_not():
    sources = _package_sources()
    found = _compiled_modules(sources)
    assert {name for name in sources if name.endswith("_kernels")} <= set(found)
    assert "gomea_bn.problems.base" in found
    assert "gomea_bn.cli" not in found
    assert "gomea_bn.network" not in found
