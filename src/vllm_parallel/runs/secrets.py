"""What a run must not publish: hosts, users, home folders, addresses, tokens.

Patterns find what such things look like in vLLM's logs, `pip freeze`, `nvidia-smi` and NCCL's
lines. A bare host name looks like any word, so words can be given by hand too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from vllm_parallel.frozen import dataclass
from vllm_parallel.runs.patterns import PATTERNS, Kind

LONGEST: Final = 60  # characters of a secret that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """One finding in a line: what it is, the text, and where it stands."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def shown(self) -> str:
        """The text for a message; of a token only the beginning."""
        if self.kind is Kind.TOKEN:
            return f"{self.text[:4]}…"
        return self.text if len(self.text) <= LONGEST else f"{self.text[: LONGEST - 1]}…"


IPV4: Final = re.compile(r"(?<![\w.-])(?<!==)(\d{1,3}(?:\.\d{1,3}){3})(?![\w.]|-\w)")
IPV6: Final = re.compile(
    r"(?<![\w:.])([0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\w:])", re.IGNORECASE
)
PUBLIC: Final = tuple(
    ip_network(net) for net in ("127.0.0.0/8", "0.0.0.0/32", "255.255.255.255/32", "192.0.2.0/24",
                                "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
)  # fmt: skip
INSIDE: Final = tuple(
    ip_network(net) for net in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
                                "169.254.0.0/16", "fc00::/7", "fe80::/10", "2000::/3")
)  # fmt: skip
ADDRESSED: Final = re.compile(
    r"(?:://|@|\b(?:ip|host|addr|address|master|node)\W{0,3})$", re.IGNORECASE
)
PORT: Final = re.compile(r":\d{1,5}\b")
HARMLESS: Final = {"localhost", "true", "false", "none", "null", "user", "****"}


def secrets(line: str, words: Sequence[str] = ()) -> list[Secret]:
    """What a line must not publish, from left to right and without overlaps.

    >>> [(found.kind.value, found.text) for found in secrets("see /home/ada/x on 10.1.2.3:80")]
    [('home', '/home/ada'), ('address', '10.1.2.3')]
    """
    kept, taken = [], bytearray(len(line))
    for found in _candidates(line, words):
        if found.text.lower() in HARMLESS or found.text[0] == "$":  # a variable tells nothing
            continue
        if not any(taken[found.start : found.end]):
            taken[found.start : found.end] = b"\1" * len(found.text)
            kept.append(found)
    return sorted(kept, key=lambda found: found.start)


def _candidates(line: str, words: Sequence[str]) -> Iterator[Secret]:
    for word in words:
        start = line.find(word)
        while start >= 0:
            yield Secret(kind=Kind.WORD, text=word, start=start, end=start + len(word))
            start = line.find(word, start + len(word))
    small = line.lower()
    for look in PATTERNS:
        if any(sign in small for sign in look.signs):
            for match in look.regex.finditer(line):
                yield Secret(kind=look.kind, text=match[1], start=match.start(1), end=match.end(1))
    for pattern, sign, least in ((IPV4, ".", 3), (IPV6, ":", 2)):
        for match in pattern.finditer(line) if line.count(sign) >= least else ():
            if _is_address(line, match):
                text, (start, end) = match[1], match.span(1)
                yield Secret(kind=Kind.ADDRESS, text=text, start=start, end=end)


def _is_address(line: str, match: re.Match[str]) -> bool:
    """Whether digits are an address of somebody, and no version of a library or a time."""
    try:
        address = ip_address(match[1])
    except ValueError:
        return False
    if address.is_loopback or address.is_unspecified or _within(address, PUBLIC):
        return False
    if isinstance(address, IPv6Address) or _within(address, INSIDE):
        return _within(address, INSIDE)
    before = line[: match.start()][-20:]
    return bool(ADDRESSED.search(before) or PORT.match(line, match.end()))


def _within(address: object, nets: Sequence[object]) -> bool:
    return any(address in net for net in nets)  # type: ignore[operator]  # of both versions
