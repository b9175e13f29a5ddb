"""A memory limit for a test: `@pytest.mark.beyond_ram(max_anon="2G")`; also `max_rss`.

The peak covers the test's process and all its children, from the end of fixture setup to the end of the test. Only
marked tests are watched.
"""

from collections.abc import Iterator

import pytest

MARKER = "beyond_ram"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(max_anon, max_rss): fails where the peak of memory is above, as '500M' or '2G'"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return (yield)
    from argparse import ArgumentTypeError

    from .cli.options import size
    from .watch import ceilings
    from .watched_block import watching

    wanted = {f"max_{kind}": kind for kind in ceilings.KINDS}
    if marker.args or not marker.kwargs or not marker.kwargs.keys() <= wanted.keys():
        pytest.fail(f"{item.nodeid}: beyond_ram takes {', '.join(wanted)}, each as max_anon='2G'", pytrace=False)
    limits, wrong = [], ""
    try:
        limits = [ceilings.Ceiling(wanted[name], size(str(text)), str(text)) for name, text in marker.kwargs.items()]
    except ArgumentTypeError as error:
        wrong = str(error)
    if wrong:  # outside of the handler, otherwise its error would be printed too
        pytest.fail(f"{item.nodeid}: {wrong}", pytrace=False)
    with watching() as seen:
        result = yield
    seen.record["ceilings"] = ceilings.judge(seen.record, limits)
    above = [line for line in ceilings.lines(seen.record) if not line.startswith("within")]
    if above:
        pytest.fail("\n".join(above), pytrace=False)
    return result
