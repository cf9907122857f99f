"""Makes Parquet files with other programs, and says what is in them.

make.py DIR                 files for this directory
make.py DIR all             every codec, encoding and page version
make.py DIR random N SEED
make.py DIR say FILE..      what is in files of others
make.py DIR try FILE..      the same in DIR, and a list of the files that pyarrow refuses

Beside each FILE.parquet there is FILE.want: its columns with the types that smolwc
reads them as, then each row, a value as the type's tag and its bytes in hexadecimal.
pyarrow says what they are.
"""
import datetime, decimal, hashlib, json, os, random, struct, sys

import pyarrow as pa
import pyarrow.parquet as pq

TAGS = {"bytes": 1, "string": 2, "bool": 3, "byte": 4, "i32": 5, "i64": 6, "f32": 7, "f64": 8}
CODES = {"bool": ">?", "byte": ">B", "i32": ">i", "i64": ">q", "f32": ">f", "f64": ">d"}
CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
VERSIONS = ["1.0", "2.0"]
BY_ENCODING = {  # the encoding of what is stored as an int32 and so on; others are plain
    "plain": {},
    "delta": {"bool": "RLE", "int32": "DELTA_BINARY_PACKED", "int64": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "binary": "DELTA_LENGTH_BYTE_ARRAY",
              "fixed": "DELTA_BYTE_ARRAY"},
    "split": {k: "BYTE_STREAM_SPLIT" for k in ["int32", "int64", "float", "double", "fixed"]},
}
ENCODINGS = ["dictionary", *BY_ENCODING]


def reads_as(t):
    """The type that smolwc reads a column as; None for lists and groups."""
    for test, name in [
        (pa.types.is_boolean, "bool"), (pa.types.is_uint8, "byte"),
        (lambda t: t in (pa.int8(), pa.int16(), pa.int32(), pa.uint16()), "i32"),
        (lambda t: t in (pa.int64(), pa.uint32()) or pa.types.is_timestamp(t), "i64"),
        (lambda t: t in (pa.float16(), pa.float32()), "f32"), (pa.types.is_float64, "f64"),
        (lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t) or t == pa.binary_view(), "bytes"),
        (lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or t == pa.string_view(), "string"),
        (lambda t: pa.types.is_uint64(t) or pa.types.is_decimal(t) or pa.types.is_date(t) or pa.types.is_time(t) or pa.types.is_null(t) or t == pa.uuid(), "string"),
    ]:
        if test(t):
            return name
    return None


def stored_as(t):
    if pa.types.is_fixed_size_binary(t) or pa.types.is_decimal(t) or t in (pa.float16(), pa.uuid()):
        return "fixed"
    if pa.types.is_timestamp(t) or pa.types.is_time64(t) or pa.types.is_int64(t) or pa.types.is_uint64(t):
        return "int64"
    return {pa.bool_(): "bool", pa.float32(): "float", pa.float64(): "double", pa.string(): "text", pa.binary(): "binary"}.get(t, "int32")


def half(bits):
    """The bytes of an f32; Python would change a NaN that signals."""
    if bits & 0x7c00 == 0x7c00 and bits & 0x3ff:
        return struct.pack(">I", bits >> 15 << 31 | 0xff << 23 | (bits & 0x3ff) << 13)
    return struct.pack(">f", struct.unpack("<e", struct.pack("<H", bits))[0])


