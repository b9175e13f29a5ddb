"""`litdata.optimize`: a function that yields an array per document of its file, workers in order, chunks of 64 MB."""

import functools
import os

import litdata


def rows(file, how):
    """The ids of a file's documents."""
    import numpy

    encode = encoder(how.tokenizer, how)
    for batch in how.batches([file]):
        for ids in encode(batch):
            yield numpy.asarray(ids, how.dtype())


@functools.cache
def kept():
    return {}


def encoder(folder, how):
    """One encoder per worker: `optimize` calls the function again for every file."""
    if folder not in kept():
        kept()[folder] = how.encoder()
    return kept()[folder]


def tokenize(how):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    litdata.optimize(
        functools.partial(rows, how=how),
        how.files,
        output_dir=f"{how.out}/chunks",
        num_workers=min(how.workers, len(how.files)),
        chunk_bytes="64MB",
        reorder_files=False,
        keep_data_ordered=True,
        verbose=False,
    )


def documents(how):
    dataset = litdata.StreamingDataset(f"{how.out}/chunks", shuffle=False)
    for at in range(len(dataset)):
        yield dataset[at]
