"""The report in a browser, opened from a file: what people and their tools do with it."""

import os
import re
import shutil
import sys
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from beyond_ram import cli, figures
from beyond_ram.analysis.changes import changes
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.runs import runs
from beyond_ram.experiment import Cell
from beyond_ram.records import tables
from beyond_ram.report import page as page_module

from ..records.test_cell_runs import run_once
from ..scaled import Source, copies
from .conftest import AXES, figure

pytestmark = pytest.mark.slow
VIEWS = ("overview", "findings", "figures", "holders", "changes", "cells", "provenance")
SIZES = {"desktop": (1280, 800), "phone": (360, 740)}
PLANTED = "<img src=x onerror=alert(1)><script>alert(2)</script>"
# Unexpected layout shifts, as browsers count them.
SHIFTED = """window.shifted = 0; new PerformanceObserver(list => list.getEntries().forEach(entry => {
if (!entry.hadRecentInput) window.shifted += entry.value; })).observe({type: 'layout-shift', buffered: true})"""


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium of this machine."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    executable = next((path for name in names if (path := shutil.which(name))), None)
    if not executable:
        pytest.skip(f"no browser: none of {', '.join(names)} is on the PATH")
    with playwright.sync_playwright() as started:
        # A browser of root has no sandbox.
        browser = started.chromium.launch(
            executable_path=executable, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory, report):
    """A report of real runs of two stacks, with planted markup."""
    folder = tmp_path_factory.mktemp("report")
    paths = []
    for stack, seconds in (("june-2023", 0.3), ("current", 0.1)):
        for number in (1, 2):
            for rep in (1, 2):
                cell = Cell("growth", tuple({**AXES, "stack": stack, "num_files": number}.items()), rep)
                paths.append(run_once(folder / "runs", cell, seconds, {"bytes_in": number * 10_000_000}) / "run.json")
    records = tables.read_runs(paths)
    for record, _ in records:
        record["reason"] = PLANTED
    run_table = runs(records)
    compared = comparisons(run_table, [("june-2023", "current")])
    files = figure(folder, "one")
    drawing, axes = plt.subplots()
    axes.plot([1, 2], [3, 4], "o", label=PLANTED)
    figures.save(drawing, "Two points.", svg=files.svg, png=files.png, caption_file=files.caption)
    holder = {"experiment": "growth", "stack": "june-2023", "holder": PLANTED, "kind": "name", "type": "list of 9"}
    holder |= {"released_bytes": 9e8, "share": 0.9, "also_held_by": ""}
    holder |= {"cause": "held", "owner": PLANTED, "not_run": ""}
    holders = pd.DataFrame([holder, holder | {"stack": "current", "cause": "undecided", "owner": ""}])
    limit = {"experiment": "growth", "stack": "june-2023", "ended": PLANTED}
    limit |= {"time_ratio": 1.0}
    limit |= {"completed_at_bytes": 5e8, "ended_at_bytes": 4e8, "request_bytes": 6e8, "peak_rss_bytes": 9e8}
    limits = pd.DataFrame([limit | {"rep": rep} for rep in (1, 2)])
    extra = {"runs": run_table, "comparisons": compared, "changes": changes(compared), "holders": holders}
    grown = {"experiment": "growth", "stack": "june-2023", "regrowth": "grows", "epochs_read": 9, "n": 3}
    grown |= {"slope_bytes": 2e6, "slope_bytes_low": 1e6, "slope_bytes_high": 3e6}
    grown |= {"first_epoch_bytes": 0.0, "epoch_input_bytes": 1e6}
    extra |= {"limits": limits, "regrowth": pd.DataFrame([grown])}
    differ = {"before": "june-2023", "after": "current", "package": "fsspec", "from_version": "1", "to_version": "2"}
    extra |= {"stack_differences": pd.DataFrame([differ | {"requested": False}])}
    report(folder, paths, extra, svg=[files.svg], figures=[("One figure", "A chapter", ["growth"])])
    return folder / "report.html"


@pytest.fixture
def opened(browser):
    """Open a page from its file. Logged errors, requests to others and dialogs fail the test at its end."""
    contexts, faults = list[Any](), list[str]()

    def open_page(path, size="desktop", theme="light", place=""):
        page = new_page(browser, path, faults, size, theme, place)
        contexts.append(page.context)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def new_page(browser, path, faults, size="desktop", theme="light", place=""):
    width, height = SIZES[size]
    page = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme).new_page()
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: faults.append(request.url) if foreign(request.url, path) else None)
    page.add_init_script(SHIFTED)
    page.goto(f"file://{path}#{place}")
    page.wait_for_load_state("load")
    return page


@pytest.fixture(scope="module")
def left_open():
    """Pages that stay open from test to test, by size."""
    return {}


@pytest.fixture
def shared(page_file, browser, left_open):
    """The report of one size, opened once for all tests that leave it as it was. A logged error fails the test."""
    taken = []

    def page_of(size):
        if size not in left_open:
            faults = []
            left_open[size] = (new_page(browser, page_file, faults, size), faults)
        page, faults = left_open[size]
        taken.append(faults)
        return page

    yield page_of
    assert not any(taken)


