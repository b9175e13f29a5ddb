"""Workload `ddp`: the rows that each rank of a distributed training receives, with torch.distributed and gloo.

Every rank accounts for its own rows; rank 0 adds the accounts up.
"""

import importlib
import os
import socket
import sys
from pathlib import Path

import events
import release
from account import Account
from load import LIBRARIES, TokenRows, epoch, still


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def deliver(rank, args, port):
    """Run one rank: receive its rows; rank 0 adds up the rows of all."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    # Reader libraries look for their rank in these variables.
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(args.ranks), "LOCAL_RANK": str(rank)}
    os.environ["LOCAL_WORLD_SIZE"] = str(args.ranks)
    import loaders.how as how_module
    import torch.distributed
    from rows import Rows

    torch.distributed.init_process_group("gloo", rank=rank, world_size=args.ranks)
    rows = Rows(args.tokens_dir)
    how = how_module.How(args.order, args.workers, "fork", args.batch_size, rank=rank, ranks=args.ranks)
    account, reason = TokenRows(rows), None
    try:
        module = importlib.import_module(f"loaders.{args.loader}")
        loader = module.make(args.tokens_dir / module.FORMAT, how)
    except how_module.NotApplicableError as cannot:
        reason = str(cannot)
    except ImportError as error:
        if not (reason := events.lacking(error)):
            raise
    else:
        mine = epoch(loader, account, 0)
    everybody = [None] * args.ranks
    if reason is None:
        torch.distributed.all_gather_object(everybody, (rank, account.times, mine))
    torch.distributed.barrier()
    if rank == 0:
        still("delivered")
        emit_work(rows, everybody, reason)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def emit_work(rows, everybody, reason):
    """Emit the accounts of all ranks as the event `work`."""
    if reason is not None:
        events.emit("not_applicable", reason=reason)
        return
    together, ranks = Account(rows.count), sorted(everybody, key=lambda one: one[0])
    for rank, times, mine in ranks:
        together.times = together.times + times
        together.add(mine["rows_delivered"], rank, wrong=mine["rows_wrong"])
    totals = together.totals()
    events.mark(
        "work",
        rows=rows.count,
        bytes_in=rows.bytes,
        rows_per_rank=list(totals.pop("rows_per_worker").values()),
        rows_per_worker_of_rank=[list(mine["rows_per_worker"].values()) for _, _, mine in ranks],
        **totals,
        cpu_s=sum(mine["cpu_s"] for _, _, mine in everybody),
        **events.own_memory(),
    )


def main():
    args = events.arguments(__doc__, tokens_dir=Path, loader=str, order=str, ranks=int, workers=int, batch_size=int)
    events.phase("import")
    import torch.multiprocessing

    release.imported(LIBRARIES)
    try:
        torch.multiprocessing.spawn(deliver, (args, free_port()), args.ranks)
    except Exception as error:
        events.emit("gave_up", reason=" ".join(f"{type(error).__name__}: {error}".split())[-500:])
        sys.exit(1)
    release.teardown({})


if __name__ == "__main__":
    events.run(main)
