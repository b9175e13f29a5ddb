"""Documents from files: the same for any chunk size, spans, and size from which a document is streamed."""

import csv
import faulthandler
import gc
import gzip
import io
import itertools
import json
import os
import struct
import sys
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beyond_ram.tokenize.encoders import ENGINE

sys.path.insert(0, str(ENGINE))
import inputs
import json_text
import sizes
import sources

sys.path.remove(str(ENGINE))

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))
ODD = st.sampled_from(("", "\\", '"', "\\\\n", "\n", "\r\n", "\u2028", "😀", "é", "中", "\\u00e9", "a" * 90))
TEXT = (
    st.lists(st.one_of(ODD, st.text(max_size=8)), max_size=12)
    .map("".join)
    .map(lambda text: text.encode("utf-8", "ignore").decode())
)
TEXTS = st.lists(TEXT, max_size=12)


@pytest.fixture
def chunk():
    """Yield a function that sets how many bytes are read at once."""
    before = sources.CHUNK

    def to(size):
        sources.CHUNK = size

    yield to
    sources.CHUNK = before


def read(spans, huge):
    texts = []
    for batch in inputs.read(spans, "text", huge):
        texts += ["".join(batch.pieces)] if isinstance(batch, inputs.Stream) else batch.texts
    return texts


def cut(path, places):
    """Return the spans of a file that is cut at these bytes."""
    size = path.stat().st_size
    edges = sorted({0, *(place % (size + 1) for place in places)} - {size}) or [0]
    return [(str(path), at, to) for at, to in zip(edges, [*edges[1:], size], strict=True)]


@pytest.mark.slow
@SETTINGS
@given(
    texts=TEXTS, huge=st.integers(20, 200), size=st.integers(1, 60), places=st.lists(st.integers(0, 5000), max_size=6),
    ascii=st.booleans(), end=st.sampled_from(("\n", "\r\n", "\n\n", " \n")), last=st.booleans(),
    before=st.sampled_from(({}, {"id": 7, "meta": {"text": "no", "a": ["}", 1.5e3, None]}, "s": 'q"\\'})),
    behind=st.sampled_from(({}, {"z": [[]], "y": "text", "x": "\n" * 40})),
)  # fmt: skip
def test_json_lines_are_read_whole(
    chunk, tmp_path_factory, texts, huge, size, places, ascii, end, last, before, behind
):
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    rows = [json.dumps({**before, "text": text, **behind}, ensure_ascii=ascii) for text in texts]
    whole = end.join(rows) + (end if last else "")
    path.write_bytes(whole.encode())
    chunk(size)
    assert read([(str(path), 0, None)], huge) == texts
    assert read(cut(path, places), huge) == texts
    compressed = path.with_suffix(".jsonl.gz")
    compressed.write_bytes(gzip.compress(whole.encode()))
    assert read([(str(compressed), 0, None)], huge) == texts


