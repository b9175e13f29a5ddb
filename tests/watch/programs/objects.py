"""N thousand Python objects, and K forked workers as a DataLoader's, twice: counting references copies their pages."""

import os
import sys

records = [{"number": number, "text": f"document {number} " * 8} for number in range(int(sys.argv[1]) * 1000)]
workers = int(sys.argv[2])
for _ in range(2):
    done, telling = os.pipe()
    end, ending = os.pipe()
    for worker in range(workers):
        if os.fork() == 0:
            os.close(ending)
            sum(len(records[at]["text"]) for at in range(worker, len(records), workers))
            os.write(telling, b".")
            os.read(end, 1)  # keep the copied pages until all workers are done
            os._exit(0)
    for _ in range(workers):
        os.read(done, 1)
    os.close(ending)
    for _ in range(workers):
        os.wait()
