"""The sources that need no server: binaries, python, synthetic, files."""

import gzip
import json
import os
import subprocess
from collections import Counter
from statistics import quantiles

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.slow

BINARIES = {"source": "binaries", "documents": 20, "seed": 0}


def sizes_mb(manifest):
    return [file["text_bytes"] / 1e6 for file in manifest["files"]]


def test_first_20_binaries_have_the_recorded_profile(programs):
    corpus = programs.prepare(BINARIES)
    sizes = sizes_mb(corpus.manifest)
    assert quantiles(sizes, n=4) == pytest.approx([0.35, 0.85, 2.55], rel=0.15)
    assert sum(sizes) / len(sizes) == pytest.approx(1.382, rel=0.05)
    assert max(sizes) <= 4.2
    assert sum(size < 3.6 for size in sizes) == 19

    rows = corpus.rows()
    content = bytes(ord(character) - 0x2A00 for character in rows[0]["text"])
    site_packages = next((programs.python.parent.parent / "lib").glob("python3*/site-packages"))
    assert content[:30_000] in (site_packages / rows[0]["label"]).read_bytes()
    assert all(len(row["text"].encode()) == 3 * len(row["text"]) for row in rows)
    used = set().union(*(row["text"] for row in rows))
    assert used == {chr(0x2A00 + byte) for byte in range(256)}
    assert len({row["label"] for row in rows}) > 3, "few libraries are among the first documents"


def test_binaries_depend_on_the_seed_and_more_are_appended(programs):
    specs = ({"documents": 2}, {"documents": 3}, {"documents": 2, "seed": 1})
    few, more, other = (programs.prepare({**BINARIES, **one}, f"{at}").digests() for at, one in enumerate(specs))
    assert few == more[:2]
    assert not set(few) & set(other)


def test_673_binaries_are_available_and_more_are_refused(programs):
    line = programs.refused({**BINARIES, "documents": 100_000})
    assert '"documents" is 100000' in line
    assert int(line.rsplit(" ", 1)[1]) >= 673
    # The sizes of all 673, without writing 930 MB.
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import binaries as b; "
        "print(json.dumps([3 * s for _, s in b.layout(sum(l.size for l in b.libraries()), 0)][:673]))"
    )
    command = [str(programs.python), "-B", "-c", code, str(programs.folder)]
    sizes = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert len(sizes) == 673
    assert quantiles(sizes, n=4) == pytest.approx([0.35e6, 0.85e6, 2.55e6], rel=0.02)
    assert sum(sizes) == pytest.approx(930e6, rel=0.01)


def test_binaries_are_only_files_listed_in_wheels(programs):
    """A library in the folder that belongs to no wheel must not change the corpus."""
    site_packages = programs.work / "site-packages"
    (site_packages / "wheel").mkdir(parents=True)
    (site_packages / "wheel-1.0.dist-info").mkdir()
    (site_packages / "wheel-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: wheel\nVersion: 1.0\n"
    )
    listed = [
        "wheel/z.so",
        "wheel/b.cpython-311-x86_64-linux-gnu.so",
        "wheel/libssl.so.1.1.1k",
        "wheel/c.py",
        "wheel/so",
    ]
    (site_packages / "wheel-1.0.dist-info" / "RECORD").write_text("".join(f"{name},sha256=abc,3\n" for name in listed))
    for name in [*listed, "wheel/stray.so"]:
        (site_packages / name).write_bytes(b"abc")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import binaries as b; "
        "b.sysconfig.get_path = lambda name: sys.argv[2]; print([l.name for l in b.libraries()])"
    )
    command = [str(programs.python), "-B", "-c", code, str(programs.folder), str(site_packages)]
    assert json.loads(programs.run(command).stdout.replace("'", '"')) == sorted(listed[:3])
    (site_packages / "wheel" / "z.so").unlink()
    assert "SourceError: wheel/z.so of wheel is missing" in programs.run(command).stderr


def test_python_sources_are_sorted_modules(programs):
    corpus = programs.prepare({"source": "python", "documents": 45})
    assert [file["documents"] for file in corpus.manifest["files"]] == [20, 20, 5]
    rows = corpus.rows()
    labels = [row["label"] for row in rows]
    assert labels == sorted(labels)
    assert rows[0]["label"] == "__future__.py"
    assert "Record of phased-in incompatible language changes" in rows[0]["text"]
    everything = programs.prepare({"source": "python", "documents": None}, "all")
    labels = [row["label"] for row in everything.rows()]
    assert "asyncio/events.py" in labels
    assert not [name for name in labels if name.startswith(("site-packages/", "lib2to3/", "_sysconfigdata", "config-"))]
    assert "has " + str(len(labels)) in programs.refused({"source": "python", "documents": 10**6})


