"""LitData from a local folder."""

from loaders.how import stacked

FORMAT, KIND, SHUFFLE = "litdata", "library", "blocks"


def make(folder, how):
    import litdata

    dataset = litdata.StreamingDataset(str(folder / "chunks"), shuffle=how.shuffled, seed=how.seed)
    return how.own(litdata.StreamingDataLoader, dataset, stacked)
