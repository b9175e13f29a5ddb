"""What a prediction becomes: the memory to ask for, and whether it fits."""

from types import SimpleNamespace

from beyond_ram.advice import MIB
from beyond_ram.fit.answer import Line, _lines
from beyond_ram.fit.factors import Plan
from beyond_ram.fit.model import Prediction


def line(budget_mib: int, mapped_mib: int) -> Line:
    """The line of one setting that keeps 99 to 101 MiB."""
    kept = Prediction(100 * MIB, 99 * MIB, 101 * MIB)
    model = SimpleNamespace(predict=lambda setting, size: kept, readings=[])
    plan = Plan(("true", "{n}"), {"n": (1,)}, None)
    (only,) = _lines(plan, budget_mib * MIB, model, model, None, mapped_mib * MIB)  # type: ignore[arg-type]
    return only


def test_mapped_files_have_room_beside_the_upper_end_of_the_interval() -> None:
    without = line(1000, 0).ask_bytes
    assert without is not None and without >= 101 * MIB
    assert line(1000, 40).ask_bytes == without + 40 * MIB


def test_it_fits_where_all_that_is_asked_for_does_and_not_where_even_the_lower_end_does_not() -> None:
    asked = (line(1000, 40).ask_bytes or 0) // MIB
    assert [line(budget, 40).fits for budget in (asked, asked - 1, 99, 98)] == ["yes", "unsure", "unsure", "no"]
