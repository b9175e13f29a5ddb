"""datatrove: JsonlReader into DocumentTokenizer, a task per worker, documents not shuffled."""

import os
from pathlib import Path

import numpy

# Fails here, with this reason, if the release of tokenizers is too old for datatrove.
import tokenizers.processors  # noqa: F401
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
from peers.how import cut


def tokenize(how):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    paths = Path(how.out, "paths")
    root = os.path.commonpath([Path(file).parent for file in how.files])
    paths.write_text("".join(f"{os.path.relpath(file, root)}\n" for file in how.files), encoding="utf-8")
    pipeline = [
        JsonlReader(root, paths_file=str(paths)),
        DocumentTokenizer(
            f"{how.out}/ids",
            f"{how.tokenizer}/tokenizer.json",
            batch_size=how.batch_size,
            shuffle_documents=False,
            save_final_metadata=False,
        ),
    ]
    tasks = min(how.workers, len(how.files))
    LocalPipelineExecutor(pipeline, tasks, tasks, logging_dir=f"{how.out}/logs").run()
    paths.unlink()


def documents(how):
    """Restore the order: task i of n has the files i, i + n, and so on. datatrove skips empty documents."""
    dtype, tasks = how.dtype(), min(how.workers, len(how.files))
    readers = []
    for task in range(tasks):
        (ids,) = Path(how.out, "ids").glob(f"{task:05d}_*.ds")
        ends = numpy.fromfile(f"{ids}.index", "<u8").tolist()
        readers.append(cut(numpy.memmap(ids, dtype, "r"), ends))
    for at, file in enumerate(how.files):
        for _ in filter(None, how.texts([file])):
            yield next(readers[at % tasks])
