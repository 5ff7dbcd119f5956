"""DeepSpeed ZeRO checkpoints as their processes write them, without torch, and ways in which they are faulty."""

from __future__ import annotations

import io
import math
import struct
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Shapes = list[dict[str, tuple[int, ...]]]

PARAMETERS: Shapes = [{"a": (5, 7), "b": (5,)}, {"c": (3, 5), "d": ()}]
"""Two groups: of 40 and of 16 elements."""


@dataclass(frozen=True)
class Global:
    """A name: of a value, or of what is called or instantiated with `arguments` or `state`."""

    path: str
    arguments: tuple[Any, ...] | None = None
    state: dict[str, Any] | None = None


@dataclass(frozen=True)
class Tensor:
    """A flat tensor of float32 that has a storage of its own, unless it starts behind another's first element."""

    elements: int
    held: int | None = None
    offset: int = 0
    storage: str = "FloatStorage"


class Pickler:
    """Writes protocol 2 without importing what it names; gathers the storages of tensors."""

    def __init__(self, root: object) -> None:
        self.storages: list[int] = []
        self._out = io.BytesIO()
        self._out.write(b"\x80\x02")
        self._save(root)
        self._out.write(b".")
        self.content = self._out.getvalue()

    def _save(self, value: object) -> None:
        match value:
            case None:
                self._out.write(b"N")
            case bool():
                self._out.write(b"\x88" if value else b"\x89")
            case int():
                little = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
                self._out.write(b"\x8a" + bytes([len(little)]) + little)
            case float():
                self._out.write(b"G" + struct.pack(">d", value))
            case str():
                text = value.encode()
                self._out.write(b"X" + len(text).to_bytes(4, "little") + text)
            case bytes():
                self._out.write(value)
            case tuple():
                self._out.write(b"(")
                self._all(value)
                self._out.write(b"t")
            case list():
                self._out.write(b"](")
                self._all(value)
                self._out.write(b"e")
            case Mapping():
                self._out.write(b"}(")
                for pair in value.items():
                    self._all(pair)
                self._out.write(b"u")
            case Global():
                self._global(value)
            case Tensor():
                self._tensor(value)
            case _:
                raise TypeError(value)

    def _all(self, values: Iterable[object]) -> None:
        for value in values:
            self._save(value)

    def _global(self, value: Global) -> None:
        module, _, name = value.path.rpartition(".")
        self._out.write(f"c{module}\n{name}\n".encode())
        if value.arguments is not None:
            self._save(value.arguments)
            self._out.write(b"R")
        if value.state is not None:
            self._out.write(b")\x81")
            self._save(value.state)
            self._out.write(b"b")

    def _tensor(self, value: Tensor) -> None:
        elements = value.offset + value.elements
        self._out.write(b"ctorch._utils\n_rebuild_tensor_v2\n(")
        self._all([("storage", Global(f"torch.{value.storage}"), str(len(self.storages)), "cpu", elements)])
        self._out.write(b"Q")
        self._all([value.offset, (value.elements,), (1,), False, Global("collections.OrderedDict", ())])
        self._out.write(b"tR")
        self.storages.append(4 * (elements if value.held is None else value.held))


def write(path: Path, state: object) -> None:
    """Write what torch.save would write."""
    pickler = Pickler(state)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{path.stem}/data.pkl", pickler.content)
        archive.writestr(f"{path.stem}/byteorder", "little")
        for number, size in enumerate(pickler.storages):
            archive.writestr(f"{path.stem}/data/{number}", bytes(index % 251 for index in range(size)))
        archive.writestr(f"{path.stem}/version", "3\n")


def model(world: int, shapes: Shapes | None = None, **more: Any) -> dict[str, Any]:
    """Make the state of a file about the model."""
    sizes = PARAMETERS if shapes is None else shapes
    groups = [{name: Global("torch.Size", (shape,)) for name, shape in group.items()} for group in sizes]
    return {"module": {}, "param_shapes": groups, "dp_world_size": world, "mp_world_size": 1, **more}


def fragment(start: int, elements: int) -> Global:
    return Global("deepspeed.utils.tensor_fragment.fragment_address", state={"numel": elements, "start": start})


def cut(world: int, process: int, shapes: Shapes | None = None, stage: int = 2) -> dict[str, Any]:
    """Make the state of a process's optimizer at stages 1 and 2."""
    partitions, paddings, maps = [], [], []
    for group in PARAMETERS if shapes is None else shapes:
        total = sum(math.prod(shape) for shape in group.values())
        size = -(-total // (2 * world)) * 2
        first, last = process * size, min((process + 1) * size, total)
        held, at = {}, 0
        for name, shape in group.items():
            end = at + math.prod(shape)
            if max(at, first) < min(end, last):
                held[name] = fragment(max(at, first) - first, min(end, last) - max(at, first))
            at = end
        partitions.append(Tensor(max(last - first, 0)))
        paddings.append(size - max(last - first, 0))
        maps.append(held)
    return {
        "zero_stage": Global("deepspeed.runtime.zero.config.ZeroStageEnum", (stage,)),
        "partition_count": [world] * len(partitions),
        "single_partition_of_fp32_groups": partitions,
        "group_paddings": paddings,
        "param_slice_mappings": maps,
    }


def share(world: int, shapes: Shapes | None = None) -> dict[str, Any]:
    """Make the state of a process's optimizer at stage 3."""
    groups = PARAMETERS if shapes is None else shapes
    flat = [Tensor(sum(-(-math.prod(shape) // world) for shape in group.values())) for group in groups]
    return {"zero_stage": 3, "partition_count": world, "fp32_flat_groups": flat}


@dataclass
class Checkpoint:
    """States by name of file, in one tag, to be changed before they are written."""

    models: list[dict[str, Any]]
    optimizers: list[dict[str, Any]]
    stage: int
    latest: str = "global_step1"
    tag: str = "global_step1"
    slice: int = 0

    @classmethod
    def of(cls, stage: int, world: int, shapes: Shapes | None = None) -> Checkpoint:
        if stage == 3:
            return cls(
                [model(world, shapes) for _ in range(world)], [share(world, shapes) for _ in range(world)], stage
            )
        return cls([model(world, shapes)], [cut(world, process, shapes, stage) for process in range(world)], stage)

    def write(self, directory: Path) -> Path:
        """Write everything; the directory of the tag."""
        tag = directory / self.tag
        for process, state in enumerate(self.models):
            which = f"zero_pp_rank_{process}_" if self.stage == 3 else ""
            write(tag / f"{which}mp_rank_{self.slice:02}_model_states.pt", state)
        for process, state in enumerate(self.optimizers):
            path = tag / f"zero_pp_rank_{process}_mp_rank_{self.slice:02}_optim_states.pt"
            write(path, {"optimizer_state_dict": state, "ds_version": "0.19.8"})
        (directory / "latest").write_text(self.latest)
        return tag