@pytest.fixture
def phone(shared):
    return shared("phone")


@pytest.fixture
def desktop(shared):
    return shared("desktop")


def foreign(url, path):
    """Whether a request leaves the page's own file."""
    return not (url.partition("#")[0] == f"file://{path}" or url.startswith("data:"))


def test_changes_list_other_packages_that_differ(page_file):
    text = page_file.read_text()
    _, _, changed = text.partition('id="changes"')
    assert "june-2023 and current: 1 package: fsspec 1 to 2." in " ".join(changed.split("<table")[0].split())


def go(page, view):
    """Show a view, and wait until it is drawn."""
    if view == "cell":
        view = page.locator("#cells tbody a").first.get_attribute("href").lstrip("#")
    page.evaluate("place => { location.hash = place; }", view)
    page.wait_for_function("name => document.querySelector('.view.current')?.id === name", arg=view.partition("/")[0])
    if view.startswith("cell/"):
        page.wait_for_selector("#cell .chart svg:visible")


def test_report_opens_on_the_strongest_findings(page_file, opened):
    page = opened(page_file)
    assert page.locator(".view:visible").count() == 1
    shown = page.locator("#overview").inner_text()
    assert "Memory grows with every epoch: june-2023" in shown
    assert "undecided in 1 of 2 settings" in shown.partition("Undecided")[2]
    assert not re.search(r"\b(?:cells?|stacks?|ladders?)\b", page.locator("body").inner_text(), re.IGNORECASE)
    for view in (*VIEWS, "cell"):
        go(page, view)
        assert page.locator(".view:visible").count() == 1
    assert "8 runs of 4 settings" in page.locator("#provenance").text_content()
    assert page.locator("#cell").inner_text().startswith("growth")
    assert "Repeat 2" in page.locator("#cell").inner_text()
    assert page.evaluate("window.shifted") < 0.1


def test_answers_stand_side_by_side_with_their_pictures(tmp_path, report, opened, measured_once):
    """Three on a desktop, one below the other on a phone."""
    drawn = []
    for name in ("one", "two", "three"):
        files = figure(tmp_path, name)
        drawing, axes = plt.subplots()
        axes.plot([1, 2], [3, 4])
        figures.save(drawing, f"The answer of {name}.", svg=files.svg, png=files.png, caption_file=files.caption)
        drawn.append((f"Figure {name}", "A chapter", ["growth"], f"What does {name} cost?"))
    paths = [*measured_once.rglob("run.json")]
    report(tmp_path, paths, {}, svg=[str(tmp_path / f"{name}.svg") for name in ("one", "two", "three")], figures=drawn)
    for size, columns in (("desktop", 3), ("phone", 1)):
        page = opened(tmp_path / "report.html", size)
        boxes = [one.bounding_box() for one in page.locator(".answers section").all()]
        assert len(boxes) == 3 and len({box["x"] for box in boxes}) == columns
        for section in page.locator(".answers section").all():
            question, picture, answer = (section.locator(name).first.bounding_box() for name in ("h2", "img", "p"))
            assert question["y"] < picture["y"] < answer["y"]
            assert not columns > 1 or answer["y"] + answer["height"] <= SIZES[size][1], "below the first screen"


def test_planted_markup_is_shown_as_text(page_file, opened):
    page = opened(page_file)
    go(page, "holders")
    assert PLANTED in page.locator("#holders").inner_text()
    page.goto(f"file://{page_file}#cell/{PLANTED}")
    page.reload()
    page.wait_for_selector("#cell:has-text('no such cell')")


def test_filter_leaves_only_lines_and_findings_with_its_text(desktop):
    page = desktop
    go(page, "cells")
    assert page.locator("#cells tbody tr:visible").count() == 4
    page.fill("#filter input", "CURRENT")
    assert page.locator("#cells tbody tr:visible td:nth-child(2)").all_inner_texts() == ["current"] * 2
    go(page, "findings")
    assert not page.get_by_text("Memory grows with every epoch").locator("visible=true").count()
    page.fill("#filter input", "")
    page.wait_for_selector("#findings h2:has-text('Memory grows with every epoch')")


@pytest.mark.end_to_end
def test_table_of_many_cells_is_unpacked_when_shown(tmp_path, report, opened, measured_once, monkeypatch):
    """The first view does not contain its lines; they are linked as in small tables."""
    monkeypatch.setattr(page_module, "MANY_LINES", 100)
    sources = [Source(path.parent) for path in measured_once.rglob("run.json")]
    axes = [AXES | {"stack": stack, "num_files": number} for stack in ("june-2023", "current") for number in range(60)]
    cells = [Cell("growth", tuple(fields.items()), 1) for fields in axes]
    report(tmp_path, copies(sources, tmp_path / "runs", cells), {})
    page = opened(tmp_path / "report.html")
    assert page.locator("#cells tbody tr").count() == 1
    go(page, "cells")
    page.wait_for_function("() => document.querySelectorAll('#cells tbody tr').length === 120")
    page.fill("#filter input", "current")
    assert page.locator("#cells tbody tr:visible").count() == 60
    page.locator("#cells tbody tr:visible a").last.click()
    page.wait_for_selector("#cell .chart svg:visible")
    assert "59" in page.locator("#cell").inner_text()


