"""Hostile and faulty safetensors files, one for each way to be wrong, with the codes that name it."""

from __future__ import annotations

import json
from typing import Any

Entries = dict[str, Any]


def file(header: object, data: int = 0, *, length: int | None = None) -> bytes:
    """Build a file of a header, which is text or will be JSON, and of as many zero bytes of data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    declared = len(text) if length is None else length
    return declared.to_bytes(8, "little") + text + bytes(data)


def tensor(dtype: str, shape: Any, begin: Any, end: Any) -> Entries:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def twice(first: Entries, second: Entries) -> bytes:
    """Build a header that has the name ``a`` twice, which no JSON library writes."""
    return b'{"a":' + json.dumps(first).encode() + b',"a":' + json.dumps(second).encode() + b"}"


A = tensor("F32", [2], 0, 8)

ATTACKS: dict[str, tuple[bytes, set[str]]] = {
    "empty": (b"", {"SP404"}),
    "five_bytes": (b"\2\0\0\0\0", {"SP611"}),
    "length_zero": (file(b""), {"SP611"}),
    "length_beyond_file": (file({}, length=3), {"SP610"}),
    "length_huge": (file({}, length=2**63), {"SP610"}),
    "not_utf8": (file(b'{"\xff":1}'), {"SP611"}),
    "not_json": (file(b"{'a': 1}"), {"SP611"}),
    "not_an_object": (file([]), {"SP611"}),
    "nul_padding": (file(json.dumps({"a": A}).encode() + b"\0\0\0", 8), {"SP611"}),
    "nested_100000_deep": (file(b'{"a":' + b"[" * 100_000), {"SP611"}),
    "metadata_of_numbers": (file({"__metadata__": {"a": 1}}), {"SP611"}),
    "name_twice_other_range": (file(twice(A, tensor("F32", [2], 8, 16)), 16), {"SP612"}),
    "name_twice_same_range": (file(twice(A, A), 8), {"SP612"}),
    "hole_in_front": (file({"a": tensor("F32", [2], 4, 12)}, 12), {"SP417"}),
    "hole_between": (file({"a": A, "b": tensor("F32", [2], 12, 20)}, 20), {"SP417"}),
    "overlap": (file({"a": A, "b": tensor("F32", [2], 4, 12)}, 12), {"SP411"}),
    "alias": (file({"a": A, "b": A}, 8), {"SP411"}),
    "trailing_bytes": (file({"a": A}, 12), {"SP407"}),
    "short_file": (file({"a": A}, 4), {"SP408"}),
    "size_too_small": (file({"a": tensor("F32", [1000, 1000], 0, 4)}, 4), {"SP418"}),
    "size_zero_of_2_to_62": (file({"a": tensor("BOOL", [2**62], 0, 0)}), {"SP418"}),
    "size_zero": (file({"a": tensor("F32", [1], 0, 0)}), {"SP418"}),
    "empty_inside_another": (file({"a": A, "e": tensor("F32", [0], 4, 4)}, 8), {"SP411"}),
    "offsets_reversed": (file({"a": tensor("F32", [2], 8, 0)}, 8), {"SP409"}),
    "offsets_negative": (file({"a": tensor("F32", [2], -8, 0)}, 8), {"SP409"}),
    "offsets_float": (file({"a": tensor("F32", [2], 0.0, 8)}, 8), {"SP611"}),
    "offsets_text": (file({"a": tensor("F32", [2], "0", "8")}, 8), {"SP611"}),
    "offsets_beyond_64_bits": (file({"a": tensor("U8", [1], 2**64, 2**64 + 1)}), {"SP410"}),
    "offset_three": (file({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 8]}}, 8), {"SP611"}),
    "shape_negative": (file({"a": tensor("F32", [-2], 0, 8)}, 8), {"SP104"}),
    "shape_product_wraps": (file({"a": tensor("F32", [2**32, 2**32], 0, 0)}), {"SP106"}),
    "shape_product_wraps_before_a_zero": (file({"a": tensor("U8", [2**62, 4, 0], 0, 0)}), {"SP106"}),
    "shape_beyond_64_bits": (file({"a": tensor("U8", [2**63 + 2, 2], 0, 4)}, 4), {"SP106"}),
    "shape_of_booleans": (file({"a": tensor("F32", [True], 0, 4)}, 4), {"SP611"}),
    "shape_of_1000_dimensions": (file({"a": tensor("U8", [1] * 1000, 0, 1)}, 1), {"SP609"}),
    "dtype_unknown": (file({"a": tensor("F99", [2], 0, 8)}, 8), {"SP613"}),
    "dtype_unknown_range_reversed": (file({"a": tensor("F99", [2], 16, 8)}, 16), {"SP613", "SP409"}),
    "dtype_a_number": (file({"a": tensor(1, [2], 0, 8)}, 8), {"SP611"}),  # type: ignore[arg-type]
    "dtype_twice": (file(b'{"a":{"dtype":"F32","dtype":"I8","shape":[4],"data_offsets":[0,4]}}', 4), {"SP611"}),
}
"""Name of the attack: the file, and the codes of all errors that it deserves."""
