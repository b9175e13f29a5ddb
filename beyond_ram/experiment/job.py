"""The job of a cell: the input of `beyond-ram measure`, as JSON, without paths of the machine."""

from typing import Any, Literal

from pydantic import Field

from .corpora import Strict
from .paths import Value


class Served(Strict):
    """A repository that an endpoint serves to the run."""

    repository: str
    """Folder with `manifest.json` and the served files."""
    conditions: dict[str, Value] = Field(default_factory=dict)
    """The endpoint's conditions, by axis."""
    storage: Literal["hub", "s3"] = "hub"
    """Whether the endpoint is a Hub, or S3-compatible storage of the stack's own."""
    endpoint: str | None = None
    """A Hub of the user's choice instead."""


class Job(Strict):
    """One run: its program, arguments, inputs, conditions and checks. Paths are relative to the working directory."""

    path: str
    """Folder of the run, relative to the folder of all runs."""
    workload: str
    program: str
    arguments: tuple[str, ...] = ()
    """Arguments of the program, without those for its inputs and work folder."""
    corpus: str | None = None
    num_files: int | None = None
    """Number of files of the corpus, from the beginning; None: all."""
    tokens: str | None = None
    reads: tuple[str, ...] = ()
    """Other files and folders that the program reads."""
    served: Served | None = None
    warmed: bool = False
    """Run the whole program first, unmeasured, in the same folder."""
    page_cache: Literal["cold", "warm", "kept"] = "cold"
    """Whether none or all of the input is in the page cache at the start; `kept` leaves the cache as it is."""
    stop_after: int | None = None
    """Kill the run after this many shards."""
    remedy: str = "none"
    limit_percent: int = 0
    """Hard memory limit in percent of the token dataset's bytes; 0: none."""
    limit_mb: int = 0
    """Hard memory limit in MB, under which it is started again until it completes; 0: none."""
    timeout_s: float | None = None
    interval_ms: int = 5
    """Sampled peaks were then at most 2.3 % below the kernel's mark (n = 77), and sampling took 2 to 5 % of a core."""
    checked: bool = False
    """Run the program with --check afterwards, unmeasured, to check its output."""
    find_limit: bool = False
    """Also search for the smallest memory limit."""
    why: bool = False
    """Run it once more, and find what holds its memory at its end."""
    limit_speed_share: float | None = None
    """Also search for the smallest limit that keeps this share of the speed without a limit."""

    def needs(self) -> list[str]:
        """The files and folders that must exist before the run."""
        files = [f"{self.corpus}/{name}" for name in ("manifest.json", "tokenizer") if self.corpus]
        files += [f"{self.tokens}/{name}" for name in ("tokens.json", "npy") if self.tokens]
        files += self.reads
        files += [f"{self.served.repository}/manifest.json"] if self.served else []
        return files

    def but(self, **changes: Any) -> "Job":
        """A copy of the job with some values changed."""
        return Job.model_validate(dict(self) | changes)
