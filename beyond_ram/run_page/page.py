"""The page of one run, or of several side by side: the request, why memory grew, and memory over time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import beyond_ram

from .. import memory_request
from ..chart import SCRIPT, STYLE, Line, Mark, chart
from ..files import check_page
from ..files import write as write_file
from ..records.run_folder import RunFolder
from ..records.run_json import PeakEntry, RunRecord
from ..text import plain
from ..units import duration, short_size
from ..watch import summary, trend, why
from .side_by_side import cells

_MOST = 5000
_COLOURS = 6
_PHASE_SIZES = ("anon_bytes", "shmem_bytes", "file_bytes", "rss_bytes", "hwm_bytes")


def write(page: Path, runs: Mapping[str, RunFolder], *, kept: bool = True) -> None:
    """Write the page of some runs, by name. It links to their files, if they are kept, with relative paths.

    Raises OSError.
    """
    check_page(page)
    write_file(page, html(runs, page if kept else None))


def html(runs: Mapping[str, RunFolder], page: Path | None) -> str:
    """The HTML of the page. `page` is its future path; without it the page does not link to the runs' files."""
    title = next(iter(runs.values())).command or "A run" if len(runs) == 1 else f"{len(runs)} runs side by side"
    parts = [f"<h1>{_text(title, 200)}</h1>"]
    if len(runs) > 1:
        parts += _side_by_side(runs)
    for name, run in runs.items():
        if len(runs) > 1:
            parts.append(f"<h2>{_text(name)}</h2><p><code>{_text(run.command or 'A run', 500)}</code></p>")
        parts += _run(run, page)
    parts.append(f'<p class="muted">Made by beyond-ram {_text(beyond_ram.__version__)}.</p>')
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">\n'
        f'<link rel="icon" href="data:,">\n<title>beyond-ram: {_text(title, 200)}</title>\n'
        f"<style>\n{_style()}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + f"\n</main>\n<script>\n{SCRIPT.read_text(encoding='utf-8')}readings(document);\n</script>\n</body>\n</html>\n"
    )


def _style() -> str:
    """The style of the page and of its charts."""
    files = (resources.files(__package__).joinpath("page.css"), STYLE)
    return "".join(file.read_text(encoding="utf-8") for file in files)


def _text(value: object, most: int = _MOST) -> str:
    return escape(plain(str(value), most))


def _run(run: RunFolder, page: Path | None) -> Iterator[str]:
    record = run.record
    took = duration(record["duration_s"] or 0.0)
    yield f"<p><strong>{_text(f'{run.outcome} after {took}')}</strong></p>"
    request = run.request
    if request:
        yield from _ask(request, record["peak"])
    yield from _why(record)
    marks = list(_marks(record, request))
    yield "<h2>Kept memory over time</h2>"
    yield _note("Kept memory is what the kernel cannot reclaim: a limit kills for it. Shared pages count once.")
    lines = [Line("group, with page cache", run.series("cgroup_bytes"), "group"), Line("kept", run.kept, "kept")]
    yield chart(lines, "Kept memory over time", marks=marks, phases=run.phases)
    yield from _processes(run)
    yield "<h2>Memory by kind</h2>"
    if run.several:
        yield _note("Summed over processes: what they share counts in each.")
    yield chart(run.by_kind, "Memory by kind over time", phases=run.phases)
    yield from details(run, page)


def details(run: RunFolder, page: Path | None) -> Iterator[str]:
    """Phases, all readings, provenance, and links to the files of a run, as HTML."""
    yield from _phases(run.phases)
    yield _readings(run)
    yield from _provenance(run)
    if page:
        links = [f'<a href="{run.link(name, page)}">{_text(name)}</a>' for name in run.files]
        yield f"<p>Its files: {', '.join(links)}.</p>"


def _ask(request: memory_request.MemoryRequest, peak: PeakEntry) -> Iterator[str]:
    yield '<section class="answer"><h2>Ask for</h2>'
    if memory_request.depends(request):
        check = "<code>scontrol show config | grep TaskPlugin</code>"
        yield f"<p>If your Slurm uses task/cgroup (check: {check}):</p>"
    yield _pasted(f"#SBATCH --mem={memory_request.mem(request.request_bytes)}", request.bound)
    if memory_request.depends(request):
        yield "<p>If not, it adds up the RSS of processes:</p>"
        polled_bytes = max(request.polled_bytes, request.request_bytes)
        yield _pasted(f"#SBATCH --mem={memory_request.mem(polled_bytes)}", request.polled_bound)
    mebibytes = f"{memory_request.mem(request.request_bytes)}i"
    yield f"<p>Kubernetes: {request.bound}<code>resources: {{limits: {{memory: {mebibytes}}}}}</code></p>"
    yield f'<p class="muted">{_text(summary.made_of(request))}</p>'
    if lacks := summary.without(request, peak):
        yield f'<p class="muted">Without {_text(lacks)}.</p>'
    if request.at_least:
        yield f"<p>At least, because {_text('; '.join(request.lower_bound))}.</p>"
    elif request.high_bytes > memory_request.FAR_REPEATS * request.request_bytes:
        yield f"<p>Perhaps {_text(summary.in_another_run(request))}.</p>"
    yield "</section>"


