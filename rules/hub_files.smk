"""Files of a Hub under other libraries: tars by WebDataset, frames of a video by PyAV, through HfFileSystem.

Needs: repositories, runs. Makes: table `hub_files`, a figure. Always holds: every sample carries its number, and a run
that got a wrong one has failed.
"""

OUTPUTS.add(
    "stream",
    "Streaming",
    covers=lambda found: found.workload == "hub-files",
    tables=["hub_files"],
    figures={"hub_files": Figure("What a sample out of a Hub's file costs")},
)
