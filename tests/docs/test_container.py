"""The manifests on Kubernetes of the page on containers."""

import yaml

from ..conftest import ROOT
from .pages import blocks

_RESERVED = {"requests", "limits"}


def manifests():
    return [yaml.safe_load(block.text) for block in blocks(ROOT / "docs" / "container.md") if block.language == "yaml"]


def test_page_has_a_sidecar_and_an_ephemeral_container():
    sidecar, ephemeral = (manifest["spec"] for manifest in manifests())
    assert sidecar["shareProcessNamespace"] is True
    assert len(sidecar["containers"]) == 2
    volumes = {volume["name"] for volume in sidecar["volumes"]}
    for container in sidecar["containers"]:
        assert container["resources"].keys() == _RESERVED
        assert {mount["name"] for mount in container.get("volumeMounts", ())} <= volumes
    (container,) = ephemeral["ephemeralContainers"]
    assert container["targetContainerName"] in {one["name"] for one in sidecar["containers"]}
    assert "resources" not in container, "the API refuses them"
