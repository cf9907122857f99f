"""HBase's Python API on Bigtable's, google-cloud-happybase, against the server that
$BIGTABLE_EMULATOR_HOST names. Ends with status 0 when every answer was right."""

from google.cloud import bigtable
from google.cloud.happybase import Connection


def expect(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def main():
    instance = bigtable.Client(project="local", admin=True).instance("local")
    connection = Connection(instance=instance)
    connection.create_table("happy", {"f": {"max_versions": 3}, "g": {}})
    expect(connection.tables(), ["happy"])
    table = connection.table("happy")
    expect(sorted(table.families()), ["f", "g"])

    table.put(b"a", {b"f:x": b"1", b"g:y": b"2"})
    expect(table.row(b"a"), {b"f:x": b"1", b"g:y": b"2"})
    expect(table.row(b"a", columns=[b"f"]), {b"f:x": b"1"})
    for i in range(5):
        table.put(b"v", {b"f:x": str(i).encode()}, timestamp=1000 + i)
    expect(table.cells(b"v", b"f:x", versions=2), [b"4", b"3"])
    expect(
        table.cells(b"v", b"f:x", versions=3, timestamp=1003, include_timestamp=True),
        [(b"2", 1002)],
    )

    with table.batch() as batch:
        for i in range(20):
            batch.put(b"row%02d" % i, {b"f:n": b"%d" % i})
        batch.delete(b"a", columns=[b"g:y"])
    expect(table.row(b"a"), {b"f:x": b"1"})
    expect(len(list(table.scan(row_prefix=b"row"))), 20)
    expect(
        [key for key, _ in table.scan(row_start=b"row03", row_stop=b"row06")],
        [b"row03", b"row04", b"row05"],
    )
    expect(len(list(table.scan(row_prefix=b"row", limit=7))), 7)
    expect([key for key, _ in table.rows([b"row01", b"none", b"v"])], [b"row01", b"v"])

    expect(table.counter_inc(b"c", b"f:count", 5), 5)
    expect(table.counter_dec(b"c", b"f:count", 2), 3)
    expect(table.counter_get(b"c", b"f:count"), 3)

    table.delete(b"a")
    expect(table.row(b"a"), {})
    connection.delete_table("happy")
    expect(connection.tables(), [])


main()