def test_synthetic_text_is_seeded_and_has_zipf_frequencies(programs):
    spec = {"source": "synthetic", "documents": 100, "document_characters": 20_000, "vocabulary": 5000, "seed": 3}
    corpus = programs.prepare(spec)
    assert corpus.digests() == programs.prepare(spec, "again").digests()
    assert corpus.digests() != programs.prepare({**spec, "seed": 4}, "other").digests()
    assert {len(row["text"]) for row in corpus.rows()} == {20_000}
    words = Counter(word for row in corpus.rows() for word in row["text"].split(" ")[1:-1])
    assert 4000 < len(words) <= 5000
    counts = [number for _, number in words.most_common()]
    # Zipf-Mandelbrot: the count falls as 1 / (rank + 2.7).
    assert counts[0] / counts[99] == pytest.approx(102.7 / 3.7, rel=0.2)
    assert counts[99] / counts[999] == pytest.approx(1002.7 / 102.7, rel=0.2)


def test_synthetic_text_without_white_space(programs):
    spec = {"source": "synthetic", "documents": 3, "document_characters": [100, 2000], "white_space": False}
    texts = [row["text"] for row in programs.prepare(spec).rows()]
    assert all(100 <= len(text) <= 2000 and text.isalpha() for text in texts)


def test_ten_times_the_text_needs_no_more_memory(programs):
    spec = {"source": "synthetic", "document_characters": 20_000, "documents_per_file": 100}
    small, large = (programs.high_water_mark({**spec, "documents": documents}) for documents in (200, 2000))
    assert large == pytest.approx(small, rel=0.03)


def test_parquet_file_with_one_row_group_is_read_by_page(programs):
    marks, path = [], programs.work / "one.parquet"
    for rows in (100, 1000):
        table = pa.table({"text": [os.urandom(12_500).hex() for _ in range(rows)]})
        pq.write_table(table, path, write_batch_size=1, use_dictionary=False)
        marks.append(programs.high_water_mark({"source": "files", "glob": str(path), "documents_per_file": 100}))
    assert marks[1] == pytest.approx(marks[0], rel=0.05), "2.5 and 25 MB of text"


TABLE = [{"text": "first\nä", "kind": "x"}, {"text": "second, with comma", "kind": "y"}, {"text": "", "kind": "z"}]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Write the same three rows as packed lines and as a table; tokenize/engine/test_inputs.py has all formats."""
    folder = tmp_path_factory.mktemp("tables")
    pq.write_table(pa.Table.from_pylist(TABLE), folder / "t.parquet", row_group_size=1)
    (folder / "t.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in TABLE).encode()))
    return folder


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.parquet"])
def test_each_row_with_text_is_a_document(programs, tables, name):
    spec = {"source": "files", "glob": str(tables / name), "documents_per_file": 9}
    corpus = programs.prepare(spec)
    assert [row["text"] for row in corpus.rows()] == [row["text"] for row in TABLE[:2]]
    assert corpus.manifest["words"] == sum(len(str(row["text"]).split()) for row in TABLE[:2])
    assert corpus.manifest["notes"] == {"input_files": 1, "empty_files": 0, "left_out_without_text": 1}


def test_each_text_file_is_a_document_in_order_of_paths(programs):
    for name in ("b/2.txt", "a.txt", "b/10.txt"):
        path = programs.work / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}\n", encoding="utf-8")
    (programs.work / "in" / "notes.md").write_text("# other\n")
    corpus = programs.prepare({"source": "files", "glob": ["in/**/*.txt", "in/a.*"]})
    assert [row["label"] for row in corpus.rows()] == ["a.txt", "10.txt", "2.txt"]
    assert corpus.rows()[0]["text"] == "text of a.txt\n"
    assert len(corpus.manifest["files"]) == 3
    other = programs.prepare({"source": "files", "glob": "in/*.md", "format": "txt"}, "other")
    assert other.rows() == [{"text": "# other\n", "label": "notes.md"}]


def test_mistakes_in_files_get_one_line_with_their_place(programs, tables):
    """Others are in hostile/test_corpora.py."""
    line = programs.refused({"source": "files", "glob": str(tables / "t.parquet"), "text_column": "body"})
    assert "t.parquet" in line and "no column 'body' (there are: 'text', 'kind')" in line
    assert "matches no file" in programs.refused({"source": "files", "glob": "nothing/*.txt"})
