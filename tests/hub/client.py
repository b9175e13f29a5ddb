"""Use a Hub as users do, with the clients of one stack. The stack's own interpreter runs it; it prints JSON per step.

    client.py WORK STEP:REPO …      STEP is stream, filesystem, snapshot or push

Xet is used for repositories with `xet` in their name, if the release has it.
It waits for a line on stdin before each step, so that the test can change the endpoint's conditions.
"""

import hashlib
import json
import sys
import time
import traceback
from pathlib import Path

_sleep = time.sleep
time.sleep = lambda seconds: _sleep(min(seconds, 0.1))  # clients wait some seconds before they retry

import datasets  # noqa: E402
import huggingface_hub  # noqa: E402


def stream(repo, work):
    """Return each row in order, as its number and the hash of its text."""
    rows = datasets.load_dataset(repo, split="train", streaming=True)
    return [(row["id"], hashlib.sha256(row["text"].encode()).hexdigest()) for row in rows]


def filesystem(repo, work):
    """Return the hashes of a folder's files, and the last bytes of one that is read in pieces."""
    digests = {}
    fs = huggingface_hub.HfFileSystem()
    for path in sorted(fs.glob(f"datasets/{repo}/data/*.parquet")):
        with fs.open(path, "rb") as file:
            digests[path.split("/")[-1]] = hashlib.sha256(file.read()).hexdigest()
    with fs.open(path, "rb", block_size=1 << 16) as file:
        file.seek(-8, 2)
        digests["end"] = file.read(8).hex()
    return digests


def snapshot(repo, work):
    """Return the hashes of all downloaded files."""
    name = repo.replace("/", "-")
    folder = Path(huggingface_hub.snapshot_download(repo, repo_type="dataset", cache_dir=str(work / name)))
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def push(repo, work):
    """Push a dataset and a file, and return the rows that are read back."""
    first = datasets.Dataset.from_dict({"id": list(range(50)), "text": [f"pushed {n}" for n in range(50)]})
    first.push_to_hub(repo, token="local")
    api = huggingface_hub.HfApi()
    api.upload_file(path_or_fileobj=b"by hand\n" * 9, path_in_repo="a/b.txt", repo_id=repo, repo_type="dataset")
    again = datasets.load_dataset(repo, split="train", streaming=True)
    return [(row["id"], row["text"]) for row in again]


def main():
    work = Path(sys.argv[1])
    version = {"datasets": datasets.__version__, "huggingface_hub": huggingface_hub.__version__}
    print(json.dumps({"versions": version}), flush=True)
    for step in sys.argv[2:]:
        sys.stdin.readline()
        name, _, repo = step.partition(":")
        huggingface_hub.constants.HF_HUB_DISABLE_XET = "xet" not in repo
        try:
            line = {"step": step, "result": globals()[name](repo, work)}
        except Exception as error:
            traceback.print_exc()
            line = {"step": step, "error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
