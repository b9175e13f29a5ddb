"""Write formats of a token dataset, or print what loaders deliver from it, as JSON. A stack's interpreter runs it.

python inside.py write WORKLOADS TOKENS FORMAT...
python inside.py deliver WORKLOADS TOKENS WORKERS,WORKERS... LOADER...
"""

import importlib
import json
import os
import sys
from pathlib import Path


def write(folder, names):
    from rows import MappedRows

    for name in names:
        (folder / name).mkdir()
        importlib.import_module(f"formats.{name}").write(MappedRows(folder), folder / name)


def deliver(folder, workers, name, order):
    """Run two epochs with workers, or one without, and return the account of the last."""
    import load
    from loaders.how import How, NotApplicableError
    from rows import MappedRows

    module = importlib.import_module(f"loaders.{name}")
    how, account = How(order, workers, "fork", 64), load.TokenRows(MappedRows(folder))
    try:
        loader = module.make(folder / module.FORMAT, how)
    except NotApplicableError as reason:
        return {"not_applicable": str(reason)}
    return [load.epoch(loader, account, number) for number in range(2 if workers else 1)][-1]


def deliver_in_a_process(folder, workers, name):
    """Deliver in both orders for each number of workers, in another process, so that libraries' threads stay apart.

    Imports are slow. The most workers come first, so that no worker is forked from a process that has read.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            result = {
                number: {order: deliver(folder, number, name, order) for order in ("sequential", "shuffled")}
                for number in workers
            }
        except Exception as error:
            result = {number: {"error": f"{type(error).__name__}: {error}"} for number in workers}
        os.write(writing, json.dumps(result).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = json.loads(pipe.read() or json.dumps({number: {"error": "died"} for number in workers}))
    os.waitpid(child, 0)
    return result


def main(command, workloads, folder, *names):
    sys.path.insert(0, workloads)
    if command == "write":
        write(Path(folder), names)
        return
    workers, *names = names
    numbers = sorted(map(int, workers.split(",")), reverse=True)
    print(json.dumps({name: deliver_in_a_process(Path(folder), numbers, name) for name in names}))


if __name__ == "__main__":
    main(*sys.argv[1:])
