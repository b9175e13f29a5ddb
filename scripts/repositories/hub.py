"""Repository `hub`: the files of a dataset of the Hub, downloaded once. Their rows are counted, but not checked.

`HF_ENDPOINT` and a token come from the environment, as in the Hub's own client; the token goes nowhere else.
"""

import os
import shutil
import sys

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import huggingface_hub
import repository


def write(spec, folder):
    try:
        commit = huggingface_hub.HfApi().dataset_info(spec["id"], revision=spec["revision"]).sha
        huggingface_hub.snapshot_download(
            spec["id"], repo_type="dataset", revision=commit, allow_patterns=spec["files"], local_dir=folder
        )
    except Exception as error:  # depends on the HTTP library of the client's version
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        sys.exit(f"dataset {spec['id']}: cannot be downloaded ({type(error).__name__}: {(lines or [''])[0][:200]})")
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    files = [path for path in folder.rglob("*") if path.is_file()]
    described = {"config": spec["config"], "split": spec["split"], "commit": commit}
    return described | {"files": len(files), "rows": None, "bytes": sum(path.stat().st_size for path in files)}


if __name__ == "__main__":
    repository.make(__doc__, write)
