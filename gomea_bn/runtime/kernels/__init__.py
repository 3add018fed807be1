"""Small compiled functions that the kernels of other packages share."""