@pytest.mark.slow
@settings(SETTINGS, max_examples=SETTINGS.max_examples * 2 // 5)  # an example takes 90 ms
@given(texts=TEXTS, huge=st.integers(1, 100), size=st.integers(1, 60), rows=st.integers(1, 5), large=st.booleans())
def test_tables_are_read_whole(chunk, tmp_path_factory, texts, huge, size, rows, large):
    folder = tmp_path_factory.getbasetemp()
    table = pa.table({"text": pa.array(texts, pa.large_string() if large else pa.string())})
    for kind, opening in (("stream", pa.ipc.new_stream), ("file", pa.ipc.new_file)):
        with pa.OSFile(str(folder / f"{kind}.arrow"), "wb") as sink, opening(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    pq.write_table(table, folder / "t.parquet", row_group_size=rows)
    chunk(size)
    for name in ("stream.arrow", "file.arrow", "t.parquet"):
        assert read([(str(folder / name), 0, None)], huge) == texts
        groups = -(-len(texts) // rows)
        spans = [(str(folder / name), at, at + 1) for at in range(groups)]
        assert read(spans, huge) == texts


@pytest.mark.slow
@SETTINGS
@given(text=TEXT, huge=st.integers(1, 100), size=st.integers(1, 60))
def test_text_files_are_read_whole(chunk, tmp_path_factory, text, huge, size):
    path = tmp_path_factory.getbasetemp() / "one.txt"
    path.write_bytes(text.encode())
    chunk(size)
    assert read([(str(path), 0, None)], huge) == [text.removeprefix("\ufeff")]


def in_chunks(raw, size):
    """Read a line in chunks; return its text, or None if it is refused."""
    chunks = (raw[at : at + size] for at in range(0, len(raw), size))
    try:
        return "".join(json_text.LineStream(chunks, "text").pieces())
    except json_text.Refused:
        return None


def test_long_name_is_not_taken_for_an_empty_name():
    raw = b'{"' + b"n" * 5000 + b'": "x"}'
    with pytest.raises(json_text.Refused):
        "".join(json_text.LineStream(iter((raw,)), "").pieces())
    with pytest.raises(json_text.Refused):
        json_text.Lines("").text(raw)
    assert "".join(json_text.LineStream(iter((b'{"": "x"}',)), "").pieces()) == "x"


def test_column_name_with_a_dot_is_not_a_nested_column(tmp_path):
    inner = [{"b": "no"}, {"b": "no"}]
    for number, columns in enumerate(({"a": inner, "a.b": ["x", "y"]}, {"a.b": ["x", "y"], "a": inner})):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table(columns), path)
        assert [text for batch in inputs.read([(str(path), 0, None)], "a.b") for text in batch.texts] == ["x", "y"]


def at_once(raw):
    try:
        return str(json_text.Lines("text").text(raw))
    except json_text.Refused:
        return None


ODD = {
    "brackets that do not match": (b'{"o": [1}, "text": "a"}', None),
    "a control character in another field": (b'{"o": "\x00", "text": "a"}', None),
    "no UTF-8 in another field": (b'{"o": "\xff", "text": "a"}', None),
    "no number": (b'{"o": 01, "text": "a"}', None),
    "a long number": (b'{"o": ' + b"9" * 5000 + b', "text": "a"}', "a"),
    "a name twice": (b'{"text": "a", "text": "b"}', "a"),
    "a name twice, once no text": (b'{"text": 1, "text": "b"}', None),
    "a name in escapes": (b'{"te\\u0078t": "a"}', "a"),
    "a name deeper": (b'{"o": {"text": "b"}, "l": ["text", {"text": "c"}], "text": "a"}', "a"),
    "a name as a value": (b'{"o": "text", "text": "a"}', "a"),
    "a byte order mark inside": (b'{"text": "\xef\xbb\xbfa"}', "\ufeffa"),
    **{
        line: (line.encode(), None)
        for line in (
            '{"text": "x"', '{"text": "x"} 1', '{"text": "\\x"}', '{"text": "\\u12"}', '{"text": "a\nb"}',
            '{"text": 1}', "[]", '{"a": "b"}', '{"text" "x"}', '{"text": "x",}', '{text: "x"}', '{"text": nul}',
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_streamed_lines_are_checked_like_whole_ones(case):
    raw, text = ODD[case]
    assert at_once(raw) == text
    assert [in_chunks(raw, size) for size in (1, 2, 7, 1000)] == [text] * 4


LINES = st.fixed_dictionaries(
    {"text": TEXT},
    optional={"a": st.recursive(TEXT | st.integers() | st.booleans() | st.none(), st.lists, max_leaves=4), "b": TEXT},
)


@pytest.mark.slow
@SETTINGS
@given(
    row=LINES,
    where=st.floats(0, 1),
    what=st.sampled_from((None, *b'"\\{}[]:, 0a\x00\xff\xc3\n')),
    size=st.integers(1, 40),
)
def test_damaged_lines_give_the_same_streamed_and_whole(row, where, what, size):
    raw = bytearray(json.dumps(row, ensure_ascii=False).encode())
    if what is not None:
        raw[int(where * (len(raw) - 1))] = what
    assert in_chunks(bytes(raw), size) == at_once(bytes(raw))


def test_bad_escape_in_a_long_line_is_refused_early():
    chunks_read = 0

    def chunks():
        nonlocal chunks_read
        yield b'{"text": "\\x'
        for _ in range(1000):
            chunks_read += 1
            yield b"a" * 100

    with pytest.raises(json_text.Refused, match="is not JSON"):
        list(json_text.LineStream(chunks(), "text").pieces())
    assert chunks_read < 5


def test_units_cover_each_byte_once(tmp_path):
    """Each byte is in one span, in order."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "some text"}\n' * 1_600_000)
    small = [tmp_path / f"{number}.txt" for number in range(5)]
    for one in small:
        one.write_text("x", encoding="utf-8")
    units, weights = inputs.plan([str(path), *map(str, small)])
    spans = [span for unit in units for span in unit]
    size = path.stat().st_size
    assert spans[0][:2] == (str(path), 0) and len(units) > 2 and sum(weights) == size + 5
    edges = [span[1:] for span in spans if span[0] == str(path)]
    assert [to for _, to in edges[:-1]] == [at for at, _ in edges[1:]] and edges[-1][1] == size
    assert [span[0] for span in spans[-5:]] == list(map(str, small)) and len(units[-1]) >= 5


def texts_of(path):
    """Plan and read a file, as a run does."""
    units, _ = inputs.plan([str(path)])
    return [text for unit in units for text in read(unit, 100)]


def refuse(path, *contents):
    """Check that a file with each of these contents is refused."""
    for raw in contents:
        path.write_bytes(raw)
        with pytest.raises(json_text.Refused):
            texts_of(path)


TABS = b"text\tb\none,\tx\n"
PARQUET = io.BytesIO()
pq.write_table(pa.table({"text": ["a"]}), PARQUET)


LINKED = (
    ("a.TSV", "a.TSV", TABS, "one,"),
    ("a.tsv.csv", "a.tsv.csv", b'text,b\n"one,",x\n', "one,"),
    ("a.tsv", "b.csv", TABS, "one,"),
    ("a.txt", "b.csv", TABS, TABS.decode()),
    ("a.jsonl", "raw.txt", b'{"text": "a"}\n', "a"),
    ("a.jsonl.gz", "blob", gzip.compress(b'{"text": "a"}\n'), "a"),
    ("a.parquet", "blob", PARQUET.getvalue(), "a"),
)


@pytest.mark.parametrize(("name", "target", "content", "text"), LINKED, ids=[name for name, *_ in LINKED])
def test_name_given_decides_how_a_linked_file_is_read(name, target, content, text, tmp_path):
    """The cache of the Hub has links to files without an ending."""
    (tmp_path / target).write_bytes(content)
    if name != target:
        (tmp_path / name).symlink_to(target)
    assert texts_of(tmp_path / name) == [text]


BAD = {
    "no column": (b'{"body": "x"}\n', "bad.jsonl", r"line 1: has no column 'text' \(there are: 'body'\)"),
    "null": (b'{"text": "x"}\n{"text": null}\n', "bad.jsonl", "line 2: column 'text' holds null"),
    "no text": (b'{"text": 5}\n', "bad.jsonl", "holds int"),
    "an array": (b'[{"text": "x"}]', "bad.json", "one JSON array"),
    "cut JSON": (b'{"text": "x"}\n{"text": "y', "bad.jsonl", "line 2: is not JSON"),
    "not UTF-8": (b'{"text": "x"}\n{"text": "\xff"}\n', "bad.jsonl", "line 2: is not UTF-8"),
    "cut gzip": (gzip.compress(b'{"text": "x"}\n' * 5000)[:-20], "bad.jsonl.gz", "truncated, or not a gzip file"),
    "no zstd": (b"plain text, and more of it", "bad.jsonl.zst", "truncated, or not a zstd file"),
    "CSV that is not UTF-8": (b"text\nok\n\xff\n", "bad.csv", r"bad.csv, line 3: not UTF-8 \(0xff\)"),
    "CSV without the column": (b"a,b\n1,2\n", "bad.csv", r"no column 'text' \(there are: 'a', 'b'\)"),
    "CSV with a field too many": (b"text,b\n1,2\n1,2,3\n", "bad.csv", "line 3: 3 fields, and the header has 2"),
    "text not UTF-8": (b"abc\xff", "bad.txt", r"not UTF-8 \(0xff\)"),
    "no Parquet": (b"PAR1 not", "bad.parquet", "cannot be read"),
    "no Arrow": (b"\x00" * 64, "bad.arrow", "bad.arrow"),
    "empty Arrow": (b"", "bad.arrow", "empty"),
    **{f"empty {name}": (b"", f"bad.{name}", "empty") for name in ("jsonl.gz", "jsonl.zst", "txt.gz", "txt.zst")},
}


@pytest.mark.parametrize(("content", "name", "message"), BAD.values(), ids=BAD)
def test_bad_file_is_refused_by_its_place(content, name, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(json_text.Refused, match=message) as error:
        texts_of(tmp_path / name)
    assert name in str(error.value) and "\n" not in str(error.value)


DICTIONARY = pa.DictionaryArray.from_arrays
COLUMNS = {
    "numbers": ([[1, 2]], "is int64, and has to be text"),
    "lists": ([[["x"]]], "is list<.*>, and has to be text"),
    "two": ([["x"], ["y"]], "2 columns 'text'"),
    "null": ([["x", None]], "row 2: null"),
    "null inside": ([DICTIONARY(pa.array([0, 1, 0], pa.int32()), pa.array(["x", None]))], "row 2: null"),
    "null index": ([DICTIONARY(pa.array([0, None, 0], pa.int32()), pa.array(["x"]))], "row 2: null"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_column_without_text_is_refused(case, tmp_path):
    columns, message = COLUMNS[case]
    table, path = pa.table(columns, ["text"] * len(columns)), tmp_path / "a.arrow"
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(json_text.Refused, match=message):
        texts_of(path)
    if case == "null inside":  # Parquet has no such column
        return
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    with pytest.raises(json_text.Refused, match=message):
        texts_of(path)
    if "row" not in message:  # with a memory limit, sizes of pages are read first
        with pytest.raises(json_text.Refused, match=message):
            inputs.needs([(str(path), 0, 1)], "text")


def arrow(path, array, stream=True, **options):
    """Write a column of text between others, two rows a batch."""
    other = pa.array([[{"a": None}, {"a": 1}]] * len(array))
    union = pa.UnionArray.from_sparse(pa.array([0] * len(array), pa.int8()), [pa.array(["u"] * len(array))])
    views = pa.array(["a view that is long"] * len(array), pa.string_view())
    table = pa.table({"o": other, "u": union, "n": pa.nulls(len(array)), "v": views, "text": array, "z": other})
    opening = pa.ipc.new_stream if stream else pa.ipc.new_file
    with opening(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


LONG = ["a text of more than twelve bytes", "short", "", "another long text é", "a text of more than twelve bytes"]
KINDS = {
    "text": pa.string(),
    "large": pa.large_string(),
    "view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "dictionary of views": pa.dictionary(pa.int32(), pa.string_view()),
}


def column(kind):
    if kind == "dictionary of views":
        values = pa.array([LONG[0], *LONG[1:4]], pa.string_view())
        return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 0], pa.int32()), values)
    return pa.array(LONG).cast(KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_columns_of_text_are_read(kind, stream, compression, tmp_path):
    path = arrow(tmp_path / "a.arrow", column(kind), stream, compression=compression)
    assert texts_of(path) == LONG
    need, _ = inputs.needs([(str(path), 0, None)], "text")
    assert (need > 0) == (compression is not None)


def test_empty_table_is_read(tmp_path):
    for stream in (True, False):
        assert texts_of(arrow(tmp_path / "a.arrow", pa.array([], pa.string()), stream)) == []
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
        writer.write_table(pa.table({"text": pa.array([], pa.string())}))
        writer.write_table(pa.table({"text": ["x"]}))
    assert texts_of(path) == ["x"] and inputs.needs([(str(path), 0, 2)], "text")[0]


def test_arrow_after_its_end_or_without_it_is_refused(tmp_path):
    stream = arrow(tmp_path / "s.arrow", pa.array(LONG)).read_bytes()
    file = arrow(tmp_path / "f.arrow", pa.array(LONG), stream=False).read_bytes()
    path = tmp_path / "a.arrow"
    refuse(path, stream * 2, stream + b"x", stream + b"\0" * 8, file * 2, file + stream, b"x" + file, file + b"x")
    for raw in (stream, file):
        path.write_bytes(raw)
        assert texts_of(path) == LONG
    ends = [at for at in range(8, len(stream), 8) if stream[at : at + 4] == b"\xff" * 4]  # of the schema, and batches
    assert len(ends) == 4
    refuse(path, *(stream[:at] for at in ends))


def without_length_of_schema(raw):
    """An IPC file as polars 2.1 writes it: the place in the file stays, so the footer is right."""
    size = int.from_bytes(raw[12:16], "little")
    return raw[:8] + raw[16 : 16 + size] + bytes(8) + raw[16 + size :]


def test_arrow_file_without_the_length_of_its_schema_is_read(tmp_path):
    path = tmp_path / "a.arrow"
    files = {}
    for name, texts in {"some": LONG, "none": []}.items():
        raw = arrow(path, pa.array(texts, pa.string()), stream=False).read_bytes()
        files[name] = without_length_of_schema(raw)
        path.write_bytes(files[name])
        assert texts_of(path) == texts
    some, none = files.values()
    refuse(path, some * 2, none * 2, some + none, none + some)


def test_batch_that_the_footer_does_not_list_is_refused(tmp_path):
    path = arrow(tmp_path / "a.arrow", pa.array(LONG), stream=False)
    raw = path.read_bytes()
    start = len(raw) - 10 - int.from_bytes(raw[-10:-6], "little")
    _, batches = sizes.blocks(raw[start:-10])
    assert len(batches) == 3
    pack = [struct.pack("<qi4xq", *one) for one in batches]
    for listed in ([pack[0]] * 3, [pack[1]] * 3, [pack[0], pack[0], pack[2]], [pack[0], pack[1], pack[1]]):
        refuse(path, raw.replace(b"".join(pack), b"".join(listed)))


def test_compressed_text_after_its_end_is_refused(tmp_path):
    packed = {"gz": gzip.compress(b"a text"), "zst": pa.compress(b"a text", codec="zstd", asbytes=True)}
    for ending, raw in packed.items():
        path = tmp_path / f"a.txt.{ending}"
        path.write_bytes(raw * 2)
        assert texts_of(path) == ["a texta text"]
        refuse(path, raw + b"more")


def test_parquet_after_its_end_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": LONG}), path, write_page_index=True)
    raw = path.read_bytes()
    assert texts_of(path) == LONG
    refuse(path, raw * 2, raw + b"x")


def many_groups(path):
    inner = [{"a": [1, 2], "b": {"c": "x"}}] * 20
    pq.write_table(pa.table({"number": list(range(20)), "inner": inner, "text": ["x"] * 20}), path, row_group_size=1)
    return path


def test_parsed_footers_do_not_add_up(tmp_path):
    path = str(many_groups(tmp_path / "a.parquet"))
    gc.collect()
    gc.disable()
    try:
        for group in range(5):
            assert read([(path, group, group + 1)], 100) == ["x"]
            assert inputs.needs([(path, group, group + 1)], "text")[0]
        assert sum(isinstance(one, pq.FileMetaData) for one in gc.get_objects()) <= 2
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_repeated_texts_of_parquet_are_not_expanded(kind, tmp_path):
    distinct = [f"{number} " * 2500 for number in range(50)]
    texts = [distinct[number * 7 % 50] for number in range(2_000)] + [f"last {number}" for number in range(9)]
    pq.write_table(pa.table({"text": pa.array(texts, kind)}), tmp_path / "a.parquet")
    pool = inputs.arrow_library().default_memory_pool()
    before, most, at = pool.bytes_allocated(), 0, 0
    for batch in inputs.read([(str(tmp_path / "a.parquet"), 0, None)], "text"):
        assert batch.texts == texts[at : at + len(batch.texts)]
        at, most = at + len(batch.texts), max(most, pool.bytes_allocated() - before)
    assert at == len(texts) and most < 4 << 20


def test_zstd_window_that_no_reader_allows_is_refused(tmp_path):
    # A frame whose descriptor asks for a window of 2 GiB, as `zstd --long=31` writes it for streams: RFC 8878, 3.1.1.
    magic, descriptor, window, last_raw_block = (
        b"\x28\xb5\x2f\xfd",
        b"\0",
        bytes([21 << 3]),
        (5 << 3 | 1).to_bytes(3, "little"),
    )
    (tmp_path / "a.txt.zst").write_bytes(magic + descriptor + window + last_raw_block + b"words")
    with pytest.raises(sources.Refused, match="window"):
        list(inputs.read([(str(tmp_path / "a.txt.zst"), 0, None)], "text"))


def test_changed_bit_of_a_checked_page_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": LONG}), path, write_page_checksum=True, use_dictionary=False, compression="none")
    raw = path.read_bytes()
    at = raw.index(LONG[0].encode()) + 5
    refuse(path, raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])


def refuse_changed(path, before, after):
    raw = path.read_bytes()
    assert raw.count(before) == 1
    refuse(path, raw.replace(before, after))


def int32(*numbers):
    return b"".join(number.to_bytes(4, "little", signed=True) for number in numbers)


@pytest.mark.parametrize("offsets", [(0, 4, 90), (0, 9, 8), (0, -4, 8), (-4, 4, 8), (5, 4, 8)])
def test_damaged_offsets_are_refused(offsets, tmp_path):
    path = arrow(tmp_path / "a.arrow", pa.array(["AAAA", "BBBB"]))
    assert texts_of(path) == ["AAAA", "BBBB"]
    refuse_changed(path, int32(0, 4, 8), int32(*offsets))


def in_a_fork(path, contents):
    """What reading each content gives, up to one for which pyarrow ends the process: "all of it", "refused", another
    number of texts, or an error; nothing for that one."""
    read_end, write_end = os.pipe()
    if not (pid := os.fork()):
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for content in contents:
            path.write_bytes(content)
            try:
                text = {60: "all of it"}.get(number := len(texts_of(path)), f"{number} texts")
            except json_text.Refused:
                text = "refused"
            except BaseException as error:
                text = repr(error)[:500].replace("\n", " ")
            os.write(write_end, text.encode() + b"\n")
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        texts = pipe.read().decode().splitlines()
    os.waitpid(pid, 0)
    return texts if len(texts) == len(contents) else [*texts, ""]


@pytest.mark.slow
@pytest.mark.parametrize(("version", "dictionary"), [("1.0", True), ("2.0", False)])
def test_parquet_with_a_flipped_bit_is_refused_or_read_whole(version, dictionary, tmp_path):
    """In the header of a page, or in a number of rows or values. pyarrow reads fewer rows of some, without an error."""
    path, rows = tmp_path / "a.parquet", 20
    table = pa.table({"text": [f"row {n} text" for n in range(3 * rows)]})
    pq.write_table(table, path, row_group_size=rows, use_dictionary=dictionary, data_page_version=version)
    raw = path.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    numbers = [at for at in range(footer, len(raw)) if raw[at] == 2 * rows]  # as Thrift writes it
    places = itertools.product([*range(4, 14), *numbers], (0, 3, 7))
    contents, outcomes = [raw[:at] + bytes([raw[at] ^ 1 << bit]) + raw[at + 1 :] for at, bit in places], Counter()
    while left := contents[outcomes.total() :]:
        outcomes.update(in_a_fork(path, left))
    assert outcomes.keys() <= {"all of it", "refused", ""}, outcomes
    assert outcomes["refused"] > 20


@pytest.mark.parametrize("change", [{2: 1}, {2: -1}, {3: 90}, {3: -1}, {0: 90}, {0: -1}, {1: 0}])
def test_damaged_views_are_refused(change, tmp_path):
    path = arrow(tmp_path / "a.arrow", pa.array([LONG[0]], pa.string_view()))
    view = [len(LONG[0]), int.from_bytes(LONG[0][:4].encode(), "little"), 0, 0]
    refuse_changed(path, int32(*view), int32(*(change.get(at, number) for at, number in enumerate(view))))


@pytest.mark.parametrize("index", [4, -1])
def test_damaged_indices_are_refused(index, tmp_path):
    indices = pa.array([1734, 1735], pa.int32())
    values = pa.array(["xx"] * 1736)  # whose offsets are other numbers
    path = arrow(tmp_path / "a.arrow", pa.DictionaryArray.from_arrays(indices, values))
    refuse_changed(path, int32(1734, 1735), int32(1734, 1732 + index if index > 0 else index))


def test_nulls_that_a_batch_does_not_count_are_refused(tmp_path):
    path = arrow(tmp_path / "a.arrow", pa.array(["a" * 500] * 201 + [None], pa.string()).slice(1))
    raw = path.read_bytes()
    node = (1).to_bytes(8, "little") * 2  # the last batch has one row, and one null
    at = raw.rindex(node)
    refuse(path, raw[:at] + (1).to_bytes(8, "little") + bytes(8) + raw[at + 16 :])


def test_long_blank_line_is_no_document(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' + b" " * 500 + b"\r\n" + b" " * 500 + b'{"text": "b"}\n' + b" " * 500)
    assert texts_of(path) == ["a", "b"]
    refuse(path, b"\v" * 500 + b'{"text": "b"}\n')


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b'text\nok\n"open\nx\ny\n', "line 5: not CSV"),
        (b'text,n\nok,1\n"a\nb",1\n"a"b,2\n', "line 5: not CSV"),
        (b"text,n\nok,1\n'a\n", "line 3: 1 fields"),
        (b"text\n" + b"ok\n" * 9 + b"x" * 900_000, "line 11: more than 300,000 characters"),
    ],
)
def test_csv_that_is_refused_names_the_line(content, lines, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    limit = csv.field_size_limit(300_000)
    try:
        with pytest.raises(json_text.Refused, match=f"a.csv, {lines}"):
            read([(str(tmp_path / "a.csv"), 0, None)], 100)
    finally:
        csv.field_size_limit(limit)


@pytest.mark.parametrize("huge", [4, 1000])
def test_byte_order_mark_is_skipped_only_at_the_start_of_a_file(huge, tmp_path):
    mark, path = b"\xef\xbb\xbf", tmp_path / "a.jsonl"
    path.write_bytes(mark + b'{"text": "a"}\n{"text": "b"}\n')
    assert read([(str(path), 0, None)], huge) == ["a", "b"]
    path.write_bytes(mark + b'{"text": "a"}\n' + mark + b'{"text": "b"}\n')
    with pytest.raises(json_text.Refused, match=r"a\.jsonl, line 2: is not JSON"):
        read([(str(path), 0, None)], huge)


def test_long_name_in_a_gzip_header_is_read_in_blocks():
    class Counted(io.BytesIO):
        reads = 0

        def read(self, *size):
            self.reads += 1
            return super().read(*size)

        def readinto(self, view):
            self.reads += 1
            return super().readinto(view)

    packed = gzip.compress(b"a text")
    file = Counted(packed[:3] + b"\x08" + packed[4:10] + b"n" * 50_000 + b"\0" + packed[10:])
    assert sources.unpacked(file, "gzip").read() == b"a text"
    assert file.reads < 50
