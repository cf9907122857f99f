"""Bigtable's official Python client against the server that
$BIGTABLE_EMULATOR_HOST names. Ends with status 0 when every answer was right."""

import datetime

from google.cloud import bigtable
from google.cloud.bigtable import column_family, row_filters
from google.cloud.bigtable.data import (
    BigtableDataClient,
    ReadRowsQuery,
    RowMutationEntry,
    RowRange,
    SetCell,
)
from google.cloud.bigtable.data import row_filters as data_filters
from google.cloud.bigtable.data.execute_query.metadata import SqlType


def expect(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def raises(kind, call):
    try:
        call()
    except Exception as e:
        assert kind in type(e).__name__, f"got {type(e).__name__}: {e}"
        return
    raise AssertionError(f"no {kind}")


def admin_and_classic():
    client = bigtable.Client(project="local", admin=True)
    table = client.instance("local").table("python")
    table.create(
        initial_split_keys=[b"m"],
        column_families={"f": column_family.MaxVersionsGCRule(2)},
    )
    raises("AlreadyExists", lambda: table.create())
    table.column_family("g").create()
    expect(sorted(table.list_column_families()), ["f", "g"])
    expect([t.table_id for t in client.instance("local").list_tables()], ["python"])

    row = table.direct_row("k1")
    row.set_cell("f", "q", b"one")
    row.set_cell("g", "q", "two")
    expect(row.commit().code, 0)
    statuses = table.mutate_rows([bulk(table, f"many{i:04}", i) for i in range(1000)])
    expect({s.code for s in statuses}, {0})
    unknown = table.direct_row("k2")
    unknown.set_cell("nowhere", "q", b"x")
    expect(unknown.commit().code, 5)

    expect(table.read_row("k1").cell_value("f", b"q"), b"one")
    expect(table.read_row("nobody"), None)
    rows = list(table.read_rows(start_key=b"many0990", end_key=b"many0995"))
    expect([r.row_key for r in rows], [b"many%04d" % i for i in range(990, 995)])
    chain = row_filters.RowFilterChain(
        filters=[
            row_filters.FamilyNameRegexFilter("f"),
            row_filters.ValueRangeFilter(start_value=b"998"),
        ]
    )
    expect([r.row_key for r in table.read_rows(filter_=chain)], [b"k1", b"many0998", b"many0999"])

    cas = table.conditional_row("k1", row_filters.ValueRegexFilter(b"one"))
    cas.set_cell("f", "matched", b"yes", state=True)
    cas.set_cell("f", "matched", b"no", state=False)
    expect(cas.commit(), True)
    expect(table.read_row("k1").cell_value("f", b"matched"), b"yes")

    rmw = table.append_row("k1")
    rmw.append_cell_value("f", "q", b"!")
    rmw.increment_cell_value("g", "n", 41)
    rmw.commit()
    rmw = table.append_row("k1")
    rmw.increment_cell_value("g", "n", 1)
    expect(rmw.commit()["g"][b"n"][0][0], (42).to_bytes(8, "big"))
    expect(table.read_row("k1").cell_value("f", b"q"), b"one!")

    samples = [s.row_key for s in table.sample_row_keys()]
    expect(samples[-1], b"")

    row = table.direct_row("k1")
    row.delete_cell("f", "matched")
    row.commit()
    expect(b"matched" in table.read_row("k1").cells["f"], False)
    for size in 10_000_000, 50_000_000:
        large = table.direct_row("large")
        large.set_cell("f", "q", b"x" * size)
        expect(large.commit().code, 0)
        assert table.read_row("large").cell_value("f", b"q") == b"x" * size
    wide = table.direct_row("wide")
    for i in range(50):
        wide.set_cell("f", b"q%02d" % i, bytes([65 + i]) * 100_000)
    expect(wide.commit().code, 0)
    got = table.read_row("wide").cells["f"]
    expect(len(got), 50)
    for i in range(50):
        assert got[b"q%02d" % i][0].value == bytes([65 + i]) * 100_000
    table.drop_by_prefix("many")
    expect([r.row_key for r in table.read_rows()], [b"k1", b"large", b"wide"])


def bulk(table, key, i):
    row = table.direct_row(key)
    row.set_cell("f", "q", str(i).encode())
    return row


def data():
    with BigtableDataClient(project="local") as client, client.get_table("local", "python") as table:
        table.bulk_mutate_rows(
            [RowMutationEntry(f"d{i}", [SetCell("f", b"q", b"%d" % i)]) for i in range(10)]
        )
        got = table.read_rows(
            ReadRowsQuery(
                row_ranges=[RowRange("d2", "d6")],
                limit=3,
                row_filter=data_filters.CellsColumnLimitFilter(1),
            )
        )
        expect([r.row_key for r in got], [b"d2", b"d3", b"d4"])
        expect(got[0].get_cells("f", b"q")[0].value, b"2")
        result = client.execute_query(
            "SELECT _key, f['q'] AS q FROM python WHERE _key > @from LIMIT 2",
            "local",
            parameters={"from": b"d6"},
        )
        expect([(r["_key"], r["q"]) for r in result], [(b"d7", b"7"), (b"d8", b"8")])
        keys = [b"d8", b"d3", None]
        result = client.execute_query(
            "SELECT _key, @days AS days, STRUCT(1 AS a, 'b' AS b) AS s, [1, 2] AS n"
            " FROM python WHERE _key IN UNNEST(@keys)",
            "local",
            parameters={"keys": keys, "days": [datetime.date(2024, 6, 1), None]},
            parameter_types={"keys": SqlType.Array(SqlType.Bytes()), "days": SqlType.Array(SqlType.Date())},
        )
        rows = list(result)
        expect([r["_key"] for r in rows], [b"d3", b"d8"])
        day, none = rows[0]["days"]
        expect((day.year, day.month, day.day, none), (2024, 6, 1, None))
        expect((rows[0]["s"]["a"], rows[0]["s"]["b"], rows[0]["n"]), (1, "b", [1, 2]))


def clean():
    client = bigtable.Client(project="local", admin=True)
    table = client.instance("local").table("python")
    table.column_family("g").delete()
    expect(list(table.list_column_families()), ["f"])
    table.delete()
    raises("NotFound", lambda: table.list_column_families())


admin_and_classic()
data()
clean()
