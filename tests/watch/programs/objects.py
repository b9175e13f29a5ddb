"""A DataLoader's forked workers over a list of Python objects: counting references copies their pages.

N thousand records, K workers, two epochs. It uses torch if the interpreter has it, otherwise plain processes.
"""

import os
import sys

records = [{"number": number, "text": f"document {number} " * 8} for number in range(int(sys.argv[1]) * 1000)]
workers = int(sys.argv[2])


class Rows:
    def __len__(self):
        return len(records)

    def __getitem__(self, at):
        return len(records[at]["text"])


try:
    from torch.utils.data import DataLoader
except ImportError:
    for _ in range(2):
        done, telling = os.pipe()
        end, ending = os.pipe()
        for worker in range(workers):
            if os.fork() == 0:
                os.close(ending)
                sum(Rows()[at] for at in range(worker, len(records), workers))
                os.write(telling, b".")
                os.read(end, 1)  # keep the copied pages until all workers are done
                os._exit(0)
        for _ in range(workers):
            os.read(done, 1)
        os.close(ending)
        for _ in range(workers):
            os.wait()
else:
    for _ in range(2):
        for _batch in DataLoader(Rows(), batch_size=1000, num_workers=workers, multiprocessing_context="fork"):
            pass
