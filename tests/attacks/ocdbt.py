"""Hostile and faulty OCDBT databases, one for each way to be wrong, with the codes that name it."""

from __future__ import annotations

import json

from attacks.zarr import CHUNK, OLD, Files, crc32c

MANIFEST, NODE, VERSIONS = 0x0CDB3A2A, 0x0CDB20DE, 0x0CDB1234


def varint(number: int) -> bytes:
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def column(*numbers: int) -> bytes:
    return b"".join(map(varint, numbers))


def seal(magic: int, body: bytes, *, compression: int = 0, version: int = 0, longer: int = 0, damage: int = 0) -> bytes:
    """Put a body in an envelope, which may be wrong in one way or another."""
    head = magic.to_bytes(4, "big") + (len(body) + 18 + longer).to_bytes(8, "little")
    sealed = head + bytes([version, compression]) + body
    return sealed + (crc32c(sealed) ^ damage).to_bytes(4, "little")


def paths(*names: str | bytes) -> bytes:
    """Write a table of files; nothing is shared, and all lie in the directory of the manifest."""
    encoded = [name.encode() if isinstance(name, str) else name for name in names]
    zeros = bytes(max(len(names) - 1, 0))
    return column(len(names)) + zeros + column(*map(len, encoded)) + bytes(len(names)) + b"".join(encoded)


def settings(*, kind: int = 0, compression: bytes = b"\0") -> bytes:
    return bytes(16) + column(kind, 1024, 10**8) + b"\4" + compression


def manifest(
    length: int,
    *,
    file: str | bytes = "d/1",
    start: int = 0,
    height: int = 0,
    generations: tuple[int, ...] = (1,),
    number: int = 0,
    behind: bytes = b"",
    head: bytes | None = None,
) -> bytes:
    """Write a manifest whose versions all have their root in one place."""
    count = len(generations)
    body = (head or settings()) + paths(file) + column(count, *generations) + bytes([height] * count)
    body += column(*[number] * count, *[start] * count, *[length] * count) + bytes([1] * count) + bytes(2 * count)
    return body + bytes(8 * count) + b"\0" + behind


Values = dict[bytes, bytes | tuple[int, int, int]]


def leaf(values: Values, *, files: tuple[str | bytes, ...] = (), height: int = 0, kind: int | None = None) -> bytes:
    """Write a leaf: values in place, or the number of a file, the first byte and the number of bytes."""
    out = [value for value in values.values() if isinstance(value, tuple)]
    body = bytes([height]) + paths(*files) + column(len(values)) + bytes(max(len(values) - 1, 0))
    body += column(*map(len, values)) + b"".join(values)
    body += column(*(value[2] if isinstance(value, tuple) else len(value) for value in values.values()))
    body += bytes(isinstance(value, tuple) if kind is None else kind for value in values.values())
    body += column(*(number for number, _, _ in out), *(start for _, start, _ in out))
    return body + b"".join(value for value in values.values() if isinstance(value, bytes))


def interior(*children: tuple[bytes, int, int, int], files: tuple[str, ...] = ("d/2",), height: int = 1) -> bytes:
    """Write a node above others, of which each is a key, the length of a prefix, the first byte and a length."""
    keys, prefixes, starts, lengths = zip(*children, strict=True)
    count = len(children)
    body = bytes([height]) + paths(*files) + column(count) + bytes(count - 1) + column(*map(len, keys), *prefixes)
    return body + b"".join(keys) + bytes(count) + column(*starts, *lengths) + bytes([1] * 3 * count)


ARRAY = json.dumps(OLD | {"shape": [4], "chunks": [2]}).encode()
VALUES: Values = {b"a/.zarray": ARRAY, b"a/0": CHUNK[:8], b"a/1": CHUNK[:8]}
LEAF = leaf(VALUES)


