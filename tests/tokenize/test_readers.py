"""Programs of others open the files of ids: Megatron, litdata, and nanoGPT's way, in the newest releases."""

import json
import subprocess

import pytest

from tests.conftest import interpreter
from tests.tokenize.documents import json_lines

TEXTS = [f"document {n} " + "words and more words, naïve 中文 " * (n % 7) for n in range(300)]
READ = """
import json, sys
import numpy as np, torch
from litdata import StreamingDataset, index_parquet_dataset
from litdata.streaming.item_loader import ParquetLoader
from megatron.core.datasets.indexed_dataset import IndexedDataset

flat, rows, answer = sys.argv[1:]
megatron = IndexedDataset(f"{flat}/tokens")
nanogpt = np.memmap(f"{flat}/tokens.bin", dtype=np.uint16, mode="r")
index_parquet_dataset(rows)
read = {
    "megatron": [document.tolist() for document in megatron],
    "nanogpt": torch.from_numpy(nanogpt[3:67].astype(np.int64)).tolist(),
    "litdata": [row["input_ids"] for row in StreamingDataset(rows, item_loader=ParquetLoader())],
}
with open(answer, "w") as file:
    json.dump(read, file)
"""


@pytest.mark.slow
@pytest.mark.end_to_end
def test_newest_readers_give_the_documents(tokenize, families, tmp_path):
    source = json_lines(tmp_path / "texts.jsonl", TEXTS)
    for form in ("bin", "parquet"):
        tokenize(source, tokenizer=families["gpt2"], out=tmp_path / form, format=form)
    answer = tmp_path / "read.json"
    command = [interpreter("peers"), "-c", READ, tmp_path / "bin", tmp_path / "parquet", answer]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    read = json.loads(answer.read_text())
    assert len(read["megatron"]) == len(TEXTS) and read["litdata"] == read["megatron"]
    assert read["nanogpt"] == [token for document in read["megatron"] for token in document][3:67]
