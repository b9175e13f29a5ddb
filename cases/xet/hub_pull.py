# /// script
# dependencies = ["huggingface_hub"]
# ///
"""Pulls file `large` of dataset `xet/large` from HF_ENDPOINT. Its argument is the size of the file in bytes.

By Xet, or with HF_HUB_DISABLE_XET=1 by plain HTTP.
"""

import os
import shutil
import sys

os.environ |= {"HF_HOME": os.path.abspath("home"), "DO_NOT_TRACK": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
from huggingface_hub import hf_hub_download

path = hf_hub_download("xet/large", "large", repo_type="dataset", local_dir="pulled")
size = os.path.getsize(path)
assert size == int(sys.argv[1]), size
shutil.rmtree("pulled")
shutil.rmtree("home", ignore_errors=True)  # only Xet writes there
print(size)