def database(root: bytes = LEAF, more: Files | None = None, **options: object) -> Files:
    """Build a database of one root, whose body is given; options are those of the manifest."""
    node = seal(NODE, root)
    return {"d/1": node, "manifest.ocdbt": seal(MANIFEST, manifest(len(node), **options)), **(more or {})}  # type: ignore[arg-type]


def with_manifest(content: bytes) -> Files:
    return {"d/1": seal(NODE, LEAF), "manifest.ocdbt": content}


def with_root(content: bytes) -> Files:
    return {"d/1": content, "manifest.ocdbt": seal(MANIFEST, manifest(len(content)))}


def below(key: bytes, prefix: int, values: Values, **options: object) -> Files:
    """Build a database of a root with one leaf below."""
    node = seal(NODE, leaf(values, **options))  # type: ignore[arg-type]
    return database(interior((key, prefix, 0, len(node))), {"d/2": node}, height=1)


def bomb(blocks: int) -> bytes:
    """Write a Zstandard frame of blocks that each say one byte 2^17 times, in four bytes."""
    each = (1 << 17) << 3 | 1 << 1
    said = [each] * (blocks - 1) + [each | 1]
    return bytes.fromhex("28b52ffd0038") + b"".join(block.to_bytes(3, "little") + b"\0" for block in said)


BODY = manifest(len(seal(NODE, LEAF)))
TWO = {b"a/.zarray": ARRAY, b"a/0": CHUNK[:8], b"a/1": (0, 0, 8)}

SOUND: dict[str, Files] = {
    "one_leaf": database(),
    "leaf_below_a_root": below(b"a/.zarray", 0, VALUES),
    "leaf_with_a_prefix": below(b"a/.zarray", 2, {key[2:]: value for key, value in VALUES.items()}),
    "value_out_of_line": database(leaf(TWO, files=("d/9",)), {"d/9": bytes(8)}),
    "two_versions": database(generations=(1, 2)),
}
"""What the attacks are made from: nothing is wrong with it."""

