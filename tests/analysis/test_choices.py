"""Table `choices`."""

import pandas as pd

from beyond_ram.analysis.choices import choices
from beyond_ram.analysis.loaders import loaders

from .by_hand import loader


def test_only_who_is_beaten_by_nobody_is_a_choice() -> None:
    sound = [loader("fast", 9, 900), loader("lean", 1, 100), loader("between", 5, 500), loader("beaten", 4, 600)]
    table = pd.DataFrame([*sound, loader("wrong", 99, 1, "3 missing")])
    found = choices(table).set_index("loader")["chosen_for"].to_dict()
    assert found == {
        "fast": "most rows per CPU-second",
        "between": "no other is both faster and leaner",
        "lean": "least memory",
    }


def test_a_loader_that_nothing_was_held_against_is_no_choice() -> None:
    alone = loader("alone", 9, 900) | {"workers": 4}
    assert not len(choices(pd.DataFrame([alone])))
    # Neither a loader that lost rows nor the same one in another stack is another to choose.
    rivals = [alone | {"loader": "wrong", "account": "3 missing"}, alone | {"stack": "other", "rows_per_cpu_s": 1}]
    assert not len(choices(pd.DataFrame([alone, *rivals])))
    pair = [loader("fast", 9, 900), loader("lean", 1, 100)]
    assert set(choices(pd.DataFrame([alone, *rivals, *pair]))["loader"]) == {"fast", "lean"}


def test_a_loader_with_another_option_is_another_to_choose() -> None:
    told = {"advice": "none", "option": "none"}
    pair = [loader("scan", 9, 900) | told, loader("scan", 5, 100) | told | {"option": "ahead-0"}]
    found = choices(pd.DataFrame(pair))
    assert found.set_index("option")["chosen_for"].to_dict() == {
        "none": "most rows per CPU-second",
        "ahead-0": "least memory",
    }


def test_each_order_has_a_front_of_its_own() -> None:
    shuffled = [loader("fast", 9, 900), loader("lean", 1, 100)]
    in_order = [loader("lean", 2, 50, order="sequential"), loader("beaten", 1, 60, order="sequential")]
    table = pd.DataFrame([*shuffled, *in_order])
    found = choices(table)
    assert found[["loader", "order", "of_loaders"]].to_numpy().tolist() == [
        ["fast", "shuffled", 2],
        ["lean", "shuffled", 2],
        ["lean", "sequential", 2],
    ]
    assert found["chosen_for"].tolist()[-1] == "most rows per CPU-second and least memory"


def test_without_a_sound_loader_there_is_no_choice() -> None:
    assert choices(pd.DataFrame([loader("wrong", 9, 900, "3 missing")])).empty
    assert choices(loaders([])).empty
