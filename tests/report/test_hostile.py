"""What is planted in records, tables, samples and captions reaches pages and figures as text, and as nothing else."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from beyond_ram import figures, pages, tables, text
from beyond_ram.analysis.findings import Finding
from beyond_ram.analysis.runs import runs
from beyond_ram.files import DamagedError

from .conftest import Script, drawing, figure

HARMLESS = "harmless"
PLANTED = {
    "script": "<script>alert(1)</script>",
    "attribute": "\" onload='alert(1)' x=\"",
    "end of an image": "</svg></text></td></figcaption><img src=x onerror=alert(1)>",
    "a file": "\n\n.. include:: /etc/passwd\n",
    "raw": "\n\n.. raw:: html\n\n   <script>alert(1)</script>\n",
    "a link": "`click <javascript:alert(1)>`_ http://example.org a@example.org :math:`x` |x| x_ *x* ``x``",
    "a template": "{{ 7919 * 104729 }}{% for x in () %}{# x #}",
    "a formula": r"$\frac{$ and $x_$",
    "control": "a\x00\x07\x1b[31mb\x85\u2028\u202ec\ud800d",
    "long": "0123456789" * 1_000_000,
}
QUICK = ("script", "attribute", "a template")
KINDS = [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in PLANTED]
AXES = {"experiment": "e", "tokens": "t", "order": "shuffled", "page_cache": "warm", "workers": 2, "limit_percent": 50}


class Structure(HTMLParser):
    """The elements of a page with the names of their attributes, where its links lead, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attributes)))
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def same_but_for_text(render: Any, planted: str, shown: str) -> None:
    """A page with something planted has the elements, attributes and links of one without, and shows it as text."""
    page, harmless = render(planted), Structure(render(HARMLESS))
    found = Structure(page)
    assert found.elements == harmless.elements
    assert all(link.startswith("data:image/svg+xml;base64,") for link in found.links)
    assert len(found.links) == len(harmless.links)
    assert " ".join(shown[:50].split()) in " ".join(found.text.split())
    assert len(page) < len(render(HARMLESS)) + 300_000
    assert "829348951" not in page


def seen(planted: str) -> str:
    return text.plain(planted, 100)[:90]


def written(folder: Path, name: str, line: dict[str, Any]) -> str:
    tables.write(pd.DataFrame([line]), folder / f"{name}.csv", folder / f"{name}.parquet")
    return str(folder / f"{name}.parquet")


