"""DCP metadata as torch writes it, out of plain numbers and without torch."""

import pickle
import sys
import types
from unittest import mock

METADATA = "torch.distributed.checkpoint.metadata"


def _class(module, name):
    return type(name, (), {"__module__": module, "__qualname__": name})


NAMES = {
    METADATA: ["Metadata", "TensorStorageMetadata", "ChunkStorageMetadata", "TensorProperties", "MetadataIndex"],
    "torch.distributed.checkpoint.filesystem": ["_StorageInfo"],
}
CLASSES = {name: _class(module, name) for module, names in NAMES.items() for name in names}
CLASSES["BytesStorageMetadata"] = _class(METADATA, "BytesStorageMetadata")
CLASSES["Size"] = type("Size", (tuple,), {"__module__": "torch", "__qualname__": "Size", "__slots__": ()})
CLASSES["Size"].__reduce__ = lambda self: (CLASSES["Size"], (tuple(self),))


def _made(name, state):
    made = CLASSES[name]()
    made.__dict__.update(state)
    return made


class _Dtype:
    """A constant of torch, which a pickle names and does not make."""

    __module__ = "torch"

    def __init__(self, name):
        self.name = name

    def __reduce__(self):
        return self.name


def metadata(tensors, records, *, blobs=(), without=(), **other):
    """Pickle a `Metadata`.

    Parameters
    ----------
    tensors
        Shape and chunks, each offsets and sizes, by name; all are of float32.
    records
        (name, offset or None, file, first byte, number of bytes).
    blobs
        Names of entries that are not tensors.
    without
        Attributes that are left out, as older writers do.
    other
        Attributes that have other values.
    """
    size, float32 = CLASSES["Size"], _Dtype("float32")
    described = {}
    for name, (shape, chunks) in tensors.items():
        described[name] = _made(
            "TensorStorageMetadata",
            {
                "properties": _made(
                    "TensorProperties", {"dtype": float32, "requires_grad": False, "pin_memory": False}
                ),
                "size": size(shape),
                "chunks": [
                    _made("ChunkStorageMetadata", {"offsets": size(offsets), "sizes": size(sizes)})
                    for offsets, sizes in chunks
                ],
            },
        )
    described |= {name: _made("BytesStorageMetadata", {}) for name in blobs}
    stored = {}
    for name, offset, file, start, length in records:
        index = {"fqn": name, "index": None} | ({} if offset is None else {"offset": size(offset)})
        info = {"relative_path": file, "offset": start, "length": length}
        stored[_made("MetadataIndex", index)] = _made("_StorageInfo", info)
    state = {
        "state_dict_metadata": described,
        "planner_data": None,
        "storage_data": stored,
        "storage_meta": None,
        "version": "1.0.0",
    } | other
    parts = {module.rpartition(".")[0] for module in NAMES} | {"torch", "torch.distributed", *NAMES}
    modules = {name: types.ModuleType(name) for name in parts}
    for made in CLASSES.values():
        setattr(modules[made.__module__], made.__name__, made)
    modules["torch"].float32 = float32
    kept = {name: value for name, value in state.items() if name not in without}
    with mock.patch.dict(sys.modules, modules):
        return pickle.dumps(_made("Metadata", kept), protocol=4)
