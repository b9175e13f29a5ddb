"""The releases of a package, from the package index that uv or pip is configured for."""

import contextlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests
from packaging import tags
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedContentTypeError,
    UnsupportedRepoVersionError,
)

from .. import mask_secrets
from .locks import EXACT, PYTHON, StackError

_CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT")
_TIMEOUT_S = 60


@dataclass(frozen=True)
class Release:
    """A release of a package."""

    version: Version
    text: str
    """The version in the release's file names."""
    uploaded: datetime | None
    """Upload time; None if the index does not have it."""
    yanked: bool
    missing: str
    """Why the release cannot be installed here; empty if it can."""

    @property
    def date(self) -> str:
        return f"{self.uploaded:%Y-%m-%d}" if self.uploaded else "date unknown"


def releases(package: str) -> list[Release]:
    """All releases of a package, oldest version first. Raises StackError if the index does not answer."""
    session = requests.Session()
    session.verify = next((os.environ[name] for name in _CERTIFICATES if os.environ.get(name)), True)
    for address in indexes():
        if not address.startswith(("http://", "https://")):
            continue  # a folder lists files without times
        try:
            with PyPISimple(address, session=session) as client:
                page = client.get_project_page(package, timeout=_TIMEOUT_S)
        except NoSuchProjectError:
            continue
        except (requests.RequestException, UnsupportedContentTypeError, UnsupportedRepoVersionError) as error:
            raise StackError(f"{package}: the package index cannot be asked: {type(error).__name__}") from None
        return sorted(_releases(page.packages), key=lambda release: release.version)
    raise StackError(f"{package}: the package index has no package of this name")


def indexes() -> list[str]:
    """The addresses of the indexes in uv's order. pip's configuration is used if uv has none."""
    uv = _uv_settings()
    more = os.environ.get("UV_INDEX", os.environ.get("UV_EXTRA_INDEX_URL", "")).split()
    own = [one for one in uv.get("index", []) if isinstance(one, dict) and one.get("url")]
    more = [one.partition("=")[2] if "=" in one.partition("://")[0] else one for one in more]
    more += [str(one["url"]) for one in own if not one.get("default") and not one.get("explicit")]
    more += [str(one) for one in uv.get("extra-index-url", [])]
    addresses = [os.environ.get("UV_DEFAULT_INDEX"), os.environ.get("UV_INDEX_URL")]
    addresses += [str(one["url"]) for one in own if one.get("default")] + [uv.get("index-url")]
    default = next(filter(None, addresses), None) or pip_index()
    return [*more, default or PYPI_SIMPLE_ENDPOINT]


def pip_index() -> str | None:
    """The index that pip is configured for; None for pip's default."""
    if address := os.environ.get("PIP_INDEX_URL"):
        return address
    command = [getattr(sys, "_base_executable", sys.executable), "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    settings = {name: value.strip("'\"") for name, _, value in (line.partition("=") for line in listed)}
    return settings.get("global.index-url") or settings.get("install.index-url")


@contextlib.contextmanager
def for_uv() -> Iterator[None]:
    """The environment of this process, plus pip's index if uv has no index configured."""
    own = {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & os.environ.keys() or {"index", "index-url"} & _uv_settings().keys()
    address = None if own else pip_index()
    if address:
        os.environ["UV_DEFAULT_INDEX"] = address
    try:
        yield
    finally:
        if address:
            del os.environ["UV_DEFAULT_INDEX"]


def _uv_settings() -> dict[str, Any]:
    """The settings in uv's own files. The user's override the machine's."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    files = [Path("/etc/uv/uv.toml"), home / "uv" / "uv.toml"]
    if named := os.environ.get("UV_CONFIG_FILE"):
        files = [Path(named)]
    settings: dict[str, Any] = {}
    for file in files:
        try:
            settings |= tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise StackError(f"{file}: cannot be read: {mask_secrets.in_text(str(error))}") from None
    return settings


def _releases(packages: Iterable[DistributionPackage]) -> Iterator[Release]:
    files: dict[Version, list[DistributionPackage]] = {}
    for package in packages:
        with contextlib.suppress(InvalidVersion):
            if package.version and package.package_type in ("wheel", "sdist"):
                files.setdefault(Version(package.version), []).append(package)
    python = tuple(map(int, PYTHON.split(".")))
    here = {*tags.cpython_tags(python), *tags.compatible_tags(python, f"cp{PYTHON.replace('.', '')}")}
    for version, own in files.items():
        times = [one.upload_time.astimezone(UTC) for one in own if one.upload_time]
        yanked = all(one.is_yanked for one in own)
        yield Release(version, str(version), min(times, default=None), yanked, _missing(own, here))


def _missing(files: Iterable[DistributionPackage], here: Set[tags.Tag]) -> str:
    """Why none of the files of a release can be installed."""
    wheels = [one for one in files if one.package_type == "wheel"]
    fitting = [one for one in wheels if here & _tags_of(one.filename)]
    if not wheels:
        return "has no wheel"
    if not fitting:
        return f"has no wheel for Python {PYTHON} on this machine"
    if not any(_takes_python(one.requires_python) for one in fitting):
        return f"asks for Python {fitting[0].requires_python}"
    return ""


def _tags_of(wheel: str) -> frozenset[tags.Tag]:
    try:
        return parse_wheel_filename(wheel)[3]
    except (InvalidWheelFilename, InvalidVersion):
        return frozenset()


def _takes_python(bound: str | None) -> bool:
    try:
        return not bound or SpecifierSet(bound).contains(EXACT, prereleases=True)
    except InvalidSpecifier:
        return True
