"""The page of claims."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from beyond_ram import tables
from beyond_ram.analysis.claims import claims
from beyond_ram.analysis.runs import runs


def test_page_of_claims_states_where_each_holds(root: Path, tmp_path: Path) -> None:
    shared = {"experiment": "requests", "stack": "s", "source": "A post", "n": 2, "claimed": 10.0}
    lines = [
        {
            "claim": "a tool is faster",
            "conditions": "near",
            "measured": 1.0,
            "low": 0.5,
            "high": 2.0,
            "low_corrected": 0.25,
            "high_corrected": 4.0,
            "holds": "undecided",
        },
        {
            "claim": "a tool is faster",
            "conditions": "far <away>",
            "measured": 12.0,
            "low": 11.0,
            "high": 13.0,
            "holds": "yes",
        },
        {"claim": "fewer", "conditions": "near", "measured": 3.0, "low": 3.0, "high": 3.0, "holds": "partly"},
    ]
    # A corrected interval of two repeats, too wide to be useful.
    lines[1] |= {"low_corrected": 2e-9, "high_corrected": 7.7e12}
    tables.write(pd.DataFrame([shared | line for line in lines]), tmp_path / "c.csv", tmp_path / "c.parquet")
    page = page_of_claims(root, tmp_path)
    assert "<h2>A tool is faster</h2>" in page
    assert "Of 2 conditions: 1 holds; 1 undecided" in page
    assert page.index("far &lt;away&gt;") < page.index("near")
    assert "11 to 13" in page
    assert "0.25 to 4" in page
    assert "under 0.001 to over 1,000" in page
    assert "exact" in page


def test_page_without_claims_gives_the_reason(root: Path, tmp_path: Path) -> None:
    tables.write(claims(runs([])), tmp_path / "c.csv", tmp_path / "c.parquet")
    assert "Not run: no experiment of this config streams." in page_of_claims(root, tmp_path)


def page_of_claims(root: Path, folder: Path) -> str:
    inputs = {"table": str(folder / "c.parquet"), "template": str(root / "report/claims.html.jinja")}
    params = SimpleNamespace(name="claims", tables=[])
    output, log = [str(folder / "claims.html")], [str(folder / "log")]
    snakemake = SimpleNamespace(log=log, input=inputs, output=output, params=params)
    runpy.run_path(str(root / "scripts/page.py"), init_globals={"snakemake": snakemake})
    return (folder / "claims.html").read_text()
