"""Makes of the built site one that opens from a folder, without a server: `make site-offline`.

Addresses get their file's name, and the search its index and its worker as scripts: a browser
reads no other file from a page of a folder. The same goes into an archive, byte by byte alike
each time.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent / "site"))

from browser_package import EPOCH
from tags import with_links

INDEX: Final = "index.html"
NAME: Final = "vllm-parallel-offline"
SEARCH: Final = "search/search_index"
SHIM: Final = "assets/javascripts/offline.js"
# What only a server, a search engine or a reader of news reads, and what a worker would fetch.
LEFT_OUT: Final = (
    "404.html", "assets/planner", "assets/pyodide", "build-complete", "feed.xml", "sitemap.xml",
    "sitemap.xml.gz", f"{SEARCH}.json",
)  # fmt: skip

_BUNDLE = re.compile(r'<script src="(?P<root>[^"]*)assets/javascripts/bundle\.')
_FEED = re.compile(r'<link rel="alternate"[^>]*>|<a href="[^"]*feed\.xml">(.*?)</a>')
# The worker of the search; one made from a text needs no file.
_SHIM = """{
  const source = %s
  window.Worker = class extends Worker {
    constructor(address, options) {
      const search = /workers\\/search\\./.test(address)
      super(search ? URL.createObjectURL(new Blob([source])) : address, options)
    }
  }
}
"""


def offline(site: Path, folder: Path) -> None:
    """Write the site as it opens from a folder.

    Raises:
        ValueError: the theme's search is not where it was.
    """
    shutil.copytree(site, folder, ignore=_left_out(site))
    for path in folder.rglob("*.html"):
        page = path.relative_to(folder).as_posix()
        path.write_text(_page(path.read_text("utf-8"), page, folder), encoding="utf-8")
    (folder / f"{SEARCH}.js").write_text(_index(site), encoding="utf-8")
    workers = list((site / "assets/javascripts/workers").glob("search.*.js"))
    if len(workers) != 1:
        raise ValueError(f"{site}: {len(workers)} workers of the search, not one")
    source = workers[0].read_text("utf-8").partition("//# sourceMappingURL")[0]
    (folder / SHIM).write_text(_SHIM % json.dumps(source), encoding="utf-8")


def archive(folder: Path, path: Path) -> None:
    """Pack a folder so that the same files give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(one for one in folder.rglob("*") if one.is_file()):
            name = f"{folder.name}/{file.relative_to(folder).as_posix()}"
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(entry, file.read_bytes())


def _left_out(site: Path) -> Callable[[str, list[str]], list[str]]:
    gone = {site / name for name in LEFT_OUT}
    return lambda folder, names: [name for name in names if Path(folder, name) in gone]


def _page(html: str, page: str, folder: Path) -> str:
    def named(address: str) -> str:
        url = urlsplit(address)
        if url.scheme or url.netloc or not url.path:
            return address
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), url.path))
        if not (folder / target / INDEX).is_file():
            return address
        return url._replace(path=posixpath.join(url.path, INDEX)).geturl()

    shim = rf'<script src="\g<root>{SHIM}"></script>\g<0>'
    html = _FEED.sub(lambda link: link[1] or "", html)
    return _BUNDLE.sub(shim, with_links(html, named), count=1)


def _index(site: Path) -> str:
    """The search's index, its places with the names of their files."""
    found = json.loads((site / f"{SEARCH}.json").read_text("utf-8"))
    for row in found["docs"]:
        path, sign, anchor = row["location"].partition("#")
        row["location"] = f"{path}{INDEX}{sign}{anchor}"
    return f"var __index = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))}\n"


def main(site: Path, build: Path) -> None:
    """Make the folder and the archive in `build`."""
    folder, packed = build / NAME, build / f"{NAME}.zip"
    shutil.rmtree(folder, ignore_errors=True)
    build.mkdir(exist_ok=True)
    offline(site, folder)
    archive(folder, packed)
    print(f"{folder}/{INDEX} opens in a browser; {packed} ({packed.stat().st_size:,} bytes)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
