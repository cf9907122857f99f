"""Feast's online store on Bigtable against the server that $BIGTABLE_EMULATOR_HOST
names: applies features, writes them, and reads them. Ends with status 0 when every
answer was right."""

import datetime
import pathlib
import tempfile

import pandas
from feast import Entity, FeatureStore, FeatureView, Field, FileSource
from feast.types import Float32, Int64

SETTINGS = """
project: fleet
provider: local
registry: {registry}
offline_store: {{type: file}}
online_store: {{type: bigtable, project_id: local, instance: local}}
entity_key_serialization_version: 3
"""


def expect(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def main(folder):
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    hours = pandas.DataFrame(
        {
            "driver": [1, 2, 3],
            "trips": [10, 20, 30],
            "rating": [4.5, 3.5, 2.5],
            "at": [now] * 3,
        }
    )
    hours.to_parquet(folder / "hours.parquet")
    (folder / "feature_store.yaml").write_text(
        SETTINGS.format(registry=folder / "registry.db")
    )
    store = FeatureStore(repo_path=str(folder))
    driver = Entity(name="driver", join_keys=["driver"])
    view = FeatureView(
        name="hours",
        entities=[driver],
        schema=[Field(name="trips", dtype=Int64), Field(name="rating", dtype=Float32)],
        source=FileSource(
            path=str(folder / "hours.parquet"), timestamp_field="at", name="hours"
        ),
        ttl=datetime.timedelta(days=1),
    )
    store.apply([driver, view])
    store.materialize(now - datetime.timedelta(hours=1), now + datetime.timedelta(hours=1))
    wanted = ["hours:trips", "hours:rating"]
    rows = [{"driver": 3}, {"driver": 1}, {"driver": 9}]
    got = store.get_online_features(features=wanted, entity_rows=rows).to_dict()
    expect(got["trips"], [30, 10, None])
    expect(got["rating"], [2.5, 4.5, None])

    later = hours.assign(trips=[11, 21, 31], at=now + datetime.timedelta(minutes=1))
    store.write_to_online_store("hours", later)
    got = store.get_online_features(features=wanted, entity_rows=rows).to_dict()
    expect(got["trips"], [31, 11, None])
    store.teardown()


with tempfile.TemporaryDirectory() as made:
    main(pathlib.Path(made))
