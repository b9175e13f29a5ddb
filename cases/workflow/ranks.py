"""The rows that each rank of a distributed training receives from a loader, with torch.distributed and gloo.

Every rank accounts for its own rows; rank 0 adds the accounts up and reports them.
"""

import argparse
import importlib
import os
import socket
import sys
from pathlib import Path

from phases import emit, number

# The loaders, and their account of rows.
sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts" / "workloads"))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def deliver(rank, args, port):
    """Run one rank: receive its rows; rank 0 reports the rows of all."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    # Reader libraries look for their rank in these variables.
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(args.ranks), "LOCAL_RANK": str(rank)}
    os.environ["LOCAL_WORLD_SIZE"] = str(args.ranks)
    import loaders.how
    import torch.distributed
    from load import TokenRows
    from rows import MappedRows

    torch.distributed.init_process_group("gloo", rank=rank, world_size=args.ranks)
    account, reason = TokenRows(MappedRows(args.tokens_dir)), None
    how = loaders.how.How(args.order, args.workers, "fork", args.batch_size, rank=rank, ranks=args.ranks)
    module = importlib.import_module(f"loaders.{args.loader}")
    try:
        for batch in module.make(args.tokens_dir / module.FORMAT, how):
            account.take(*batch)
    except loaders.how.NotApplicableError as cannot:
        reason = str(cannot)
    everybody = [None] * args.ranks
    torch.distributed.all_gather_object(everybody, (account.times, account.delivered, account.wrong))
    if rank == 0 and reason:
        emit("not_applicable", reason=reason)
    elif rank == 0:
        times, delivered, wrong = zip(*everybody, strict=True)
        account.times, account.wrong = sum(times), sum(wrong)
        totals = account.totals()
        for fault in ("missing", "twice", "wrong"):
            number(f"Rows {fault}", totals[f"rows_{fault}"], "rows", "lower", exact=True)
        number("Fewest rows of a rank", min(delivered), "rows", exact=True)
        number("Most rows of a rank", max(delivered), "rows", exact=True)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens-dir", type=Path, required=True, help="token dataset, in the loader's format too")
    parser.add_argument("--loader", required=True, help="module of scripts/workloads/loaders")
    parser.add_argument("--order", choices=("sequential", "shuffled"), default="sequential")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--workers", type=int, default=0, help="of each rank")
    parser.add_argument("--batch-size", type=int, default=256)
    args = parser.parse_args()
    import torch.multiprocessing

    try:
        torch.multiprocessing.spawn(deliver, (args, free_port()), args.ranks)
    except Exception as error:  # an error of a loader is a result
        emit("gave_up", reason=" ".join(f"{type(error).__name__}: {error}".split())[-500:])
        sys.exit(1)


if __name__ == "__main__":
    main()
