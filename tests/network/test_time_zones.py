"""Dates keep their time zone: in tables, networks, files of networks, and all answers that are dates."""

import datetime as dt
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, ParetoBayesNetLearner, read_table
from gomea_bn.network.parts import ValueKind

N = 80
NAME = "when [days since 1970-01-01]"
OPTIONS: dict[str, Any] = {"max_seconds": None, "max_evaluations": 60, "random_state": 1}


def moments() -> pd.Series:
    """Return moments without a time zone."""
    hours = np.random.default_rng(2).integers(0, 20_000, N)
    return pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h"))


def frame(when: Any) -> pd.DataFrame:
    days = (moments() - moments().min()).dt.total_seconds() / 86_400
    return pd.DataFrame({"when": when, "y": days + np.random.default_rng(3).normal(size=N)})


def learned(when: Any) -> DiscretizedBayesNet:
    return BayesNetLearner(**OPTIONS, density="bins").fit(frame(when)).network_


def texts(offsets: list[str]) -> list[str]:
    return [f"{value:%Y-%m-%dT%H:%M}{offsets[k % len(offsets)]}" for k, value in enumerate(moments())]


@pytest.mark.parametrize(
    ("when", "zone"),
    [
        (moments(), None),
        (moments().dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"), "Europe/Berlin"),
        (moments().dt.tz_localize("UTC"), "UTC"),
        (moments().dt.tz_localize(dt.timezone(dt.timedelta(hours=-3))), "UTC-03:00"),
        (moments().dt.tz_localize("UTC").astype(object), "UTC"),
        (
            moments().dt.tz_localize("America/Lima").astype("timestamp[us, tz=America/Lima][pyarrow]"),
            "America/Lima",
        ),
        (texts(["Z"]), "UTC"),
        (texts(["+02:00"]), "UTC+02:00"),
        (texts(["+0530"]), "UTC+05:30"),
        (texts(["+01:00", "+02:00"]), "UTC"),
        (texts(["", "+02:00"]), None),
        (texts([""]), None),
    ],
)
def test_drawn_dates_have_the_time_zone_of_the_column(when, zone):
    network = learned(when)
    assert network.value_kinds.get(NAME, ValueKind()).time_zone == zone
    for drawn in (network.sample(5, 1), network.sample(5, 1, evidence={"y": 100.0})):
        assert str(drawn["when"].dt.tz) == str(zone)
        instants = drawn["when"].dt.tz_localize("UTC") if zone is None else drawn["when"]
        assert instants.min() >= pd.Timestamp("2023-12-31", tz="UTC")
    same = learned(
        pd.to_datetime(pd.Series(when), utc=True, format="ISO8601" if isinstance(when, list) else None)
    )
    expected = same.sample(20, 1)["when"].dt.tz_convert("UTC").dt.tz_localize(None)
    column = network.sample(20, 1)["when"]
    in_utc = column if zone is None else column.dt.tz_convert("UTC").dt.tz_localize(None)
    # the types are those of the columns
    pd.testing.assert_series_equal(in_utc.astype(expected.dtype), expected)


@pytest.fixture(scope="module")
def in_berlin() -> pd.Series:
    return moments().dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")


@pytest.fixture(scope="module")
def network(in_berlin) -> DiscretizedBayesNet:
    return learned(in_berlin)


def test_predicted_dates_have_the_time_zone(network, in_berlin):
    for how in ("mean", "median", "mode"):
        assert str(network.predict(frame(in_berlin)[["y"]], "when", how).dt.tz) == "Europe/Berlin"


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", None])
@pytest.mark.parametrize("how", ["draw", "mean", "mode"])
def test_imputed_columns_keep_their_cells_and_their_time_zone(network, in_berlin, zone, how):
    given = (
        in_berlin.dt.tz_convert("UTC").dt.tz_localize(None) if zone is None else in_berlin.dt.tz_convert(zone)
    )
    rows = frame(given.copy())
    rows.loc[::4, "when"] = pd.NaT
    filled = network.impute(rows, how, random_state=1)
    assert str(filled["when"].dt.tz) == str(zone)
    is_observed = rows["when"].notna()
    pd.testing.assert_series_equal(
        filled["when"][is_observed].astype(given.dtype), given[is_observed], check_names=False
    )
    in_other = network.impute(frame(in_berlin).where(rows.notna()), how, random_state=1)["when"]
    instants = filled["when"].dt.tz_localize("UTC") if zone is None else filled["when"]
    assert (instants == in_other).all()


def test_files_and_updates_keep_the_time_zone(network, in_berlin, tmp_path):
    network.to_json(tmp_path / "network.json")
    read = DiscretizedBayesNet.from_json(tmp_path / "network.json")
    assert read.value_kinds == network.value_kinds
    pd.testing.assert_frame_equal(read.sample(5, 1), network.sample(5, 1))
    assert network.update(frame(in_berlin)).value_kinds[NAME].time_zone == "Europe/Berlin"
    earlier = re.sub(r'(, )?"(time_zone|dtype)": "[^"]*Berlin[^"]*"', "", network.to_json())
    assert "Berlin" not in earlier
    assert DiscretizedBayesNet.from_json(earlier).sample(5, 1)["when"].dt.tz is None


def test_tables_in_files_keep_the_time_zone(in_berlin, tmp_path):
    frame(in_berlin).to_parquet(tmp_path / "rows.parquet")
    frame(in_berlin).to_csv(tmp_path / "rows.csv", index=False)
    # text has offsets alone, which change with the seasons
    for ending, zone in (("parquet", "Europe/Berlin"), ("csv", "UTC")):
        assert read_table(tmp_path / f"rows.{ending}").columns[0].time_zone == zone


def test_networks_of_fronts_and_of_rows_with_weights_keep_the_time_zone(in_berlin):
    front = ParetoBayesNetLearner(**OPTIONS).fit(frame(in_berlin)).front_
    assert {str(member.network.sample(3, 1)["when"].dt.tz) for member in front} == {"Europe/Berlin"}
    weights = np.arange(N) % 3 + 1
    weighted = (
        BayesNetLearner(**OPTIONS, density="bins").fit(frame(in_berlin), sample_weight=weights).network_
    )
    assert str(weighted.sample(3, 1)["when"].dt.tz) == "Europe/Berlin"


def test_a_long_table_keeps_the_time_zone(in_berlin, tmp_path):
    long = pd.concat([frame(in_berlin)] * 15, ignore_index=True)
    long["y"] += np.random.default_rng(1).normal(size=len(long))
    options = {**OPTIONS, "density": "bins", "sample_rows": 1000}
    assert str(BayesNetLearner(**options).fit(long).network_.sample(3, 1)["when"].dt.tz) == "Europe/Berlin"
    (tmp_path / "parts").mkdir()
    for k in range(2):
        long.iloc[600 * k : 600 * (k + 1)].to_parquet(tmp_path / "parts" / f"{k}.parquet")
    network = BayesNetLearner(**options).fit(tmp_path / "parts").network_
    assert str(network.sample(3, 1)["when"].dt.tz) == "Europe/Berlin"


def test_time_zones_that_cannot_be_are_refused(network):
    with pytest.raises(
        GomeaBnError, match=r"value_kinds\['when .*'\] has the time zone 'Mars/North', which is unknown"
    ):
        network.changed(value_kinds={NAME: ValueKind(time_zone="Mars/North")})
    with pytest.raises(GomeaBnError, match=r"value_kinds\['y'\] must not have a time zone"):
        network.changed(value_kinds={"y": ValueKind(time_zone="UTC")})
