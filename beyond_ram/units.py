"""Units for display."""

import math

MB, GB = 1e6, 1e9


def amount(value: float, unit: str, *, signed: bool = False) -> str:
    """A value with its unit, to four significant digits; bytes as MB. Empty if unknown."""
    return "" if math.isnan(value) else f"{digits(value, unit, signed=signed)} {'MB' if unit == 'bytes' else unit}"


def digits(value: float, unit: str, *, signed: bool = False) -> str:
    """The value of `amount` without its unit."""
    rounded, sign = float(f"{value / (MB if unit == 'bytes' else 1):.4g}"), "+" if signed else ""
    return f"{rounded:{sign},.0f}" if abs(rounded) >= 1000 else f"{rounded:{sign}.4g}"


def short_size(size_bytes: float) -> str:
    """A size to three digits: in GB, in whole MB, or below one MB in kB or bytes."""
    if size_bytes >= GB:
        return f"{size_bytes / GB:,.3g} GB"
    if size_bytes >= MB:
        return f"{size_bytes / MB:,.0f} MB"
    return f"{size_bytes / 1e3:,.3g} kB" if size_bytes >= 1e3 else f"{size_bytes:,.0f} bytes"


def duration(seconds: float) -> str:
    """A duration in the largest unit of which it has at least two."""
    for unit, length_s in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length_s:
            return f"{seconds / length_s:,.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def percent(share: float) -> str:
    """A share as percent: "5 %"."""
    return f"{100 * share:.0f} %"
