"""MosaicML Streaming from a local folder."""

import importlib.machinery
import sys
import types

from loaders.how import stacked

FORMAT, KIND, SHUFFLE = "mds", "library", "blocks"
# Imported modules of torchvision, and the name imported from each.
STOOD_IN = {"datasets": "VisionDataset", "transforms": "Compose", "transforms.functional": "to_tensor"}


def streaming():
    """Import the library. For datasets of images it imports torchvision, whose build on the index does not match the
    torch build of a machine without an accelerator. If that import fails, stubs replace it."""
    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("torchvision", *(f"torchvision.{part}" for part in STOOD_IN)):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
        for part, what in STOOD_IN.items():
            setattr(sys.modules[f"torchvision.{part}"], what, object)
    import streaming as library

    return library


def make(folder, how):
    library = streaming()
    if how.workers and how.start != "fork" and not hasattr(sys.modules["torchvision"], "__version__"):
        how.cannot("workers that are not forked import torchvision anew, and none here was built for this torch")
    library.base.util.clean_stale_shared_memory()
    dataset = library.StreamingDataset(
        local=str(folder / "mds"), shuffle=how.shuffled, batch_size=how.batch_size, shuffle_seed=how.seed
    )
    return how.own(library.StreamingDataLoader, dataset, stacked)
