"""The files of ours that a file imports."""

import pytest

from beyond_ram.workflow.imports import closure, digest


def write(folder, **files):
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_indirect_imports_are_found(tmp_path):
    write(
        tmp_path, programs__run="import helper, json", programs__helper="def f():\n    import deep", programs__deep=""
    )
    assert closure("programs/run.py", tmp_path) == ["programs/deep.py", "programs/helper.py", "programs/run.py"]


def test_modules_are_searched_from_the_programs_folder(tmp_path):
    write(tmp_path, programs__run="", programs__loaders__one="from loaders.two import x", programs__loaders__two="")
    files = closure("programs/loaders/one.py", tmp_path, beside="programs/run.py")
    assert files == ["programs/loaders/one.py", "programs/loaders/two.py"]


def test_relative_imports_and_packages_are_found(tmp_path):
    write(tmp_path, p__a="from .b import x\nfrom . import c\nfrom .d.e import y", p__b="", p__c="", p__d__e="")
    (tmp_path / "p/d/__init__.py").write_text("")
    expected = ["p/a.py", "p/b.py", "p/c.py", "p/d/__init__.py", "p/d/e.py"]
    assert closure("p/a.py", tmp_path) == expected
    write(tmp_path, run="import p.a", b="", c="")
    assert closure("run.py", tmp_path) == [*expected, "run.py"], "modules of the program's folder were taken"


def test_package_comes_before_a_module_of_its_name(tmp_path):
    write(tmp_path, run="import helper", helper="")
    (tmp_path / "helper").mkdir()
    (tmp_path / "helper/__init__.py").write_text("")
    assert closure("run.py", tmp_path) == ["helper/__init__.py", "run.py"]


def test_circular_imports_end(tmp_path):
    write(tmp_path, a="import b", b="import a")
    assert closure("a.py", tmp_path) == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("module", "program", "also"),
    [
        ("loaders/memmap_batched", "load", "loaders/memmap_corrected"),
        ("formats/hdf5_blosc", "write", "formats/hdf5_chunked"),
        ("tokenize_corpus", "tokenize_corpus", "release"),
    ],
)
def test_shared_modules_of_shipped_programs_are_inputs(root, module, program, also):
    files = closure(f"scripts/workloads/{module}.py", root, beside=f"scripts/workloads/{program}.py")
    assert f"scripts/workloads/{also}.py" in files


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".", "figures"])
def test_scripts_that_only_read_runs_do_not_import_the_watcher(root, folder):
    measuring = {root / "scripts/further.py", root / "scripts/ladder.py"}
    for script in {*(root / "scripts" / folder).glob("*.py")} - measuring:
        # The report shows a run as the page of a watched one does.
        rooms = ("beyond_ram/measure/",) if script.name == "report.py" else ("beyond_ram/watch/", "beyond_ram/measure/")
        assert not [file for file in closure(script, root) if file.startswith(rooms)], script


def test_file_that_cannot_be_parsed_has_no_imports(tmp_path):
    write(tmp_path, a="import b, c", b="import c\nprint(", c="")
    assert closure("a.py", tmp_path) == ["a.py", "b.py", "c.py"]


def test_digest_is_of_contents(tmp_path):
    write(tmp_path, one__a="first", two__b="first")
    digests = [digest((f"{name}.py",), tmp_path) for name in ("one/a", "two/b", "missing")]
    assert digests[0] == digests[1] != digests[2]
    write(tmp_path, two__c="second")
    assert digest(("one/a.py", "two/c.py"), tmp_path) not in digests
