"""Accuracy of `beyond-ram fit`: predictions for twelve programs, compared with runs at 8 times the size.

    uv run python tests/fit/study.py PYTHON FOLDER [NAME…]

PYTHON is the interpreter of the stack `loaders` (`uv run beyond-ram stack build envs/loaders.txt .stacks/loaders`).
FOLDER holds the data and all runs, which a second call uses again. It writes settings.csv (a line a setting) and
programs.csv (a line a program) there. It takes half an hour on 2 cores.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

from beyond_ram import files
from beyond_ram.fit import factors
from beyond_ram.fit.design import Point
from beyond_ram.fit.runs import name_of, once

PROGRAMS = Path(__file__).parent / "programs"
TIMES = 8
MINUTES = "3"
# The factors, the growing size, and a budget for which some settings fit.
STUDIED = {
    "objects": (["workers=0,2,4", "batch=16,256"], "rows=1250..160k", "700M"),
    "memmap": (["workers=0,2,4", "batch=16,256"], "rows=500..64k", "700M"),
    "arrow": (["workers=0,2,4", "batch=16,256"], "rows=500..64k", "700M"),
    "mapped": (["processes=1,2,4", "batch=100,1000"], "rows=1250..160k", "400M"),
    "shuffled": (["buffer=500,2000"], "rows=1250..160k", "400M"),
    "chunks": (["cache_mb=1,4,16", "batch=10,1000"], "rows=1250..160k", "60M"),
    "frame": (["columns=4,6"], "rows=1250..160k", "1G"),
    "leak": (["batch=16,256"], "rows=25k..3200k", "700M"),
    "plateau": (["cache=1000,5000"], "rows=2k..256k", "100M"),
    "switched": (["batch=10,100"], "rows=6250..800k", "200M"),
    "pairs": (["width=16,64"], "rows=100..12800", "1G"),
    "pool": (["processes=1,2,4", "chunk=100,1000"], "rows=5k..640k", "700M"),
}


def study(python: str, folder: Path, name: str) -> tuple[list[dict], dict]:
    """Fit one program, run every setting at full size, and compare both."""
    vary, grow, budget = STUDIED[name]
    names = [text.partition("=")[0] for text in (*vary, grow)]
    command = [
        python,
        str(PROGRAMS / f"{name}.py"),
        str(folder / "data"),
        *(f"{factor}={{{factor}}}" for factor in names),
    ]
    plan = factors.plan(command, vary, [grow])
    target, out = plan.growth.target, folder / name
    words = [sys.executable, "-m", "beyond_ram", "fit", "--memory", budget, "--grow", grow, "--out", str(out)]
    words += [word for factor in vary for word in ("--vary", factor)]
    words += ["--largest", str(target // TIMES), "--budget", MINUTES, "--confirm", "--", *command]
    began = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    took_s = time.monotonic() - began
    (folder / f"{name}.txt").write_text(done.stdout + done.stderr)
    if not (out / "fit.json").exists():
        raise RuntimeError(f"{name}: {done.stderr[-500:]}")
    fit = json.loads((out / "fit.json").read_text())
    lines = []
    for setting in fit["settings"]:
        setting_values = tuple(setting[factor] for factor in plan.varied)
        point = Point(setting_values, target)
        print(f"{name}, {name_of(plan, point)}", flush=True)
        run = once(plan, folder / "full" / name / name_of(plan, point).replace(" ", ","), point)
        line = {"program": name, "setting": name_of(plan, Point(setting_values, None)), "times_as_far": TIMES}
        line |= {key: setting[key] for key in ("predicted_bytes", "low", "high", "fits", "ask_bytes", "seconds")}
        line |= {"kept_bytes": run.kept_bytes, "took_s": run.seconds}
        line["inside"] = None if setting["low"] is None else setting["low"] <= run.kept_bytes <= setting["high"]
        lines.append(line)
    confirmed = fit["confirmed"] or {}
    by_time = sorted((line for line in lines if line["fits"] == "yes"), key=lambda line: line["took_s"])
    best = next((line for line in lines if fit["best"] and line["seconds"] == fit["best"]["seconds"]), None)
    return lines, {
        "program": name,
        "settings": len(lines),
        "numbers": sum(line["inside"] is not None for line in lines),
        "inside": sum(bool(line["inside"]) for line in lines),
        "yes": len(by_time),
        "yes_within_budget": sum(line["kept_bytes"] <= fit["memory_bytes"] for line in by_time),
        "yes_within_ask": sum(line["kept_bytes"] <= line["ask_bytes"] for line in by_time),
        "no": sum(line["fits"] == "no" for line in lines),
        "no_above_budget": sum(line["kept_bytes"] > fit["memory_bytes"] for line in lines if line["fits"] == "no"),
        "completed_under_limit": confirmed.get("outcome", "not run"),
        "slower_than_fastest": round(best["took_s"] / by_time[0]["took_s"], 3) if best and by_time else None,
        "small_runs": len(fit["runs"]),
        "small_runs_s": fit["run_s"],
        "fit_s": round(took_s, 1),
        "by_hand_s": round(sum(line["took_s"] for line in lines), 1),
        "unsure_because": fit["unsure_because"],
    }


def total(programs: list[dict]) -> dict:
    """Return a line of sums over all programs."""
    counted = [name for name, value in programs[0].items() if isinstance(value, int | float)]
    sums = {name: sum(program[name] or 0 for program in programs) for name in counted}
    limited = [program["completed_under_limit"] for program in programs if program["yes"]]
    completed = f"{limited.count('completed')} of {len(limited)} completed"
    return {"program": "all"} | sums | {"completed_under_limit": completed, "slower_than_fastest": None}


def main(python: str, folder: str, *names: str) -> None:
    out = Path(folder).absolute()
    data = out / "data"
    if not data.exists():
        subprocess.run([python, str(PROGRAMS / "data.py"), str(data)], check=True)
    settings, programs = [], []
    for name in names or STUDIED:
        done = out / f"{name}.json"
        if not done.exists():
            files.write(done, json.dumps(study(python, out, name)))
        lines, program = json.loads(done.read_text())
        settings += lines
        programs.append(program)
        print(program, flush=True)
        pd.DataFrame(settings).to_csv(out / "settings.csv", index=False)
        pd.DataFrame([*programs, total(programs)]).to_csv(out / "programs.csv", index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
