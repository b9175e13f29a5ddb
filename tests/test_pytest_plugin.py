"""The memory limit of a test, in another pytest."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

TESTS = """
import time
import pytest

def held(mb):
    data = bytearray(mb * 1_000_000)
    time.sleep(0.05)

@pytest.mark.beyond_ram(max_anon="4G", max_rss="4G")
def test_within():
    held(150)

@pytest.mark.beyond_ram(max_anon="100M")
def test_above():
    held(150)

@pytest.mark.beyond_ram(max_anon="100M")
def test_above_for_a_moment():
    data = bytearray(150 * 1_000_000)
    del data

@pytest.mark.beyond_ram(max_anon="1G")
def test_fails_by_itself():
    assert 1 == 2

def test_unmarked():
    held(150)

@pytest.mark.beyond_ram(max_anonymous="1G")
def test_misspelt():
    pass

@pytest.mark.beyond_ram(max_anon="much")
def test_no_size():
    pass
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tests")
    (folder / "test_them.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "--strict-markers", "-rA", "-p", "no:cacheprovider", "test_them.py"]
    wide = {**os.environ, "COLUMNS": "500"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=wide).stdout


@pytest.mark.parametrize("name", ["within", "unmarked"])
def test_tests_within_their_limit_pass(output, name):
    assert f"PASSED test_them.py::test_{name}\n" in output


@pytest.mark.parametrize("name", ["above", "above_for_a_moment"])
def test_tests_above_their_limit_fail_with_the_peak(output, name):
    line = next(line for line in output.splitlines() if line.startswith(f"FAILED test_them.py::test_{name} "))
    assert "peak anonymous memory" in line and "is above --max-anon 100M" in line


def test_other_failures_stay(output):
    assert "FAILED test_them.py::test_fails_by_itself - assert 1 == 2" in output


def test_bad_markers_are_reported(output):
    assert "beyond_ram takes max_anon, max_rss, each" in output
    assert "'much' is no size" in output
    assert "UsageError" not in output, "there is a traceback"


def test_plugin_imports_nothing_until_it_is_needed(root):
    program = "import sys, beyond_ram.pytest_plugin; print(*(name for name in sys.modules if 'beyond_ram' in name))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert set(loaded.stdout.split()) == {"beyond_ram", "beyond_ram.pytest_plugin"}
