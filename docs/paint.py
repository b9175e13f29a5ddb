"""Measures reports in a headless Chromium, and replaces the tables of set `report` by what was seen.

uv run python docs/paint.py REPORT.html… [--note TEXT]

Times are the browser's own: its entries of paints and of the end of loading, and for what a person does a `measure`
from the deed to the frame that has what was asked for. Each repeat is a new browser, and all reports take turns.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import measured
import pandas as pd
import psutil
import yaml
from playwright.sync_api import Browser, sync_playwright

from beyond_ram.files import write
from beyond_ram.units import GB, MB

FOLDER = measured.FOLDER / "report"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What each device shows, and how many times slower than it is here its processor is made.
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 3, "is_mobile": True, "has_touch": True}
DEVICES = {"desktop": ({"viewport": {"width": 1280, "height": 800}}, 1), "phone": (PHONE, 4)}
# From a deed until each of some things holds, and the frame that shows it is over. Pages forbid text to become code.
UNTIL = """async () => {
  const frame = () => new Promise(requestAnimationFrame), from = performance.now();
  DEED;
  for (const [name, holds] of [STAGES]) {
    while (!holds()) {
      if (performance.now() - from > 60000) throw new Error(name);
      await frame();
    }
    await frame(); await frame();
    performance.measure(name, { start: from });
  }
}"""
ENTRIES = """() => [
  ...performance.getEntriesByType("paint").map(one => [one.name.replaceAll("-", " "), one.startTime]),
  ["loaded", performance.getEntriesByType("navigation")[0].loadEventEnd],
  ...performance.getEntriesByType("measure").map(one => [one.name, one.duration])]"""
CELLS, STACK = "document.querySelector('#cells .dt-info')?.textContent", "document.querySelector('#filters select')"
FILTERED, STACKS = f"{CELLS}.includes('filtered')", "document.querySelectorAll('#explorer .legendtext').length"


def typed(text: str) -> str:
    """Types what an expression gives into the search of a table."""
    return f"""const box = document.querySelector('#cells [type=search]'); box.value = {text};
      for (const event of ['input', 'keyup']) box.dispatchEvent(new Event(event, {{ bubbles: true }}))"""


# What a person does, one after another, and what then holds.
DEEDS: Mapping[str, Mapping[str, str]] = {
    "location.hash = 'findings'": {"view of findings": "document.querySelector('#findings.current')"},
    "location.hash = 'figures'": {"view of figures": "document.querySelector('#figures.current')"},
    "location.hash = 'cells'": {
        "table of cells, first time": CELLS,
        "all runs as points, first time": "document.querySelector('#explorer .points path')",
    },
    "document.querySelectorAll('#cells thead th')[1].click()": {
        "table sorted": "document.querySelector('#cells thead [aria-sort]')"
    },
    typed(f"{STACK}.options[1].value"): {"table searched": FILTERED},
    typed("''"): {"search taken back": f"!{FILTERED}"},
    f"{STACK}.selectedIndex = 1; {STACK}.dispatchEvent(new Event('change', {{ bubbles: true }}))": {
        "table and points of one stack": f"{FILTERED} && {STACKS} === 1"
    },
    "document.querySelector('#filters [type=reset]').click()": {"those of all again": f"!{FILTERED} && {STACKS} > 1"},
    """const metric = document.getElementById('metric'); metric.selectedIndex += 1; window.was =
      document.querySelector('#explorer .xtitle').textContent; metric.dispatchEvent(new Event('change'))""": {
        "points of another metric": "document.querySelector('#explorer .xtitle').textContent !== window.was"
    },
    "document.querySelector('#cells tbody a').click()": {
        "page of a cell": "document.querySelector('#cell .chart svg')"
    },
}


def seen(browser: Browser, report: Path, device: str) -> Iterator[tuple[str, float]]:
    """What is seen of a report that is opened and used once, each with its value."""
    shows, slower = DEVICES[device]
    page = browser.new_context(**shows).new_page()
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(f"file://{report.resolve()}")
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
    yield "JavaScript's heap at first, MB", heap(devtools)
    for deed, stages in DEEDS.items():
        awaited = ", ".join(f"[{name!r}, () => {holds}]" for name, holds in stages.items())
        page.evaluate(UNTIL.replace("DEED", deed).replace("STAGES", awaited))
        if page.evaluate("document.documentElement.scrollWidth") > shows["viewport"]["width"]:
            raise SystemExit(f"{report}: {', '.join(stages)}: wider than a {device}")
    for name, ms in page.evaluate(ENTRIES):
        yield f"{name}, ms", ms
    yield "JavaScript's heap at the end, MB", heap(devtools)
    page.context.close()


def heap(devtools: Any) -> float:
    """What of the heap of JavaScript is in use, in MB."""
    metrics = {one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]}
    return float(metrics["JSHeapUsedSize"]) / MB


def size(report: Path) -> dict[str, int]:
    """Of how many cells and runs a report is, as it says, and its bytes."""
    match = re.search(r"(\d+) runs of (\d+) cells", " ".join(report.read_text(encoding="utf-8").split()))
    if not match:
        raise SystemExit(f"{report}: says nothing of runs and cells, so it is no report of the workflow")
    return {"cells": int(match[2]), "runs": int(match[1]), "bytes": report.stat().st_size}


def summed(lines: Sequence[tuple[str, str, float]]) -> pd.DataFrame:
    """A line for each thing that was seen: of every DEVICE_CELLS the median, the least and the most, and n."""
    table = pd.DataFrame(lines, columns=["where", "what", "value"])
    of = table.groupby(["what", "where"], sort=False)["value"].agg(["median", "min", "max", "count"])
    wide = of.round(1).unstack("where", sort=False)
    wide.columns = pd.Index([f"{where}_{name}" for name, where in wide.columns])
    return wide.reset_index()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="+", type=Path)
    parser.add_argument("--note", default="", help="a note, such as where the reports are from")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder of the tables")
    given = parser.parse_args(arguments)
    chromium = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if not chromium:
        parser.error(f"no browser: none of {', '.join(BROWSERS)} is on the PATH")
    sizes = {report: size(report) for report in given.report}
    lines, loads = [], []
    for _ in range(given.repeats):
        for report, counts in sizes.items():
            for device in DEVICES:
                loads.append(os.getloadavg()[0])
                with sync_playwright() as started:
                    # A browser of root has no sandbox.
                    options = ["--no-sandbox"] if os.geteuid() == 0 else []
                    browser = started.chromium.launch(executable_path=chromium, args=options)
                    where = f"{device}_{counts['cells']}"
                    lines += [(where, *one) for one in seen(browser, report, device)]
                    version = browser.version
    given.out.mkdir(exist_ok=True)
    pd.DataFrame(sizes.values()).to_csv(given.out / "sizes.csv", index=False, lineterminator="\n")
    summed(lines).to_csv(given.out / "browser.csv", index=False, lineterminator="\n")
    commit = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    slower = (
        f"a phone is {PHONE['viewport']['width']} pixels wide, its processor made {DEVICES['phone'][1]} times slower"
    )
    note = f"Chromium {version}, headless; {slower}. Load {min(loads):.1f} to {max(loads):.1f}. {given.note}"
    place = (
        f"{os.cpu_count()} cores, {psutil.virtual_memory().total / GB:.0f} GB, Linux {platform.release()} "
        f"{platform.machine()}"
    )
    provenance = {
        "command": "uv run python docs/paint.py REPORT.html…",
        "commit": subprocess.run(commit, capture_output=True, text=True, check=True).stdout.strip(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": place,
        "note": note.strip(),
    }
    text = yaml.safe_dump(provenance, sort_keys=False, allow_unicode=True, width=120)
    write(given.out / "provenance.yaml", text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
