"""Hostile and faulty DCP directories, one for each way to be wrong, with the codes that name it.

They are made of a directory that torch wrote: `.metadata` gets opcodes in between, records get other bytes.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

Files = dict[str, bytes]

SAMPLE = Path(__file__).parent.parent / "data" / "samples" / "torch_dcp" / "w2_checkpointable_padded_t214"
HEALTHY: Files = {path.name: path.read_bytes() for path in sorted(SAMPLE.iterdir()) if path.name != "manifest.json"}
METADATA = HEALTHY[".metadata"]
START = 2
"""Where `.metadata` goes on after the opcode for its protocol."""

PLANTED = "/tmp/shardproof_pwned"
"""What nothing may ever create."""
COMMAND = f"touch {PLANTED}".encode()


def injected(opcodes: bytes) -> Files:
    """Opcodes before everything that torch wrote, which they leave alone."""
    return {**HEALTHY, ".metadata": METADATA[:START] + opcodes + METADATA[START:]}


def instead(content: bytes) -> Files:
    return {**HEALTHY, ".metadata": content}


def text(word: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(word)) + word


NESTED = 20_000
CALL = b"(" + text(COMMAND) + b"tR0"

REFUSED: dict[str, tuple[Files, set[str]]] = {
    "no bytes": (instead(b""), {"SP601"}),
    "without the end": (instead(METADATA[:-1]), {"SP602"}),
    "half of it": (instead(METADATA[: len(METADATA) // 2]), {"SP602"}),
    "only the protocol": (instead(METADATA[:START]), {"SP602"}),
    "text": (instead(b"hello, this is no pickle"), {"SP603"}),
    "an archive": (instead(b"PK\x03\x04" + bytes(60)), {"SP607"}),
    "a protocol that does not exist": (instead(b"\x80\x63" + METADATA[START:]), {"SP603"}),
    "bytes after the end": (instead(METADATA + b"more"), {"SP604"}),
    "an opcode that does not exist": (injected(b"\xff"), {"SP603"}),
    "an opcode of zero": (injected(b"\x00"), {"SP603"}),
    "nothing to drop": (injected(b"0"), {"SP603"}),
    "nothing to copy": (injected(b"2"), {"SP603"}),
    "nothing to call": (injected(b"R"), {"SP603"}),
    "nothing to build": (injected(b"}b"), {"SP603"}),
    "nothing to append to": (injected(b"Na"), {"SP603"}),
    "a tuple without a mark": (injected(b"t"), {"SP603"}),
    "items without a mark": (injected(b"}NNu"), {"SP603"}),
    "items of half a pair": (injected(b"}(Nu"), {"SP603"}),
    "nothing to memorize": (injected(b"\x94"), {"SP603"}),
    "a place in the memo that is empty": (injected(b"h\x63"), {"SP603"}),
    "a far place in the memo that is empty": (injected(b"j\xff\xff\xff\xff"), {"SP603"}),
    "text that is not UTF-8": (injected(b"\x8c\x01\xff0"), {"SP603"}),
    "a number that is none": (injected(b"I12x\n0"), {"SP603"}),
    "a fraction that is none": (injected(b"Fx\n0"), {"SP603"}),
    "a line without an end": (instead(b"\x80\x02I12"), {"SP602"}),
    "a number of fewer than no bytes": (injected(b"\x8b" + struct.pack("<i", -1)), {"SP603"}),
    "a longer number than there are bytes": (injected(b"\x8b" + struct.pack("<i", 2**31 - 1)), {"SP602"}),
    "longer text than there are bytes": (injected(b"\x8d" + struct.pack("<Q", 2**60)), {"SP603"}),
    "longer text than 64 bits can say": (injected(b"\x8d" + struct.pack("<Q", 2**64 - 1)), {"SP603"}),
    "more bytes than there are": (injected(b"\x8e" + struct.pack("<Q", 2**40)), {"SP603"}),
    "a longer frame than there are bytes": (injected(b"\x95" + struct.pack("<Q", 2**40)), {"SP603"}),
    "an extension of one byte": (injected(b"\x82\x01"), {"SP607"}),
    "an extension of two bytes": (injected(b"\x83\x01\x00"), {"SP607"}),
    "an extension of four bytes": (injected(b"\x84\x01\x00\x00\x00"), {"SP607"}),
    "a buffer from elsewhere": (injected(b"\x97"), {"SP607"}),
    "a buffer from elsewhere, read-only": (injected(b"N\x98"), {"SP607"}),
    "an object by its name elsewhere": (injected(b"Pelsewhere\n0"), {"SP607"}),
    "an object by its key elsewhere": (injected(b"NQ0"), {"SP607"}),
    "lists in lists": (injected(b"]" * NESTED + b"a" * (NESTED - 1) + b"0"), {"SP608"}),
    "tuples in tuples": (injected(b")" + b"\x85" * NESTED + b"0"), {"SP608"}),
}
"""What ends the reading of `.metadata`."""

CALLED: dict[str, tuple[bytes, str]] = {
    "os.system, called": (b"cos\nsystem\n" + CALL, "os.system"),
    "posix.system by two words, called": (text(b"posix") + text(b"system") + b"\x93" + CALL, "posix.system"),
    "eval, called": (b"cbuiltins\neval\n" + CALL, "builtins.eval"),
    "exec of Python 2, called": (b"c__builtin__\nexec\n" + CALL, "__builtin__.exec"),
    "os.system from the memo, called": (b"cos\nsystem\nq\xfa0h\xfa" + CALL, "os.system"),
    "subprocess.Popen, made": (b"csubprocess\nPopen\n(" + text(COMMAND) + b"t\x810", "subprocess.Popen"),
    "subprocess.Popen, made with names": (b"csubprocess\nPopen\n(" + text(COMMAND) + b"t}\x920", "subprocess.Popen"),
    "os.system, an instance": (b"(" + text(COMMAND) + b"ios\nsystem\n0", "os.system"),
    "os.system, an object": (b"(cos\nsystem\n" + text(COMMAND) + b"o0", "os.system"),
    "what a function of torch can see": (
        b"ctorch\n_utils._rebuild_tensor_v2.__globals__\n" + CALL,
        "torch._utils._rebuild_tensor_v2.__globals__",
    ),
}
"""What `.metadata` would have called, and the name of it."""

NAMED: dict[str, tuple[bytes, str]] = {
    "os.system, and nothing with it": (b"cos\nsystem\n0", "os.system"),
    "an instance with a state": (b"crunpy\n_run_code\n)\x81}b0", "runpy._run_code"),
}
"""What `.metadata` names without calling it, and the name of it."""


FILE = "__0_0.distcp"
LENGTH = 1577
"""Bytes of the first record, which is where `FILE` begins."""
RECORD = HEALTHY[FILE][:LENGTH]
DIRECTORY = RECORD.index(b"PK\x01\x02")
END = RECORD.rindex(b"PK\x05\x06")


def member(name: bytes) -> tuple[int, int]:
    """Find where a member's header and its entry in the directory begin."""
    return RECORD.index(b"archive/" + name) - 30, RECORD.index(b"archive/" + name, DIRECTORY) - 46


