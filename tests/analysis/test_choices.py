"""Table `choices`."""

import pandas as pd

from beyond_ram.analysis.choices import choices

from .by_hand import loader


def test_only_who_is_beaten_by_nobody_is_a_choice() -> None:
    sound = [loader("fast", 9, 900), loader("lean", 1, 100), loader("between", 5, 500), loader("beaten", 4, 600)]
    table = pd.DataFrame([*sound, loader("wrong", 99, 1, "3 missing")])
    found = choices(table).set_index("loader")["why"].to_dict()
    assert found == {
        "fast": "most rows per CPU-second",
        "between": "no other is both faster and leaner",
        "lean": "least memory",
    }


def test_a_loader_that_nothing_was_held_against_is_no_choice() -> None:
    alone = line("alone", 9, 900) | {"workers": 4}
    assert not len(choices(pd.DataFrame([alone])))
    # Neither a loader that lost rows nor the same one in another stack is another to choose.
    rivals = [alone | {"loader": "wrong", "account": "3 missing"}, alone | {"stack": "other", "rows_per_cpu_s": 1}]
    assert not len(choices(pd.DataFrame([alone, *rivals])))
    pair = [line("fast", 9, 900), line("lean", 1, 100)]
    assert set(choices(pd.DataFrame([alone, *rivals, *pair]))["loader"]) == {"fast", "lean"}