def _note(text: str) -> str:
    return f'<p class="muted">{_text(text)}</p>'


def _pasted(line: str, before: str = "") -> str:
    return f'<p class="paste">{before}<code>{_text(line)}</code></p>'


def _why(record: RunRecord) -> Iterator[str]:
    """Growth, causes, and the largest processes, as text."""
    peak, reasons = record["peak"], []
    if growth := record.get("growth"):
        reasons.append(f"It grew by {trend.sentence(growth, record['outcome'])}.")
    reasons += [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in why.sentences(record)]
    if forks := summary.forks(peak):
        reasons.append(f"Forks: {forks}.")
    if not reasons and why.has_course(record) and not peak.get("processes_unread"):
        unseen = trend.unseen(memory_request.request_of(record).kept_bytes, record["duration_s"] or 0.0)
        reasons.append(f"No growth to explain at the end ({unseen}), and no reading points to a cause.")
    elif not reasons:
        reasons.append("Too few readings of all memory to say how it changed, and none points to a cause.")
    items = "".join(f"<li>{_text(sentence)}</li>" for sentence in reasons)
    yield f'<section class="answer"><h2>Why</h2><ul>{items}</ul></section>'


def _marks(record: RunRecord, request: memory_request.MemoryRequest | None) -> Iterator[Mark]:
    around = record["peak"].get("around") or {}
    if limit := record.get("memory_limit_bytes"):
        yield Mark("limit", limit, "limit")
    elif limit := around.get("limit_bytes"):
        yield Mark("limit of the group around", limit, "limit")
    if request:
        yield Mark(f"ask {request.bound}".strip(), request.request_bytes, "ask")


def _processes(run: RunFolder) -> Iterator[str]:
    """The processes with most anonymous memory at the peak."""
    peak = run.record["peak"]
    shares, total = why.shares(peak), peak.get("anon_bytes")
    if shares and total:
        rest = total - sum(one["bytes"] for one in shares)
        others = [("all others", rest)] if rest > 0 and (peak.get("processes") or 0) > len(shares) else []
        yield "<h2>Memory by process</h2>"
        yield _note("Anonymous memory when it was highest. What forks share counts in each.")
        yield _bars([*((f"{one['name']} ({one['pid']})", one["bytes"]) for one in shares), *others])


def _bars(sizes: Sequence[tuple[str, float]]) -> str:
    most = max(size for _, size in sizes) or 1
    rows = (
        f'<div><dt>{_text(name, 60)}</dt><dd><span class="bar" style="width: {70 * size / most:.0f}%"></span>'
        f"{_text(short_size(size))}</dd></div>"
        for name, size in sizes
    )
    return f'<dl class="bars">{"".join(rows)}</dl>'


def _phases(phases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if {one["phase"] for one in phases} <= {""}:
        return
    heads = ("anonymous", "shared", "file", "RSS", "high water")
    rows = [
        [
            _text(one["phase"] or "before the first mark"),
            f"{one['start_s']:.2f}",
            "" if one["end_s"] is None else f"{one['end_s'] - one['start_s']:.2f}",
        ]
        + ["" if (size := one.get(name)) is None else f"{size / 1e6:,.0f}" for name in _PHASE_SIZES]
        for one in phases
    ]
    yield "<details open><summary>Phases and their peaks</summary>"
    yield _table("Phases", ["phase", "from (s)", "takes (s)", *(f"{head} (MB)" for head in heads)], rows) + "</details>"


def _table(label: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are HTML already. All columns except the first are numbers."""
    head = "".join(
        f'<th scope="col"{"" if n == 0 else " class=number"}>{_text(one)}</th>' for n, one in enumerate(heads)
    )
    body = "".join(
        "<tr>"
        + f'<th scope="row">{row[0]}</th>'
        + "".join(f'<td class="number">{one}</td>' for one in row[1:])
        + "</tr>"
        for row in rows
    )
    wide = f'<div class="wide" tabindex="0" role="region" aria-label="{_text(label)}">'
    return f"{wide}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _readings(run: RunFolder) -> str:
    """All readings as on the terminal; empty if the record lacks some, as that of a run that never began."""
    try:
        lines = [_text(line.replace("  ", "\u00a0 ")) for line in summary.lines(run.record)]
    except (KeyError, TypeError):
        return ""
    return "<details><summary>All readings</summary><pre>" + "\n".join(lines) + "</pre></details>"


def _provenance(run: RunFolder) -> Iterator[str]:
    shown = "".join(f"<div><dt>{_text(name, 80)}</dt><dd>{_text(one, 500)}</dd></div>" for name, one in run.provenance)
    command = f"<p><code>{_text(run.command)}</code></p>"
    yield f'<details><summary>Command and provenance</summary>{command}<dl class="pairs">{shown}</dl></details>'


def _side_by_side(runs: Mapping[str, RunFolder]) -> Iterator[str]:
    heads = ["", *runs, *(["change"] if len(runs) == 2 else [])]
    yield _table("Side by side", heads, [[_text(one) for one in row] for row in cells(runs)])
    lines = [Line(name, run.kept, f"run{number % _COLOURS}") for number, (name, run) in enumerate(runs.items())]
    yield "<h2>Kept memory over time</h2>"
    yield chart(lines, "Kept memory of all runs over time")