def patched(*changes: tuple[int, bytes]) -> Files:
    """Other bytes in the first record."""
    content = bytearray(HEALTHY[FILE])
    for start, new in changes:
        content[start : start + len(new)] = new
    return {**HEALTHY, FILE: bytes(content)}


def rewritten(name: bytes, old: bytes, new: bytes) -> Files:
    """Other content of a member, with the checksum of it."""
    header, entry = member(name)
    (crc, size) = struct.unpack_from("<I4xI", RECORD, entry + 16)
    start = next(at for at in range(header, DIRECTORY) if zlib.crc32(RECORD[at : at + size]) == crc)
    content = RECORD[start : start + size].replace(old, new)
    assert len(content) == size
    assert content != RECORD[start : start + size]
    return patched((start, content), (entry + 16, struct.pack("<I", zlib.crc32(content))))


PICKLE, DATA, LAST = member(b"data.pkl"), member(b"data/0"), member(b".data/serialization_id")
NUMBERS = DATA[0] + 30 + sum(struct.unpack_from("<HH", RECORD, DATA[0] + 26))
"""Where the elements begin."""
WIDE = END - 20 - 56
"""Where the end of 64 bits begins."""

RECORDS: dict[str, tuple[Files, set[str]]] = {
    "nothing but zeros": (patched((0, bytes(LENGTH))), {"SP416"}),
    "no end": (patched((END, b"PK\x05\x07")), {"SP416"}),
    "an end of zeros": (patched((END, bytes(22))), {"SP416"}),
    "a directory behind the record": (patched((WIDE + 48, struct.pack("<Q", 2**40))), {"SP416"}),
    "a directory that overflows": (patched((WIDE + 48, struct.pack("<Q", 2**64 - 1))), {"SP416"}),
    "a directory longer than the record": (patched((WIDE + 40, struct.pack("<Q", 2**40))), {"SP416"}),
    "a directory cut short": (patched((WIDE + 40, struct.pack("<Q", 100))), {"SP416"}),
    "fewer members than there are": (patched((WIDE + 32, struct.pack("<Q", 3))), {"SP416"}),
    "more members than there are": (patched((WIDE + 32, struct.pack("<Q", 2**63))), {"SP416"}),
    "a damaged entry": (patched((DIRECTORY, b"PK\x01\x03")), {"SP416"}),
    "a member that begins in no header": (patched((DATA[0], b"PK\x03\x05")), {"SP416"}),
    "a member behind the record": (patched((DATA[1] + 42, struct.pack("<I", 2**31))), {"SP416"}),
    "a member longer than the record": (patched((DATA[1] + 20, struct.pack("<II", 2**31, 2**31))), {"SP416"}),
    "a compressed member": (patched((DATA[1] + 10, b"\x08")), {"SP416"}),
    "a member of two sizes": (patched((DATA[1] + 20, struct.pack("<II", 48, 47))), {"SP416"}),
    "no pickle": (patched((PICKLE[1] + 46 + len("archive/data."), b"qkl")), {"SP416"}),
    "a pickle that is none": (rewritten(b"data.pkl", b".", b"\xff"), {"SP416"}),
    "a pickle of another dtype": (rewritten(b"data.pkl", b"FloatStorage", b"ShortStorage"), {"SP415"}),
    "a pickle of another shape": (rewritten(b"data.pkl", b"K\x03K\x04\x86", b"K\x04K\x03\x86"), {"SP415"}),
    "fewer elements than the chunk has": (patched((DATA[1] + 20, struct.pack("<II", 44, 44))), {"SP415", "SP419"}),
    "one bit of an element": (patched((NUMBERS + 17, bytes([RECORD[NUMBERS + 17] ^ 1]))), {"SP419"}),
    "another checksum of the elements": (patched((DATA[1] + 16, b"\1\2\3\4")), {"SP419"}),
    # The rest of the longer name becomes an extra field.
    "two members of one name": (
        patched((LAST[1] + 28, struct.pack("<HH", 14, 16)), (LAST[1] + 46, b"archive/data/0")),
        {"SP416"},
    ),
}
"""What is wrong with the first record, seen by a deep look."""

UNCHECKED = patched((DATA[1] + 16, bytes(4)), (NUMBERS + 17, bytes([RECORD[NUMBERS + 17] ^ 1])))
"""Another bit in an element of a record that has no checksum for them."""
