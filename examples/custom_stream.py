"""An example of mode `custom`, your own streaming pipeline: Parquet files through HfFileSystem, split over the workers.

experiments:
  mine:
    workload: stream
    module: examples/custom_stream.py
    matrix: {stack: [stream-current], repository: [sixty-four], mode: [custom], workers: [2]}
"""

import pyarrow.parquet
import torch.utils.data
from huggingface_hub import HfFileSystem


class Rows(torch.utils.data.IterableDataset):
    def __init__(self, repository, config, split):
        self.pattern = f"datasets/{repository}/{config or ''}/**/{split}-*.parquet".replace("//", "/")

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        filesystem = HfFileSystem()
        files = sorted(filesystem.glob(self.pattern))
        for path in files[worker.id :: worker.num_workers] if worker else files:
            with filesystem.open(path, "rb") as file:
                for batch in pyarrow.parquet.ParquetFile(file).iter_batches():
                    yield from batch.to_pylist()


def stream(repository, config, split):
    """Return an iterable of rows that a DataLoader accepts; the workload calls this."""
    return Rows(repository, config, split)
