"""What everything runs on: compiled kernels, threads, limits, progress, files written whole."""
