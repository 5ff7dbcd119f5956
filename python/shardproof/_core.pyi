from collections.abc import Callable, Sequence
from typing import Literal, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from shardproof.findings import CoreRecord

__all__ = [
    "ArrayReader",
    "OffsetIndex",
    "Part",
    "Resolver",
    "SafetensorsHeader",
    "SafetensorsIndex",
    "__version__",
    "are_tables",
    "assemble_safetensors",
    "chunk_faults",
    "chunks_inside",
    "chunks_to_flat_range",
    "diff_layouts",
    "examine_archives",
    "examine_deepspeed",
    "finding_codes",
    "flat_range_to_chunks",
    "is_deepspeed",
    "local_faults",
    "megatron_backend",
    "orbax_step",
    "panic",
    "plan_cost",
    "plan_reads",
    "prove",
    "read_dcp",
    "read_deepspeed",
    "read_rows",
    "residue_salt",
    "residue_share",
    "shard_faults",
    "shards_inside",
    "slices",
    "tuples_inside",
]

_Table: TypeAlias = npt.NDArray[np.int64]
_Counted: TypeAlias = tuple[list[CoreRecord], dict[int, int]]

__version__: str

def finding_codes() -> list[tuple[int, str]]: ...
def panic(chunks: int | None = None) -> None: ...
def examine_archives(
    part: Part, file: int, size: int, failed: list[tuple[str, int]], read: Callable[[int, int], bytes | None]
) -> list[CoreRecord]: ...
def examine_deepspeed(name: str, size: int, read: Callable[[int, int], bytes]) -> CoreRecord | None: ...
def is_deepspeed(name: str) -> bool: ...
def read_deepspeed(files: list[tuple[str, int]], read: Callable[[str, int, int], bytes]) -> list[tuple[int, Part]]: ...
def megatron_backend(content: bytes) -> str | None: ...
def read_dcp(
    files: list[tuple[str, bytes]], megatron: bool
) -> tuple[Part, tuple[Literal["torch", "tensorplay", "version only"], bool, bool, list[str]]]: ...
def orbax_step(content: bytes) -> tuple[list[tuple[str, str]], bool]: ...

@final
class ArrayReader:
    def __new__(cls, files: list[tuple[str, int]], *, orbax: bool, deep: bool) -> ArrayReader: ...
    def ranges(self) -> list[tuple[str, int, int]]: ...
    def answer(self, answers: list[bytes | None]) -> None: ...
    def finish(self) -> tuple[Part, list[CoreRecord]]: ...

def read_rows(value: object, field: str, rank: int) -> tuple[_Table | list[tuple[int, ...]] | None, bool]: ...
def tuples_inside(
    global_shape: Sequence[int],
    global_offsets: tuple[object, ...],
    local_offsets: tuple[object, ...],
    local_sizes: tuple[object, ...],
    local_shape: Sequence[int],
) -> bool: ...
def are_tables(shapes: tuple[tuple[int, ...], ...], fields: tuple[object, ...]) -> bool: ...
def chunks_inside(shape: Sequence[int], offsets: _Table, sizes: _Table) -> bool: ...
def chunk_faults(
    shape: Sequence[int], offsets: _Table, sizes: _Table, positions: Sequence[int] | None, most: int
) -> _Counted: ...
def prove(
    shape: Sequence[int],
    offsets: _Table,
    sizes: _Table,
    positions: Sequence[int] | None,
    replicas: int | None,
    exact: bool,
    keys: bytes,
    most: int,
) -> tuple[tuple[bool, int | None, str, float] | None, int, int, bool, _Counted]: ...
def residue_share(
    fqn: str, dtype: str, shape: Sequence[int], offsets: _Table, sizes: _Table, keys: bytes
) -> tuple[int, int, int]: ...
def residue_salt(fqn: str, dtype: str, shape: Sequence[int], keys: bytes) -> int: ...
def shards_inside(
    global_shape: Sequence[int],
    global_offsets: _Table,
    local_sizes: _Table,
    local_shape: Sequence[int],
    local_offsets: _Table,
) -> bool: ...
def shard_faults(
    global_shape: Sequence[int],
    global_offsets: _Table,
    local_sizes: _Table,
    local_shape: Sequence[int],
    local_offsets: _Table,
    positions: Sequence[int] | None,
    most: int,
) -> _Counted: ...
def local_faults(
    global_shape: Sequence[int],
    global_offsets: _Table,
    local_sizes: _Table,
    local_shape: Sequence[int],
    local_offsets: _Table,
    positions: Sequence[int] | None,
    seed: int,
    most: int,
) -> _Counted: ...
def plan_reads(
    shape: Sequence[int],
    saved_offsets: _Table,
    saved_sizes: _Table,
    wanted_offsets: _Table,
    wanted_sizes: _Table,
    max_reads: int,
    most: int,
) -> tuple[tuple[_Table, _Table, _Table, _Table, _Table], _Counted, bool]: ...
def plan_cost(saved_sizes: _Table, saved_positions: _Table, lengths: _Table) -> tuple[int, int, int, int]: ...
def diff_layouts(
    shape: Sequence[int], left_offsets: _Table, left_sizes: _Table, right_offsets: _Table, right_sizes: _Table
) -> tuple[Literal["equal", "recut", "different"], tuple[_Table, _Table], tuple[_Table, _Table], bool]: ...
def flat_range_to_chunks(shape: Sequence[int], start: int, stop: int) -> tuple[_Table, _Table]: ...
def chunks_to_flat_range(shape: Sequence[int], offsets: _Table, sizes: _Table) -> tuple[int, int]: ...
def slices(local_offsets: _Table, local_sizes: _Table, position: int) -> tuple[slice, ...] | None: ...

@final
class OffsetIndex:
    def __new__(cls, offsets: _Table, sizes: _Table) -> OffsetIndex: ...
    def find(self, offset: tuple[int, ...], hint: int | None = None) -> int | None: ...
    def find_many(self, offsets: _Table) -> _Table: ...
    def memory_bytes(self) -> int: ...

@disjoint_base
class Resolver:
    _index: OffsetIndex | None
    def __new__(cls, *_args: object, **_named: object) -> Self: ...
    def resolve(self, wanted: object) -> int: ...

@final
class Part:
    def __len__(self) -> int: ...
    def fqns(self) -> list[str]: ...
    def tensor(self, number: int) -> tuple[tuple[int, ...], str, int | None, int]: ...
    def chunks(self, number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint32]]: ...
    def records(self, number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
    def rank(self) -> int: ...
    def chunk_count(self) -> int: ...
    def files(self) -> list[str]: ...
    def blobs(self) -> list[tuple[str, tuple[int, int, int] | None]]: ...
    def findings(self) -> list[CoreRecord]: ...
    def judge(
        self, sizes: list[tuple[str, int]], keys: bytes, most: int
    ) -> tuple[list[CoreRecord], dict[int, int]]: ...

@final
class SafetensorsHeader:
    def __new__(cls, path: str, start: bytes, size: int) -> SafetensorsHeader: ...
    @staticmethod
    def extent(start: bytes, size: int) -> int | None: ...
    @property
    def holds_pieces(self) -> bool: ...

@final
class SafetensorsIndex:
    def __new__(cls, path: str, content: bytes) -> SafetensorsIndex: ...
    def files(self) -> list[str]: ...

def assemble_safetensors(
    headers: Sequence[SafetensorsHeader],
    index: SafetensorsIndex | None,
    whole: Part | None,
    sizes: list[tuple[str, int]],
) -> Part: ...
