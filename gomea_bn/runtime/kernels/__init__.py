"""Small compiled functions that the kernels of all packages share."""
