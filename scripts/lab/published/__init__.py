"""The published experiments, one module per kind; `runner` runs and reports them."""
