import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Close all figures after every test."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
