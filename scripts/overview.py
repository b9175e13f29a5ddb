"""The overview: every figure with its caption on one page that needs no other file."""

import base64
from pathlib import Path

import beyond_ram
from beyond_ram import logs, pages, tables
from beyond_ram.analysis.frame import axes, cells, describe
from beyond_ram.analysis.outcomes import tally
from beyond_ram.figures import NOT_DRAWN

PACKAGES = ["python", "datasets", "transformers", "tokenizers", "pyarrow", "huggingface_hub", "fsspec", "torch"]


def stacks(runs):
    """Versions and lock of every stack, from inside its interpreter."""
    first = runs.groupby("stack", sort=False).first()  # of each column the first run that has a value
    for name, run in first.iterrows():
        versions = {package: run.get(f"version_{package}") for package in PACKAGES}
        versions = {package: version if isinstance(version, str) else "" for package, version in versions.items()}
        yield {"name": name, "versions": versions, "lock": run["lock_sha256"][:8]}


def failures(runs):
    """Cells of which not every run finished its work: what became of how many, and why."""
    for cell, repeats in cells(runs):
        known = tally(repeats)
        if known["failed"]:
            said = ", ".join([cell["experiment"], *describe(cell, (axis for axis in cell if axis != "rep"))])
            yield known | {"cell": said}


def figure(svg, title):
    path = Path(svg)
    caption = pages.caption(path.with_suffix(".rst"))
    if caption.striptags().startswith(NOT_DRAWN):
        return {"title": title, "reason": caption.striptags().removeprefix(NOT_DRAWN)}
    return {"name": path.stem, "title": title, "svg": base64.b64encode(path.read_bytes()).decode(), "caption": caption}


def main(snakemake):
    runs = tables.read(snakemake.input.runs)
    shown = [figure(svg, title) for svg, title in zip(snakemake.input.svg, snakemake.params.titles, strict=True)]
    left_out = [f"{one['title']} ({one['reason'].rstrip('.')})" for one in shown if "reason" in one]
    pages.write(
        snakemake.input.template,
        snakemake.output[0],
        runs=len(runs),
        cells=len(runs.drop_duplicates(axes(runs))),
        machine=runs.iloc[0],
        version=beyond_ram.__version__,
        commit=runs.iloc[0]["commit"],
        ids_differ=int(runs["ids_agree"].eq(False).sum()),
        ids_compared=int(runs["ids_agree"].notna().sum()),
        not_run=int(runs["outcome"].eq("not_applicable").sum()),
        failures=list(failures(runs)),
        aborted=int((runs["completed_work"] & runs["outcome"].eq("failed")).sum()),
        packages=PACKAGES,
        stacks=list(stacks(runs)),
        figures=[one for one in shown if "reason" not in one],
        left_out=[*snakemake.params.left_out, *left_out],
    )


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
