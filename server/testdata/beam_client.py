"""Apache Beam's connector for Python, WriteToBigTable, against the server that
$BIGTABLE_EMULATOR_HOST names. The Python client reads the rows that the pipeline
wrote. Ends with status 0 when every answer was right."""

import datetime

import apache_beam as beam
from apache_beam.io.gcp.bigtableio import WriteToBigTable
from google.cloud import bigtable
from google.cloud.bigtable.row import DirectRow

ROWS = 500


def expect(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def row(i):
    made = DirectRow(row_key=b"row%05d" % i)
    made.set_cell("f", b"n", b"%d" % i, datetime.datetime.fromtimestamp(0))
    return made


def main():
    table = bigtable.Client(project="local", admin=True).instance("local").table("beam")
    table.create(column_families={"f": None})
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | beam.Create(range(ROWS))
            | beam.Map(row)
            | WriteToBigTable("local", "local", "beam")
        )
    got = {r.row_key: r.cells["f"][b"n"][0].value for r in table.read_rows()}
    expect(got, {b"row%05d" % i: b"%d" % i for i in range(ROWS)})


main()
