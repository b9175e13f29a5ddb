"""Repository `parquet`: files of numbered rows with random payloads, laid out as a dataset of the Hub.

The manifest has the id, configuration and split to stream, and their rows and bytes. A row has its number (`row`), its
payload, and the payload's CRC-32 (`crc`), so a reader can check that it arrives once and complete.
"""

import zlib

import numpy
import pyarrow
import pyarrow.parquet
import repository


def layout(spec):
    """The path of every file, configuration by configuration; the files are spread evenly over folders."""
    per_config = spec["files"] // spec["configs"]
    per_folder = per_config // spec["folders"]
    paths = []
    for config in range(spec["configs"]):
        top = f"config-{config:03d}" if spec["configs"] > 1 else "data"
        for number in range(per_config):
            folder = f"/part-{number // per_folder:04d}" if spec["folders"] > 1 else ""
            paths.append(f"{top}{folder}/train-{number:05d}-of-{per_config:05d}.parquet")
    return paths


def rows(spec, number):
    """The rows of one file."""
    generator = numpy.random.default_rng([spec["seed"], number])
    count, size = spec["rows_per_file"], spec["row_bytes"]
    payloads = [generator.bytes(size) for _ in range(count)]
    return pyarrow.table(
        {
            "row": pyarrow.array(range(number * count, (number + 1) * count), pyarrow.int64()),
            "payload": pyarrow.array(payloads, pyarrow.binary()),
            "crc": pyarrow.array([zlib.crc32(payload) for payload in payloads], pyarrow.int64()),
        }
    )


def card(spec):
    """README.md, which names the configurations on the Hub."""
    if spec["configs"] == 1:
        return "---\nlicense: cc0-1.0\n---\n\nGenerated rows.\n"
    configs = "".join(
        f"- config_name: config-{number:03d}\n  data_files:\n  - split: train\n"
        f"    path: config-{number:03d}/**/train-*.parquet\n"
        for number in range(spec["configs"])
    )
    return f"---\nlicense: cc0-1.0\nconfigs:\n{configs}---\n\nGenerated rows.\n"


def write(spec, folder):
    paths = layout(spec)
    streamed = paths[: spec["files"] // spec["configs"]]
    size = 0
    for number, path in enumerate(paths):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # Random bytes do not compress, so files have the configured size.
        pyarrow.parquet.write_table(
            rows(spec, number), target, row_group_size=spec["row_group_rows"], compression="none", use_dictionary=False
        )
        size += target.stat().st_size if number < len(streamed) else 0
    (folder / "README.md").write_text(card(spec), encoding="utf-8")
    return {
        "config": "config-000" if spec["configs"] > 1 else None,
        "split": "train",
        "files": len(streamed),
        "rows": len(streamed) * spec["rows_per_file"],
        "bytes": size,
    }


if __name__ == "__main__":
    repository.make(__doc__, write)
