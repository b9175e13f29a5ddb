"""JSON Lines: an object per row."""

import json


def write(rows, folder):
    with open(folder / "tokens.jsonl", "w", encoding="ascii") as file:
        for ids, labels in rows.chunks(1000):
            for row, label in zip(ids.tolist(), labels.tolist(), strict=True):
                file.write(json.dumps({"label": label, "ids": row}, separators=(",", ":")) + "\n")
