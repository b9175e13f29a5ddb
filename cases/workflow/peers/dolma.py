"""dolma: `tokenize_in_parallel`, a writer per worker. It appends an entry to every document, and shuffles.

`documents` undoes both: dolma's metadata has the file and line of each document.
"""

from pathlib import Path

from dolma.tokenizer import tokenize_in_parallel


def end(how):
    """The end-of-document entry that dolma requires, unless documents already end so: the last entry of the
    vocabulary."""
    import encoders

    return encoders.entries(Path(how.tokenizer)) - 1


def tokenize(how):
    workers = min(how.workers, len(how.files))
    tokenize_in_parallel(
        sources=how.files,
        destination=f"{how.out}/ids",
        metadata_dir=f"{how.out}/done",
        num_writers=workers,
        local_shuffle=how.batch_size,
        ring_size=1,
        tokenizer_name_or_path=f"{how.tokenizer}/tokenizer.json",
        eos_token_id=end(how),
        pad_token_id=end(how),
        dtype="uint16" if how.dtype() == "<u2" else "uint32",
        id_field_name="label",
    )


def documents(how):
    import csv
    import gzip

    import numpy

    places = {}
    for listed in sorted(Path(how.out, "ids").glob("*.csv.gz")):
        ids = numpy.memmap(str(listed).removesuffix(".csv.gz") + ".npy", how.dtype(), "r")
        with gzip.open(listed, "rt", newline="", encoding="utf-8") as lines:
            for first, last, _, file, line in csv.reader(lines):
                places[file, int(line)] = ids[int(first) : int(last)]
    last_id = end(how)
    for document in (places[key] for file in how.files for key in sorted(key for key in places if key[0] == file)):
        if document[-1] != last_id:
            raise ValueError("a document without the entry behind it")
        yield document[:-1]