def clock(n, per):
    s = "%02d:%02d:%02d" % (n // per // 3600, n // per // 60 % 60, n // per % 60)
    return s + ("." + str(per + n % per)[1:].rstrip("0") if n % per else "")


def plain(column):
    """The values of a column as Python has the type that they are read as."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    t = column.type
    if pa.types.is_timestamp(t):
        scale = {"s": 1_000_000, "ms": 1000, "us": 1}.get(t.unit)
        return [None if v is None else v * scale if scale else v // 1000 for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_time(t):
        per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[t.unit]
        return [None if v is None else clock(v, per) for v in column.cast(pa.int32() if t.bit_width == 32 else pa.int64()).to_pylist()]
    if t == pa.float16():
        return [None if v is None else half(v) for v in column.combine_chunks().view(pa.uint16()).to_pylist()]
    values = column.to_pylist()
    if pa.types.is_uint64(t) or pa.types.is_decimal(t) or pa.types.is_date(t) or t == pa.uuid():
        return [None if v is None else format(v, "f") if pa.types.is_decimal(t) else str(v) for v in values]
    return values


def pack(name, v):
    if v is None:
        return None
    if name == "string":
        v = v.encode()
    elif not isinstance(v, bytes):
        v = struct.pack(CODES[name], v)
    return (bytes([TAGS[name]]) + v).hex()


def attempt(d, path):
    """Says what a file of another directory has, if pyarrow reads it."""
    name = os.path.basename(path)
    try:
        say(os.path.join(d, name), pq.read_table(path, coerce_int96_timestamp_unit="us", page_checksum_verification=True, use_threads=False))
    except Exception:
        print(name)


def say(path, table):
    """Writes what a file has, as pyarrow has it."""
    columns, names = [], []
    for f, c in zip(table.schema, table.columns):
        name = reads_as(f.type.value_type if pa.types.is_dictionary(f.type) else f.type)
        if name:
            names.append([f.name, name])
            columns.append([pack(name, v) for v in plain(c)])
    with open(path.removesuffix(".parquet") + ".want", "w") as out:
        for line in [names] + [list(row) for row in zip(*columns)]:
            out.write(json.dumps(line, separators=(",", ":")) + "\n")


def table(rnd, rows):
    """Columns of every type; some repeat, some are null, some are of one value."""
    words = ["Reykjavík", "", "KEF", "a" * 40, "\x00", "NA"]
    def some(make):
        kind = rnd.choice(["all", "all", "some", "few", "one"])
        nulls = {"all": 0, "some": 0.2, "few": 0.95, "one": 0}[kind]
        one = make()
        return [None if rnd.random() < nulls else one if kind == "one" else make() for _ in range(rows)]
    small, n = rnd.random() < 0.5, rnd.choice([3, 50, 2000])
    text = lambda: rnd.choice(words) if small else "flight-%d" % rnd.randrange(n)
    moment = lambda: rnd.randrange(-10**15, 4 * 10**15)
    c = {
        "id": pa.array(["%06d" % i for i in range(rows)]),
        "flag": pa.array(some(lambda: rnd.random() < 0.5), pa.bool_()),
        "byte": pa.array(some(lambda: rnd.randrange(256)), pa.uint8()),
        "short": pa.array(some(lambda: rnd.randrange(-2**15, 2**15)), pa.int16()),
        "int": pa.array(some(lambda: rnd.randrange(-n, n) if small else rnd.randrange(-2**31, 2**31)), pa.int32()),
        "long": pa.array(some(lambda: rnd.randrange(-n, n) if small else rnd.randrange(-2**63, 2**63)), pa.int64()),
        "unsigned": pa.array(some(lambda: rnd.randrange(2**64)), pa.uint64()),
        "float": pa.array(some(lambda: rnd.choice([0.0, -0.0, float("inf"), float("nan"), rnd.gauss(0, 1)])), pa.float32()),
        "double": pa.array(some(lambda: rnd.choice([0.0, -0.0, float("inf"), float("nan"), rnd.gauss(0, 1e9)])), pa.float64()),
        "half": pa.array(some(lambda: rnd.choice([0.0, -0.0, 1.5, 65504.0, 6e-8, float("-inf"), float("nan")])), pa.float16()),
        "text": pa.array(some(text), pa.string()),
        "raw": pa.array(some(lambda: rnd.randbytes(rnd.randrange(0, 30))), pa.binary()),
        "fixed": pa.array(some(lambda: rnd.randbytes(5)), pa.binary(5)),
        "day": pa.array(some(lambda: datetime.date(1970, 1, 1) + datetime.timedelta(days=rnd.randrange(-9000, 30000))), pa.date32()),
        "ms": pa.array(some(lambda: moment() // 1000), pa.timestamp("ms")),
        "us": pa.array(some(moment), pa.timestamp("us", tz="UTC")),
        "ns": pa.array(some(lambda: moment() * 1000 + rnd.randrange(1000)), pa.timestamp("ns")),
        "money": pa.array(some(lambda: decimal.Decimal(rnd.randrange(-10**9, 10**9)).scaleb(-3)), pa.decimal128(rnd.choice([9, 18, 30]), 3)),
        "clock-ms": pa.array(some(lambda: rnd.randrange(86400 * 10**3)), pa.time32("ms")),
        "clock-us": pa.array(some(lambda: rnd.randrange(86400) * 10**6 + rnd.choice([0, 250000, 1])), pa.time64("us")),
        "clock-ns": pa.array(some(lambda: rnd.randrange(86400 * 10**9)), pa.time64("ns")),
        "uuid": pa.array(some(lambda: rnd.randbytes(16)), pa.uuid()),
        "nothing": pa.nulls(rows),
        "list": pa.array([None if i % 5 == 0 else list(range(i % 4)) for i in range(rows)], pa.list_(pa.int32())),
        "group": pa.array([None if i % 7 == 0 else {"a": i, "b": str(i)} for i in range(rows)], pa.struct([("a", pa.int64()), ("b", pa.string())])),
    }
    fields = [pa.field(k, v.type, nullable=v.type == pa.null() or v.null_count > 0 or rnd.random() < 0.5) for k, v in c.items()]
    return pa.table(list(c.values()), schema=pa.schema(fields))


def write(path, t, codec, version, encoding, checksum, page=None, group=None):
    options = {"use_dictionary": True}
    if encoding != "dictionary":
        options = {"use_dictionary": False, "column_encoding": {
            f.name: BY_ENCODING[encoding].get(stored_as(f.type), "PLAIN") for f in t.schema if reads_as(f.type)}}
    pq.write_table(t, path, compression=codec, data_page_version=version, version="2.6", write_page_checksum=checksum,
                   data_page_size=page or 1 << 20, row_group_size=group, **options)
    say(path, t)


def polars(d, rows, codecs):
    import polars as pl
    t = pl.DataFrame({
        "id": ["%06d" % i for i in range(rows)],
        "n": [i * i % 1000 - 7 for i in range(rows)],
        "f": [None if i % 9 == 0 else i / 7 for i in range(rows)],
        "word": [None if i % 11 == 0 else ["KEF", "CPH", "Ísafjörður"][i % 3] for i in range(rows)],
        "flag": [i % 2 == 0 for i in range(rows)],
        "raw": [b"\xff" * (i % 5) for i in range(rows)],
        "noise": [hashlib.sha512(b"%d" % i).hexdigest() for i in range(rows)],  # LZ4 makes little of it
        "list": [[i] * (i % 3) for i in range(rows)],
    })
    for codec in codecs:
        path = os.path.join(d, "polars-%s.parquet" % codec)
        t.write_parquet(path, compression=codec)
        say(path, t.to_arrow())


def duckdb(d, rows, codecs):
    import duckdb
    db = duckdb.connect()
    query = """select printf('%%06d', i) id, (i * i) %% 1000 - 7 n, i / 7 f, case when i %% 11 > 0 then 'word-' || (i %% 5) end word,
        i %% 2 = 0 flag, ('x' || i)::blob raw, i::decimal(18, 3) money, timestamp '2024-01-25' + to_seconds(i) t, [i] list from range(%d) r(i)""" % rows
    for codec in codecs:
        for version in ["V1", "V2"]:
            path = os.path.join(d, "duckdb-%s-%s.parquet" % (codec, version))
            db.sql("copy (%s) to '%s' (format parquet, compression %s, parquet_version %s)" % (query, path, codec, version))
            say(path, pq.read_table(path))


def everything(d):
    rnd = random.Random(1)
    for codec in CODECS:
        for version in VERSIONS:
            for encoding in ENCODINGS:
                path = os.path.join(d, "pyarrow-%s-%s-%s.parquet" % (codec, version, encoding))
                write(path, table(rnd, 300), codec, version, encoding, checksum=rnd.random() < 0.5)
    write(os.path.join(d, "pyarrow-empty.parquet"), table(rnd, 0), "snappy", "1.0", "dictionary", True)
    for make in [polars, duckdb]:
        try:
            make(d, 500, ["uncompressed", *CODECS[1:]])
        except ImportError as e:
            print("without", e.name)


def at_random(d, files, seed):
    rnd = random.Random(seed)
    for i in range(files):
        rows = rnd.choice([0, 1, 7, 8, 9, 100, 1200])
        write(os.path.join(d, "random-%03d.parquet" % i), table(rnd, rows), rnd.choice(CODECS + ["lz4"]), rnd.choice(VERSIONS), rnd.choice(ENCODINGS),
              rnd.random() < 0.5, page=rnd.choice([None, 100, 5000]), group=rnd.choice([None, 10, 777]) if rows > 10 else None)


def small(d):
    rnd = random.Random(14)
    for codec, version, encoding in [("none", "1.0", "plain"), ("snappy", "1.0", "dictionary"), ("gzip", "2.0", "split"), ("brotli", "2.0", "dictionary"),
                                     ("zstd", "1.0", "delta"), ("lz4", "1.0", "dictionary"), ("lz4", "2.0", "delta")]:
        t = table(rnd, 12).drop(["list", "group"]) if codec != "none" else table(rnd, 12)
        write(os.path.join(d, "pyarrow-%s-%s-%s.parquet" % (codec, version, encoding)), t, codec, version, encoding, checksum=True)
    write(os.path.join(d, "pyarrow-empty.parquet"), table(rnd, 0).select(["id", "int"]), "snappy", "1.0", "dictionary", True)
    polars(d, 40, ["lz4"])
    duckdb(d, 40, ["lz4"])


if __name__ == "__main__":
    if len(sys.argv) == 2:
        small(sys.argv[1])
    elif sys.argv[2] == "all":
        everything(sys.argv[1])
    elif sys.argv[2] == "say":
        for path in sys.argv[3:]:
            say(path, pq.read_table(path))
    elif sys.argv[2] == "try":
        for path in sys.argv[3:]:
            attempt(sys.argv[1], path)
    else:
        at_random(sys.argv[1], int(sys.argv[3]), int(sys.argv[4]))