@pytest.mark.parametrize("kind", KINDS)
def test_in_tables(kind: str, tmp_path: Path, root: Path, script: Script) -> None:
    def choices(planted: str) -> str:
        told = dict.fromkeys(
            ("tokens", "order", "page_cache", "loader", "loader_kind", "shuffle", "lends", "ranked_by", "chosen_for"),
            planted,
        )
        line = AXES | {"rows_per_cpu_s": 1.0, "rows_per_cpu_s_warm": 2.0, "share_of_limit": 0.5, "held_bytes": 1e6}
        line |= {
            "end_pss_bytes": 1e6,
            "n": 3,
            "asked": 3,
            "of_loaders": 2,
            "faster_than": 1,
            "leaner_than": 0,
            "without_rate": 0,
        }
        given, page = written(tmp_path, "choices", line | told), tmp_path / "choices.html"
        template = str(root / "report/choices.html.jinja")
        script("choices", tmp_path, [str(page)], table=given, template=template)
        return page.read_text()

    def claims(planted: str) -> str:
        told = dict.fromkeys(("claim", "source", "conditions", "holds"), planted)
        line = {
            "claimed": 2.0,
            "measured": 2.0,
            "low": 1.5,
            "high": 2.5,
            "low_corrected": 1.2,
            "high_corrected": 3.0,
            "n": 3,
        }
        given, page = written(tmp_path, "claims", line | told), tmp_path / "claims.html"
        script("claims", tmp_path, [str(page)], table=given, template=str(root / "report/claims.html.jinja"))
        return page.read_text()

    planted = PLANTED[kind].encode("utf-8", "ignore").decode()  # Parquet takes no lone surrogate
    same_but_for_text(choices, planted, seen(planted))
    same_but_for_text(claims, planted, seen(planted)[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_in_captions_figures_records_and_findings(
    kind: str, tmp_path: Path, root: Path, script: Script, tokenised: list[Path]
) -> None:
    def overview(planted: str) -> str:
        made = figure(tmp_path, "one")
        drawing, _ = plt.subplots()
        figures.save(drawing, f"{planted} is all there is.", svg=made.svg, png=made.png, caption_file=made.caption)
        records = tables.read_runs(tokenised)
        for record, _ in records:
            record["provenance"] |= dict.fromkeys(("kernel", "commit", "transparent_hugepage", "lock_sha256"), planted)
            record["provenance"]["versions"] = {"python": planted}
            record |= {"reason": planted, "outcome": "not_applicable"}
        tables.write(runs(records), tmp_path / "runs.csv", tmp_path / "runs.parquet")
        page, template = tmp_path / "overview.html", str(root / "report/overview.html.jinja")
        given = {"runs": str(tmp_path / "runs.parquet"), "svg": [made.svg], "template": template}
        script(
            "overview",
            tmp_path,
            [str(page)],
            SimpleNamespace(titles=[planted[:500]], left_out=[planted[:500]]),
            **given,
        )
        return page.read_text()

    def findings(planted: str) -> str:
        found = Finding(experiment="e", title=planted[:500], text=planted[:500], figure="one", strength=1.0)
        page = tmp_path / "findings.html"
        told = [(found, planted[:500], [(planted[:500], planted[:500])])]
        given = {"findings": told, "smaller": told, "share": "5%", "figures": {"one": ""}}
        pages.write(str(root / "report/findings.html.jinja"), str(page), **given)
        return page.read_text()

    planted = PLANTED[kind].encode("utf-8", "ignore").decode()
    same_but_for_text(overview, planted, seen(planted))
    if kind != "control":
        same_but_for_text(findings, planted, seen(planted))


@pytest.mark.parametrize("kind", KINDS)
def test_in_labels(kind: str, tmp_path: Path) -> None:
    figures.theme()
    planted, made = PLANTED[kind], figure(tmp_path, "one")
    drawing, axes = plt.subplots()
    axes.plot([1, 100], [1, 1000], label=planted)
    axes.set(title=planted, ylabel=planted, yscale="log")
    axes.set_xticks([1, 100], [text.plain(planted, 50)] * 2)
    axes.annotate(planted, (1, 10))
    axes.legend()
    figures.save(drawing, planted, svg=made.svg, png=made.png, caption_file=made.caption)
    assert plt.imread(made.png).shape[0] < 5000
    svg = ET.parse(made.svg).getroot()
    tags = {element.tag.rpartition("}")[2] for element in svg.iter()}
    assert tags <= {"svg", "metadata", "RDF", "Work", "type", "date", "format", "creator", "Agent", "title", "defs"} | {
        "style", "g", "path", "use", "text", "tspan", "clipPath", "rect"
    }  # fmt: skip
    assert not [name for element in svg.iter() for name in element.attrib if name.lower().startswith("on")]
    assert " ".join(seen(planted)[:40].split()) in " ".join("".join(svg.itertext()).split())
    assert "1,000" in "".join(svg.itertext())
    assert pages.caption(made.caption)


def test_in_the_samples_of_a_run(tokenised: list[Path], tmp_path: Path, root: Path, script: Script) -> None:
    made = figure(tmp_path, "memory_over_time")
    samples = tokenised[1].with_name("samples.csv")
    head, *lines = samples.read_text().splitlines()
    third = len(lines) // 3
    phases = [r"$\frac{", "<script>alert(1)</script>"]
    lines = [line.replace(",,", f",{phases[min(1, n // third)]},", 1) for n, line in enumerate(lines)]
    samples.write_text("\n".join([head, *lines, ""]))
    script("figure", tmp_path, made, **drawing(root, "memory_over_time", run_jsons=tokenised))
    shown = "".join(ET.parse(made.svg).getroot().itertext())
    assert all(phase in shown for phase in phases)


@pytest.mark.parametrize("kind", ["a file", "raw", "a link", "a template"])
def test_a_caption_that_was_written_over_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "one.rst").write_text(PLANTED[kind])
    with pytest.raises(DamagedError, match=r"one\.rst: holds markup that no caption has"):
        pages.caption(tmp_path / "one.rst")


@pytest.mark.slow
def test_in_the_report_that_snakemake_makes(tmp_path: Path) -> None:
    made = figure(tmp_path, "one")
    planted = " and ".join(planted for kind, planted in PLANTED.items() if kind not in ("long", "control"))
    drawing, _ = plt.subplots()
    figures.save(drawing, planted, svg=made.svg, png=made.png, caption_file=made.caption)
    (tmp_path / "Snakefile").write_text(
        f"rule one:\n    output: report('two.svg', caption='{made.caption}')\n    shell: 'cp one.svg two.svg'\n"
    )
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    for more in (["--cores", "1"], ["--report", "report.html"]):
        command = [sys.executable, "-m", "snakemake", "-s", "Snakefile", *more]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    report = (tmp_path / "report.html").read_text()
    assert "include:: /etc/passwd" in report
    assert "root:x:0" not in report
    assert "829348951" not in report
    assert "7919 * 104729" in report
    assert not re.search(r"<a[^>]*(javascript:alert|example\.org)", report)
    assert "<script>alert" not in report
