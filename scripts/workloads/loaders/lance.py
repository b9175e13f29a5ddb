"""Lance: rows taken by number."""

from loaders.how import Opened, arrays

FORMAT, KIND, SHUFFLE = "lance", "library", "rows"


def opened(path):
    import lance

    dataset = lance.dataset(path)

    def read(rows):
        if isinstance(rows, slice):
            return arrays(dataset.to_table(offset=rows.start, limit=rows.stop - rows.start))
        return arrays(dataset.take(rows))

    return read


def make(folder, how):
    import lance

    if how.workers and how.start == "fork":
        how.cannot("Lance's own threads do not survive a fork; its documentation asks for spawn or forkserver")
    path = str(folder / "tokens.lance")
    return how.blocks(Opened(lance.dataset(path).count_rows(), opened, path))
