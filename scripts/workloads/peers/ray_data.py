"""Ray Data: `read_json`, a pool of actors for `map_batches`, `write_parquet`, the order kept."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pyarrow
import pyarrow.parquet
import ray
from peers.how import lists

LIBRARIES = ("ray",)


@contextlib.contextmanager
def apart():
    """A Ray of its own, whose files go when it ends. A socket's path has room for some hundred characters."""
    folder = tempfile.mkdtemp(prefix="ray-")
    # Its workers find the modules beside this one by it.
    here = str(Path(__file__).resolve().parents[1])
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": folder, "PYTHONPATH": here}
    try:
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


class Encode:
    """An actor, with a tokenizer of its own."""

    def __init__(self, how):
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        self.encode = how.encoder()

    def __call__(self, batch):
        ids = self.encode(batch["text"].to_pylist())
        return pyarrow.table({"input_ids": pyarrow.array(ids, pyarrow.list_(pyarrow.int32()))})


def tokenize(how):
    os.environ["RAYON_NUM_THREADS"] = "1"
    settings = {"include_dashboard": False, "logging_level": "error", "log_to_driver": False}
    with apart():
        ray.init(num_cpus=how.workers, _node_ip_address="127.0.0.1", **settings)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars, context.execution_options.preserve_order = False, True
        data = ray.data.read_json(how.files, file_extensions=None)
        # Half a core each: what reads needs a share too.
        pool = ray.data.ActorPoolStrategy(size=how.workers)
        options = {"batch_size": how.batch_size, "batch_format": "pyarrow", "num_cpus": 0.5}
        mapped = data.map_batches(Encode, fn_constructor_args=(how,), compute=pool, **options)
        mapped.write_parquet(f"{how.out}/parts")


def documents(how):
    """Parts are named by the number of the block that they hold."""
    for part in sorted(Path(how.out, "parts").glob("*.parquet")):
        yield from lists(pyarrow.parquet.ParquetFile(part))
