"""The ground of all packages: compiled kernels, threads, limits, progress, and files written atomically."""
