"""NeMo Curator: JsonlReader into MegatronTokenizerWriter, a file a task, on Ray Data."""

import json
import os
from pathlib import Path

from nemo_curator.backends.ray_data import RayDataExecutor
from nemo_curator.pipeline import Pipeline
from nemo_curator.stages.text.io.reader import JsonlReader
from nemo_curator.stages.text.io.writer.megatron_tokenizer import MegatronTokenizerWriter
from peers.how import cut
from peers.ray_data import apart

LIBRARIES = ("nemo-curator", "ray", "transformers", "torch")


def tokenize(how):
    import transformers

    if not hasattr(transformers.PreTrainedTokenizerFast, "batch_encode_plus"):
        how.cannot("this release of transformers has no batch_encode_plus, which NeMo Curator calls")
    os.environ["RAYON_NUM_THREADS"] = "1"
    stages = [
        JsonlReader(how.files, files_per_partition=1, fields=["text"]),
        MegatronTokenizerWriter(
            path=f"{how.out}/ids", model_identifier=how.tokenizer, tokenization_batch_size=how.batch_size
        ),
    ]
    with apart():
        done = Pipeline(name="tokenize", stages=stages).run(RayDataExecutor())
    written = {task._metadata["source_files"][0]: task._metadata["file_prefix"] for task in done}
    Path(how.out, "written.json").write_text(json.dumps(written), encoding="utf-8")


def documents(how):
    """The index: 34 bytes, then how many ids each document has, as 32-bit numbers."""
    import numpy

    written = json.loads(Path(how.out, "written.json").read_text(encoding="utf-8"))
    for file, count in zip(how.files, how.per_file, strict=True):
        ids = numpy.memmap(f"{written[file]}.bin", how.dtype(), "r")
        ends = numpy.cumsum(numpy.fromfile(f"{written[file]}.idx", "<i4", count, offset=34)).tolist()
        yield from cut(ids, ends)