def test_hovering_shows_values(desktop):
    page = desktop
    go(page, "cell")
    page.locator("#cell .chart svg:visible").first.hover()
    assert "MB" in page.locator("#cell .reading").first.inner_text()


def test_figure_is_enlarged(desktop):
    page = desktop
    go(page, "figures")
    before = page.locator("#figure-one img").bounding_box()["width"]
    page.locator("#figure-one .paper").dblclick()
    assert page.locator("#figure-one img").bounding_box()["width"] > before


@pytest.mark.end_to_end
def test_the_keyboard_reaches_a_cell(page_file, opened):
    page = opened(page_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("nav a[href='#cells']").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#cells tbody a:visible").focus()  # what is not shown yet gets no focus
    page.keyboard.press("Enter")
    page.wait_for_selector("#cell .chart svg:visible")


@pytest.mark.parametrize("view", [*VIEWS, "cell"])
def test_a_phone_scrolls_in_one_direction(phone, view):
    go(phone, view)
    assert phone.evaluate("document.documentElement.scrollWidth") == 360


# Whether the boxes of any two of these elements overlap.
OVERLAP = """names => {
  const boxes = [...document.querySelectorAll(names)].map(one => one.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return boxes.some((a, n) => boxes.slice(n + 1).some(b => meet(a, b)));
}"""


def test_names_of_phases_of_a_watched_run_do_not_overlap(tmp_path, opened):
    program = "import time; from beyond_ram.phases import phase\n"
    program += "for n in range(8):\n with phase(f'epoch {n}'): time.sleep(0.1)"
    html = str(tmp_path / "run.html")
    assert cli.main(["watch", "--html", html, "--", sys.executable, "-c", program]) == 0
    for size in SIZES:
        page = opened(tmp_path / "run.html", size)
        names = "svg:not([style*=none]) text[text-anchor=middle]"
        assert page.get_by_text("epoch", exact=False).count() > 1
        assert not page.evaluate(OVERLAP, f"figure:first-of-type {names}[y='18.0']"), size


def test_a_figure_is_whole_on_a_phone(phone):
    page = phone
    go(page, "figures")
    assert page.evaluate("document.querySelector('#figures .paper img').getBoundingClientRect().right") <= 360


# Rules on colours. Nothing else of a view depends on the theme, and page.css gives a phone no colours of its own.
COLOUR_RULES = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
VIOLATIONS = {"resultTypes": ["violations"]}


@pytest.mark.end_to_end
@pytest.mark.parametrize("size", [*SIZES])
def test_axe_finds_nothing_serious(shared, size):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = shared(size)
    themes = {"dark": VIOLATIONS | COLOUR_RULES, "light": VIOLATIONS}
    for theme in themes if size == "desktop" else ["light"]:
        page.emulate_media(color_scheme=theme)
        for view in (*VIEWS, "cell"):
            go(page, view)
            violations = axe.run(page, options=themes[theme]).response["violations"]
            serious = [one for one in violations if one["impact"] in ("serious", "critical")]
            assert not [(theme, view, one["id"], one["nodes"][0]["html"][:300]) for one in serious]


def test_the_theme_is_switched_and_paper_stays_light(page_file, opened):
    page = opened(page_file, theme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.click("#theme")
    assert page.evaluate(colour) == "rgb(20, 24, 29)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert page.locator("section.view:visible").count() == len(VIEWS)


def test_all_views_are_visible_without_scripts(page_file, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"file://{page_file}")
    assert page.locator("section.view:visible").count() == len(VIEWS)
    context.close()


def test_pages_of_watched_runs(tmp_path, opened):
    program = "import time; kept = bytearray(50_000_000); time.sleep(0.3)"
    for name in ("a", "b"):
        html = ["--html", str(tmp_path / f"{name}.html")]
        assert cli.main(["watch", "--out", str(tmp_path / name), *html, "--", sys.executable, "-c", program]) == 0
    assert cli.main(["show", str(tmp_path / "a"), str(tmp_path / "b"), "--html", str(tmp_path / "both.html")]) == 0
    for name, charts in (("a", 2), ("both", 5)):
        page = opened(tmp_path / f"{name}.html", "phone")
        assert page.locator("figure.chart svg:visible").count() == charts
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert "bytearray" in page.content()
        page.locator("figure.chart svg:visible").first.hover()
        assert "MB" in page.locator(".reading").first.inner_text()
        for link in page.locator("main a").all():
            assert (tmp_path / link.get_attribute("href")).is_file()
