"""CSV: a line per row, the label first."""

import numpy


def write(rows, folder):
    with open(folder / "tokens.csv", "w", encoding="ascii") as file:
        file.write(",".join(["label", *(f"id{number}" for number in range(rows.width))]) + "\n")
        for ids, labels in rows.chunks(1000):
            numpy.savetxt(file, numpy.column_stack([labels, ids]), fmt="%d", delimiter=",")
