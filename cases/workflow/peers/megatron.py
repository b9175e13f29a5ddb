"""As Megatron-LM's tools/preprocess_data.py: lines through a pool of processes, into its IndexedDatasetBuilder."""

import json
import multiprocessing
import os

import numpy
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

# The chunk size of that script's pool.
CHUNK = 32
worker = {}


def begin(how):
    worker["encode"] = how.encoder()


def encode(line):
    (ids,) = worker["encode"]([json.loads(line)["text"]])
    return ids if isinstance(ids, list) else ids.tolist()


def tokenize(how):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    builder = IndexedDatasetBuilder(f"{how.out}/ids.bin", dtype=numpy.uint16 if how.dtype() == "<u2" else numpy.int32)
    with multiprocessing.Pool(how.workers, begin, (how,)) as pool:
        for file in how.files:
            with open(file, encoding="utf-8") as lines:
                for ids in pool.imap(encode, lines, CHUNK):
                    builder.add_document(ids, [len(ids)])
    builder.finalize(f"{how.out}/ids.idx")


def documents(how):
    dataset = IndexedDataset(f"{how.out}/ids")
    for at in range(len(dataset)):
        yield dataset[at]
