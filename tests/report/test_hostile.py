"""Text planted in records, tables, samples and captions reaches pages and figures as text only."""

import sys
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from beyond_ram import figures, text
from beyond_ram.analysis.runs import runs
from beyond_ram.records import tables
from beyond_ram.records.run_folder import RunFolder
from beyond_ram.report import drawing as drawing_of
from beyond_ram.report import page as page_of
from beyond_ram.report import run as run_of_page
from beyond_ram.watch import watch, write_record

from ..markup import Markup
from .conftest import figure

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
    "long": "0123456789" * 100_000,  # over three times the length by which a page may grow
}
QUICK = ("script", "attribute", "a template")
KINDS = [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in PLANTED]
AXES = {"experiment": "e", "tokens": "t", "order": "shuffled", "page_cache": "warm", "workers": 2, "limit_percent": 50}


@pytest.fixture(scope="module")
def harmless():
    """Pages without planted text and their lengths, each made once."""
    return {}


def without(harmless, name, render):
    """A page without planted text, and its length."""
    if name not in harmless:
        page = render(HARMLESS)
        harmless[name] = Markup(page), len(page)
    return harmless[name]


def shown_text(planted):
    return text.plain(planted, 100)[:90]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_planted_text_in_the_report(kind, tmp_path, report, tokenised, harmless):
    """In captions, figures, records and their tables, and in findings."""

    def render(planted):
        figures.theme()
        drawing_files = figure(tmp_path, "one")
        drawing, _ = plt.subplots()
        files = {"svg": drawing_files.svg, "png": drawing_files.png, "caption_file": drawing_files.caption}
        figures.save(drawing, f"{planted} is all there is.", **files)
        records = tables.read_runs(tokenised)
        for record, _ in records:
            record["provenance"] |= dict.fromkeys(("kernel", "commit", "transparent_hugepage", "lock_sha256"), planted)
            record["provenance"]["versions"] = {"python": planted}
            record |= {"reason": planted, "outcome": "failed", "completed_work": False}
        holder = {"experiment": "growth", "stack": "current", "holder": planted, "kind": planted, "type": planted}
        holder |= {"released_bytes": 9e7, "share": 0.9}
        holder |= {"also_held_by": planted}
        holder |= {"cause": "held", "owner": planted, "not_run": ""}
        extra = {"runs": runs(records), "holders": pd.DataFrame([holder])}
        shown = [(planted[:500], planted[:500], ["growth"])]
        return report(tmp_path, tokenised, extra, svg=[drawing_files.svg], figures=shown, left_out=[planted[:500]])

    planted = PLANTED[kind].encode("utf-8", "ignore").decode()
    made, (plain, _) = render(planted), without(harmless, "report", render)
    page = Markup(made)
    # Packed content is no markup here; tests below check it.
    assert page.elements == plain.elements
    assert [link for link in page.links if link.startswith(("http", "//", "javascript"))] == []
    assert len(page.links) == len(plain.links)
    assert " ".join(shown_text(planted)[:50].split()) in " ".join(page.text.split())
    assert "829348951" not in made


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_record(watch([sys.executable, "-c", "import time; time.sleep(0.1)"], folder), folder)
    return RunFolder.read(folder)


def planted_in(run, planted):
    """The run with planted text in its command, provenance, reason, phases and events."""
    provenance = run.record["provenance"] | {"kernel": planted, planted[:200]: planted}
    phases = [{**run.record["phases"][0], "phase": planted}]
    missing = [{"what": planted, "why": planted}]
    more = {"provenance": provenance, "reason": planted, "phases": phases, "missing": missing, "command": [planted]}
    samples = {**run.samples, "phase": [planted] * len(run.samples["t_s"])}
    return RunFolder(
        run.folder, {**run.record, **more}, samples, [{"t_s": 0.01, "event": planted, planted[:200]: planted}]
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_planted_text_in_a_run_and_its_figure(kind, tmp_path, run, harmless):
    def cell(planted):
        view = run_of_page.view(planted_in(run, planted), planted, tmp_path / "page.html")
        named = {"title": planted, "axes": [(planted, planted)], "requests": [], "limits": []}
        return page_of.render("cell.html.jinja", runs=[view], holders=[{"cause": planted, "owner": planted}], **named)

    (plain, length), made = without(harmless, "cell", cell), cell(PLANTED[kind])
    page = Markup(made)
    assert page.elements == plain.elements
    assert " ".join(shown_text(PLANTED[kind])[:50].split()) in " ".join(page.text.split())
    assert len(made) < length + 300_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_planted_text_in_labels(kind, tmp_path):
    figures.theme()
    planted, files = PLANTED[kind], figure(tmp_path, "one")
    drawing, axes = plt.subplots()
    axes.plot([1, 100], [1, 1000], label=planted)
    axes.set(title=planted, ylabel=planted, yscale="log")
    axes.set_xticks([1, 100], [text.plain(planted, 50)] * 2)
    axes.annotate(planted, (1, 10))
    axes.legend()
    figures.save(drawing, planted, svg=files.svg, png=files.png, caption_file=files.caption)
    assert plt.imread(files.png).shape[0] < 5000
    svg = ET.parse(files.svg).getroot()
    tags = {element.tag.rpartition("}")[2] for element in svg.iter()}
    assert tags <= {"svg", "metadata", "RDF", "Work", "type", "date", "format", "creator", "Agent", "title", "defs"} | {
        "style", "g", "path", "use", "text", "tspan", "clipPath", "rect"
    }  # fmt: skip
    assert not [name for element in svg.iter() for name in element.attrib if name.lower().startswith("on")]
    assert " ".join(shown_text(planted)[:40].split()) in " ".join("".join(svg.itertext()).split())
    assert "1,000" in "".join(svg.itertext())
    assert drawing_of.caption(files.caption)


@pytest.mark.parametrize("kind", PLANTED)
def test_overwritten_caption_is_shown_as_text(kind, tmp_path):
    (tmp_path / "one.txt").write_bytes(PLANTED[kind].encode(errors="replace"))
    shown = Markup(" ".join(drawing_of.caption(tmp_path / "one.txt")))
    assert {tag for tag, _ in shown.elements} <= {"code"}
    assert len(shown.text) < 10_000