ATTACKS: dict[str, tuple[Files, set[str]]] = {
    "manifest_empty": (with_manifest(b""), {"SP421"}),
    "manifest_short": (with_manifest(b"\x0c\xdb\x3a"), {"SP421"}),
    "manifest_cut": (with_manifest(seal(MANIFEST, BODY)[:-5]), {"SP421"}),
    "manifest_cut_and_sealed": (with_manifest(seal(MANIFEST, BODY[:-5])), {"SP421"}),
    "manifest_with_bytes_behind": (with_manifest(seal(MANIFEST, BODY + b"x")), {"SP421"}),
    "manifest_of_another_kind": (with_manifest(seal(NODE, BODY)), {"SP421"}),
    "manifest_of_another_length": (with_manifest(seal(MANIFEST, BODY, longer=1)), {"SP421"}),
    "manifest_damaged": (with_manifest(seal(MANIFEST, BODY, damage=1)), {"SP421"}),
    "manifest_of_a_newer_format": (with_manifest(seal(MANIFEST, BODY, version=1)), {"SP617"}),
    "manifest_compressed_otherwise": (with_manifest(seal(MANIFEST, BODY, compression=2)), {"SP617"}),
    "manifest_not_zstd": (with_manifest(seal(MANIFEST, BODY, compression=1)), {"SP421"}),
    "manifest_of_an_unknown_kind": (database(head=settings(kind=2)), {"SP617"}),
    "manifest_with_unknown_compression": (database(head=settings(compression=b"\2")), {"SP617"}),
    "manifest_numbered_and_no_number": (with_manifest(seal(MANIFEST, settings(kind=1))), {"SP421"}),
    "manifest_numbered_again": (
        with_manifest(seal(MANIFEST, settings(kind=1))) | {f"manifest.{1:016x}": seal(MANIFEST, settings(kind=1))},
        {"SP617"},
    ),
    "manifest_without_versions": (database(generations=()), {"SP421"}),
    "manifest_with_more_versions_than_its_arity": (database(generations=tuple(range(1, 18))), {"SP421"}),
    "manifest_with_2_to_62_versions": (
        with_manifest(seal(MANIFEST, settings() + paths("d/1") + varint(2**62))),
        {"SP421"},
    ),
    "versions_out_of_order": (database(generations=(2, 1)), {"SP421"}),
    "version_twice": (database(generations=(1, 1)), {"SP421"}),
    "number_beyond_64_bits": (with_manifest(seal(MANIFEST, bytes(16) + b"\xff" * 10 + b"\1")), {"SP421"}),
    "file_of_no_table": (database(number=1), {"SP421"}),
    "path_not_utf8": (database(file=b"d/\xff"), {"SP421"}),
    "path_of_70000_bytes": (database(file="d" * 70_000), {"SP421"}),
    "path_outside": (database(file="../1"), {"SP414"}),
    "path_absolute": (database(file="/etc/passwd"), {"SP414"}),
    "root_missing": (database(file="d/2"), {"SP403"}),
    "root_beyond_file": (database(start=1), {"SP408"}),
    "root_beyond_64_bits": (database(start=2**64 - 2), {"SP408"}),
    "node_of_another_kind": (with_root(seal(VERSIONS, LEAF)), {"SP422"}),
    "node_cut": (with_root(seal(NODE, LEAF[:-1])), {"SP422"}),
    "node_with_bytes_behind": (database(LEAF + b"x"), {"SP422"}),
    "node_damaged": (with_root(seal(NODE, LEAF, damage=1)), {"SP422"}),
    "node_of_a_newer_format": (with_root(seal(NODE, LEAF, version=1)), {"SP617"}),
    "node_not_zstd": (with_root(seal(NODE, LEAF, compression=1)), {"SP422"}),
    "node_that_expands_to_13_megabytes": (with_root(seal(NODE, bomb(100), compression=1)), {"SP422"}),
    "manifest_that_expands_to_13_gigabytes": (with_manifest(seal(MANIFEST, bomb(100_000), compression=1)), {"SP421"}),
    "node_of_another_height": (database(height=1), {"SP422"}),
    "node_without_keys": (database(leaf({})), {"SP422"}),
    "keys_out_of_order": (database(leaf({b"b": b"", b"a": b""})), {"SP422"}),
    "value_of_an_unknown_kind": (database(leaf(VALUES, kind=2)), {"SP617"}),
    "value_of_2_to_62_bytes": (
        database(bytes([0]) + paths() + column(1, 1) + b"k" + varint(2**62) + b"\0"),
        {"SP422"},
    ),
    "value_in_no_file": (database(leaf(TWO)), {"SP422"}),
    "value_file_missing": (database(leaf(TWO, files=("d/9",))), {"SP403"}),
    "value_outside": (database(leaf(TWO, files=("../9",))), {"SP414"}),
    "value_beyond_file": (database(leaf(TWO, files=("d/9",)), {"d/9": bytes(7)}), {"SP408"}),
    "keys_not_those_of_the_parent": (below(b"b", 0, VALUES), {"SP422"}),
    "prefix_longer_than_the_key": (below(b"a", 2, VALUES), {"SP422"}),
    "height_not_that_of_the_parent": (below(b"a/.zarray", 0, VALUES, height=1), {"SP422"}),
    "node_below_itself": (
        database(interior((b"a", 0, 0, 10), files=("d/1",)), height=1),
        {"SP422"},
    ),
    "one_node_twice": (
        database(interior((b"a", 0, 0, 200), (b"b", 0, 0, 200)), {"d/2": seal(NODE, LEAF).ljust(200, b"\0")}, height=1),
        {"SP422"},
    ),
    "node_below_missing": (database(interior((b"a", 0, 0, 200)), height=1), {"SP403"}),
}
"""Name of the attack: the files, and the codes of all errors and warnings that they deserve when looked at deeply."""
