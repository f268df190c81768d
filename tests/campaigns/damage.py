"""Damage to files: the kinds that disks, transfers, editors and other programs do."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

ODD_NUMBERS = (
    *(
        "inf",
        "-inf",
        "nan",
        "1e400",
        "-1e-400",
        "1e30",
        "0",
        "-0.0",
        "1e308",
        "1_000",
        "1,5",
        "0x10",
    ),
    *("1+2j", "1e", "--1", "1.2.3", "١٢", "12345678901234567890123", "True", "None", "1/2", ""),
)
ODD_TEXT = (
    *(",", ";", "\t", '"', "'", "\n", "\r", "\r\n\r\n", "#", "%", "//", "@", "\\", "\x00", "\x1a"),
    *("\ufeff", "\u2028", "é", "数", "🜁", "[[[[", "}}", "(", "=", "NaN", "../../etc/passwd"),
    *("A" * 5000, "\x1b[31m", "-- ", "0" * 400, "e" * 50),
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp037", "utf-8-sig", "utf-7")


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """`content` with one to three kinds of damage; the same generator state gives the same damage."""
    for _ in range((1, 1, 1, 2, 3)[int(rng.integers(5))]):
        kind = _KINDS[int(rng.integers(len(_KINDS)))]
        content = kind(content, rng)
    return content


def _at(content: bytes, rng: np.random.Generator) -> int:
    # Beginnings hold what matters most: magic numbers, headers, names.
    limit = min(len(content), 200) if rng.random() < 0.3 else len(content)
    return int(rng.integers(limit + 1))


def cut_short(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: _at(content, rng)]


def flip_bits(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 9))):
        if changed:
            changed[_at(content, rng) % len(changed)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def swap_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    if len(content) < 2:
        return content
    changed, one, two = bytearray(content), *(_at(content, rng) % len(content) for _ in range(2))
    changed[one], changed[two] = changed[two], changed[one]
    return bytes(changed)


def swap_blocks(content: bytes, rng: np.random.Generator) -> bytes:
    a, b, c = sorted(_at(content, rng) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def repeat_block(content: bytes, rng: np.random.Generator) -> bytes:
    a, b = sorted(_at(content, rng) for _ in range(2))
    return content[:b] + content[a:b] + content[b:]


def blank_block(content: bytes, rng: np.random.Generator) -> bytes:
    a, b = sorted(_at(content, rng) for _ in range(2))
    b = min(b, a + 64)
    return content[:a] + bytes([(0, 32, 255)[int(rng.integers(3))]]) * (b - a) + content[b:]


def insert_text(content: bytes, rng: np.random.Generator) -> bytes:
    at = _at(content, rng)
    text = ODD_TEXT[int(rng.integers(len(ODD_TEXT)))]
    return content[:at] + text.encode("utf-8", "surrogatepass") + content[at:]


def odd_number(content: bytes, rng: np.random.Generator) -> bytes:
    """One number of a text replaced by an odd one; bytes of a binary file, by an odd double."""
    if b"\x00" in content[:1000]:
        at = _at(content, rng)
        odd = (np.inf, np.nan, -1.0, 1e300, 5e-324)[int(rng.integers(5))]
        return content[:at] + np.float64(odd).tobytes() + content[at + 8 :]
    found = list(re.finditer(rb"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", content))
    if not found:
        return content
    number = found[int(rng.integers(len(found)))]
    text = ODD_NUMBERS[int(rng.integers(len(ODD_NUMBERS)))].encode()
    return content[: number.start()] + text + content[number.end() :]


def another_encoding(content: bytes, rng: np.random.Generator) -> bytes:
    name = ENCODINGS[int(rng.integers(len(ENCODINGS)))]
    return content.decode("utf-8", "replace").encode(name, "replace")


_KINDS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    cut_short,
    flip_bits,
    swap_bytes,
    swap_blocks,
    repeat_block,
    blank_block,
    insert_text,
    odd_number,
    another_encoding,
)
