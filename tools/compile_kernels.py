"""Compile the kernels that most tests need into the cache that all test processes and commands share."""

from __future__ import annotations

from shared_bytecode import share_bytecode

if __name__ == "__main__":
    share_bytecode()

    from gomea_bn.learning.all_kernels import compile_all_kernels

    compile_all_kernels(print)
