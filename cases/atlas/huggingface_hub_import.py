# /// script
# dependencies = ["huggingface_hub"]
# ///
"""Imports the library and what downloads use."""

from huggingface_hub import HfApi, HfFileSystem, hf_hub_download, snapshot_download

assert HfApi and HfFileSystem and hf_hub_download and snapshot_download
print(len(HfApi.__name__))
