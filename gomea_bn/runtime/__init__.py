"""Compiled kernels, threads, limits, progress, and files written atomically, on which all other packages build."""
