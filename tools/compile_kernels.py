"""Compile the kernels that most tests need into the cache that all test processes and commands share."""

from __future__ import annotations

from gomea_bn.learning.warm_up import compile_front_kernels, compile_kernels

if __name__ == "__main__":
    compile_front_kernels()
    compile_kernels()
