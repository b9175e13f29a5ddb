"""The page of claims: what was published, and under which conditions it was found to hold, or not."""

from beyond_ram import logs, pages, tables

# As they are listed below a claim, with how each is called there.
HOLDS = {
    "holds": "holds",
    "reached, not shown": "reached, not shown: the interval reaches below",
    "partly": "better, by less",
    "not shown": "not shown",
    "no": "does not hold",
    "not enough data": "not enough data",
    "not run": "not run",
}


def number(value):
    if value != value:
        return ""
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def listed(line):
    """A line of the table, in words."""
    exact = line["low"] == line["high"]
    known = line["low"] == line["low"]
    interval = f"{number(line['low'])} to {number(line['high'])}" if known and not exact else "exact" if exact else ""
    decides = f"{number(line['low_corrected'])} to {number(line['high_corrected'])}" if known and not exact else ""
    return {
        "holds": HOLDS.get(line["holds"], line["holds"]),
        "class": line["holds"].split()[0].strip(",") if line["holds"] in HOLDS else "",
        "measured": number(line["measured"]),
        "interval": interval,
        "decides": decides,
        "n": f"{line['n']:.0f}",
        "conditions": line["conditions"],
    }


def by_claim(claims):
    """Each claim with its counts and its lines, those under which it holds first."""
    for (claim, claimed), group in claims.groupby(["claim", "claimed"], sort=False):
        counts = group["holds"].value_counts()
        summary = ", ".join(f"{counts[holds]} {words}" for holds, words in HOLDS.items() if holds in counts)
        order = group["holds"].map({holds: place for place, holds in enumerate(HOLDS)})
        lines = group.assign(order=order).sort_values(["order", "measured"], ascending=[True, False], kind="stable")
        yield {
            "claim": claim,
            "claimed": number(claimed),
            "summary": f"{summary}, of {len(group)} condition{'' if len(group) == 1 else 's'}",
            "lines": [listed(line) for line in lines.to_dict("records")],
        }


def main(snakemake):
    claims = tables.read(snakemake.input.table)
    source = claims["source"].iloc[0] if len(claims) else ""
    found = list(by_claim(claims)) if len(claims) else []
    pages.write(snakemake.input.template, snakemake.output[0], source=source, claims=found)


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
