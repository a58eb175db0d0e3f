"""How hosts, users, home folders and tokens look in what vLLM, NCCL and their tools print."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from vllm_parallel.frozen import dataclass


class Kind(StrEnum):
    """What was found; a placeholder is named after it."""

    TOKEN = "token"
    HOME = "home"
    USER = "user"
    HOST = "host"
    ADDRESS = "address"
    SERIAL = "serial"
    WORD = "word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One look: its expression, whose only group is replaced, and words that a line must hold.

    The words are in small letters; a line without any of them is passed over quickly.
    """

    kind: Kind
    signs: tuple[str, ...]
    regex: re.Pattern[str]


NAMED: Final = r"(?:api[-_]?key|password|passwd|secret|(?:hf|auth|access)[-_]token)"
NAMES: Final = "apikey api-key api_key passw secret -token _token"
PRIVATE: Final = r"(?:internal|local|lan|corp|intranet|localdomain|home\.arpa)"
ENDS: Final = ".internal .local .lan .corp .intranet .home"
VALUE: Final = r"[^\s'\"\]),;<>]{6,}"
HOSTS: Final = "HOSTNAME|NODENAME|hostname|node_name"
HEX: Final = "[0-9a-f]"

LOOKS: Final = (
    (Kind.TOKEN, "hf_ api_org_", r"\b((?:hf|api_org)_[A-Za-z0-9]{16,})"),
    (Kind.TOKEN, "gh", r"\b((?:gh[pousr]|github_pat)_\w{16,})"),
    (Kind.TOKEN, "glpat- xox", r"\b((?:glpat|xox[abprs])-[\w-]{16,})"),
    (Kind.TOKEN, "sk- nvapi- pypi-", r"\b((?:sk|nvapi|pypi)-[A-Za-z0-9_-]{16,})"),
    (Kind.TOKEN, "akia asia", r"\b((?:AKIA|ASIA)[0-9A-Z]{16})\b"),
    (Kind.TOKEN, "eyj", r"\b(eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"),
    (Kind.TOKEN, "bearer", r"\b(?i:Bearer)\s+([^\s'\"<>]{8,})"),
    (Kind.TOKEN, "://", r"://[^/\s:@'\"]{1,80}:([^/\s@'\"<>]{1,80})@"),
    (Kind.TOKEN, NAMES, rf"--(?i:{NAMED})[=\s]\s*[\"']?({VALUE})"),
    (Kind.TOKEN, NAMES, rf"(?i:{NAMED})[\"']?\s*[=:]\s*[\[(]?[\"']?({VALUE})"),
    (Kind.HOME, "/home/ /users/", r"(/(?:home|Users)/[^/\s'\":,;<>)\]]+)"),
    (Kind.HOME, "/root/", r"(?<![\w/.-])(/root)(?=/)"),
    (Kind.HOME, ":\\", r"\b([A-Za-z]:\\{1,2}Users\\{1,2}[^\\\s'\":,;<>]+)"),
    (Kind.USER, "@", r"\b((?!git@)[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,})\b(?!/)"),
    (Kind.USER, "@", r"(?:^|[\s(\[])([a-z_][\w-]*@[\w.-]+)(?=:[~/])"),
    (Kind.USER, "user= username= logname=", r"\b(?:USER|LOGNAME|USERNAME)=([\w.-]+)"),
    (Kind.HOST, "nccl", r"^([\w.-]+)(?=:\d+:\d+ \[\d+\] NCCL)"),
    (Kind.HOST, "linux", r"^Linux ([\w.-]+)(?= \d+\.\d+)"),
    (Kind.HOST, "hostname nodename node_name", rf"\b(?:{HOSTS})['\"]?\s*[=:]\s*['\"]?([\w.-]+)"),
    (Kind.HOST, "ip-", r"\b(ip-\d+-\d+-\d+-\d+(?:\.[\w.-]+)?)\b"),
    (Kind.HOST, ENDS, rf"(?<![\w.-])((?!(?:threading|torch)\.)(?:[\w-]+\.)+{PRIVATE})(?![\w(-])"),
    (Kind.SERIAL, "gpu-", rf"\b(GPU-{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}})"),
    (Kind.SERIAL, ":", r"(?i)(?<![\w:])((?:[0-9a-f]{2}:){5}[0-9a-f]{2})(?![\w:])"),
)  # fmt: skip
# Those above win where two overlap.
PATTERNS: Final = tuple(
    Pattern(kind=kind, signs=tuple(signs.split()), regex=re.compile(regex))
    for kind, signs, regex in LOOKS
)
