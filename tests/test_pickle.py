"""The pickle machine beside Python's pickle module, whose classes only record what would be made."""

import json
import pickle
import pickletools
import random
import shutil
import struct
import subprocess
from collections import Counter, OrderedDict
from fractions import Fraction
from pathlib import Path

import pytest
import recorded
import samples
from attacks import dcp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from shardproof import errors
from shardproof.checkpoint import check_checkpoint, open_checkpoint

ROOT = Path(__file__).parent.parent
CARGO = shutil.which("cargo")


class Machine:
    """The core's machine in a process that writes down what pickles hold."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, content):
        self.process.stdin.write(struct.pack("<Q", len(content)) + content)
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        if "refused" not in told:
            told["holds"] = recorded.told(told["holds"])
        return told

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()


@pytest.fixture(scope="module")
def machine():
    if CARGO is None or not (ROOT / "rust/core/examples/pickle_dump.rs").is_file():
        pytest.skip("the machine is asked through an example, which needs cargo and the sources")
    command = [CARGO, "build", "--profile", "test", "--package", "shardproof-core", "--example", "pickle_dump"]
    built = subprocess.run([*command, "--message-format", "json"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    programs = [json.loads(line).get("executable") for line in built.stdout.splitlines()]
    machine = Machine(next(filter(None, programs)))
    yield machine
    machine.close()


class Plain:
    def __init__(self, state):
        self.__dict__.update(state)


class Slotted:
    __slots__ = ("here", "there")

    def __init__(self, here, there):
        self.here, self.there = here, there

    def __getstate__(self):
        return None, {"here": self.here, "there": self.there}


class Built:
    def __init__(self, *arguments, **keywords):
        self.made = arguments, keywords

    def __getnewargs_ex__(self):
        return self.made

    def __getstate__(self):
        return None

    def __new__(cls, *_arguments, **_keywords):
        return super().__new__(cls)


BOUNDS = [-1, 0, 255, 256, 65535, 65536, 2**30, 2**31, 2**32, 2**62, 2**63, 2**64, 2**127, 2**2040]
INTEGERS = st.integers() | st.builds(
    lambda bound, sign, step: sign * bound + step,
    st.sampled_from(BOUNDS),
    st.sampled_from([-1, 1]),
    st.integers(-1, 1),
)
TEXTS = st.text(st.characters(codec=None, exclude_categories=())) | st.sampled_from(
    ["", "a" * 255, "é" * 300, "\ud800"]
)
LEAVES = st.one_of(st.none(), st.booleans(), INTEGERS, st.floats(allow_nan=False), TEXTS, st.binary())
HASHABLE = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4), max_leaves=8
)


def _containers(inner):
    return st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=5),
        st.dictionaries(st.text(), inner, max_size=5).map(Plain),
        st.dictionaries(st.text(), inner, max_size=5).map(OrderedDict),
        st.builds(Slotted, inner, inner),
        st.builds(Built, inner, word=inner),
        inner.map(lambda shared: [shared, (shared, [shared]), shared]),
        inner.map(_in_itself),
    )


def _in_itself(inner):
    ring = [inner]
    ring.append((ring, {"ring": ring}))
    return ring


MORE = st.one_of(
    st.sets(HASHABLE, max_size=6),
    st.fractions(),
    st.complex_numbers(allow_nan=False),
    st.binary().map(bytearray),
    st.integers(999, 2001).map(lambda length: list(range(length))),
    st.integers(999, 2001).map(lambda length: dict.fromkeys(range(length))),
    st.integers(999, 2001).map(lambda length: set(range(length))),
    st.sampled_from([dict, Plain, len, Fraction]),
)
DATA = st.recursive(LEAVES | HASHABLE | MORE, _containers, max_leaves=12)


def pickles(value, protocol):
    """Pickle in each way that there is: the module's C code, its Python code, and with what is needless left out."""
    quick = pickle.dumps(value, protocol)
    return [quick, pickle._dumps(value, protocol), pickletools.optimize(quick)]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DATA, st.integers(0, pickle.HIGHEST_PROTOCOL))
@example([float("nan"), -0.0, float("inf")], 4)
@example([[]] * 300, 0)
def test_the_machine_sees_what_pickle_loads(machine, value, protocol):
    for content in pickles(value, protocol):
        wanted = recorded.dump(recorded.load(content))
        told = machine(content + b"behind")
        assert told == {"holds": wanted, "length": len(content)}, content


def damaged(chance, content, others):
    content = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 4])):
        at = chance.randrange(len(content) + 1)
        match chance.randrange(5):
            case 0 if at < len(content):
                content[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(content):
                content[at] = chance.choice(b"().012]}NKMJXlq\x85\x86\x87\x88\x89\x8c\x8f\x90\x91\x93\x94Rbceh0tuas")
            case 2:
                del content[at : at + chance.randrange(1, 6)]
            case 3:
                other = chance.choice(others)
                start = chance.randrange(len(other))
                content[at:at] = other[start : start + chance.randrange(1, 20)]
            case _:
                content[at:at] = content[at : at + chance.randrange(1, 20)]
        if not content:
            return b"."
    return bytes(content)


ABOUT_OBJECTS = {
    "list index out of range",  # a key without a value for a class
    "pickle data was truncated",  # a class without a name
    "NEWOBJ args argument must be a tuple, not list",
}

SEEDS = [
    [1, 300, 70000, -5, 2**31, 2**63, 2**70, 1.5, None, True, False, "text", b"bytes", (), (1,), (1, 2), (1, 2, 3)],
    {"a": {1, 2}, "b": frozenset({3}), "c": {"d": []}, (1, 2, 3, 4): [[]] * 3},
    [Plain({"x": 1}), OrderedDict(a=1), Slotted(1, 2), Built(1, word=2), Fraction(1, 3), bytearray(b"x")],
]


def test_what_the_machine_takes_of_damaged_pickles_is_what_pickle_loads(machine):
    chance = random.Random(4)
    seeds = [content for value in SEEDS for protocol in range(6) for content in pickles(value, protocol)]
    outcomes = Counter()
    for _ in range(6_000):
        content = damaged(chance, chance.choice(seeds), seeds)
        told = machine(content)
        refused = "refused" in told
        try:
            loaded = recorded.load_damaged(content)
            if not refused:  # so no memo index is beyond measure, and the module's C code may try too
                recorded.load(content)
        except Exception as raised:  # noqa: BLE001 -- anything may be raised
            error = raised
        else:
            error = None
        outcomes[refused, error is not None] += 1
        if not refused and error is None:
            assert told["holds"] == recorded.dump(loaded), content
        elif not refused:
            # Objects cannot do what the pickle wants of them: to the machine, which makes none, that is nothing wrong.
            assert isinstance(error, (TypeError, AttributeError)) or str(error) in ABOUT_OBJECTS, (error, content)
    assert outcomes[False, False] > 800
    assert outcomes[True, True] > 4000
    # Frames that end elsewhere, memo indexes beyond measure, attributes for what has none.
    assert outcomes[True, False] + outcomes[False, True] < 300


METADATA = sorted(samples.collection().rglob("*.metadata"))


def attributes(record):
    """Attributes of an instance; those that were reconstructed are told by what they were built with."""
    (state,) = record.state
    return state


def numbers(size):
    if isinstance(size, recorded.Record):
        (size,) = size.arguments
    return tuple(size)


def class_of(record):
    callee = record.callee
    if callee.path.endswith("._reconstructor"):
        callee = record.arguments[0]
    return callee.path.rpartition(".")[2]


def dtype_of(properties):
    state = attributes(properties)
    dtype = state["dtype"] if isinstance(state, dict) else state[0]
    return dtype.path.rpartition(".")[2] if isinstance(dtype, type) else None


def in_64_bits(*numbers):
    return all(-(2**63) <= number < 2**63 for number in numbers)


def columns(metadata):
    """Everything that metadata says of tensors and entries, in the order in which it does."""
    metadata = attributes(metadata)
    places = {}
    for key, value in (metadata["storage_data"] or {}).items():
        index, record = attributes(key), attributes(value)
        chunk = index["fqn"], None if index.get("offset") is None else numbers(index["offset"])
        place = record["relative_path"], record.get("offset", 0), record.get("length", 0)
        places[chunk] = place if in_64_bits(*place[1:]) else (place[0], 0, 0)
    tensors, blobs = {}, []
    for fqn, value in metadata["state_dict_metadata"].items():
        if class_of(value) == "BytesStorageMetadata":
            blobs.append(fqn)
            continue
        entry = attributes(value)
        shape, chunks = numbers(entry["size"]), []
        if not in_64_bits(*shape):
            continue
        for position, chunk in enumerate(entry["chunks"]):
            offsets, sizes = (numbers(attributes(chunk)[name]) for name in ("offsets", "sizes"))
            if len(offsets) == len(sizes) == len(shape) and in_64_bits(*offsets, *sizes):
                chunks.append((position, offsets, sizes, places.get((fqn, offsets), (None, 0, 0))))
        tensors[fqn] = shape, dtype_of(entry["properties"]), chunks
    return tensors, tuple(blobs)


def ours(checkpoint, dtypes):
    tensors = {}
    for fqn, tensor in checkpoint.tensors.items():
        storage = tensor.storage
        places = zip(storage.paths, storage.byte_offsets.tolist(), storage.byte_lengths.tolist(), strict=True)
        boxes = (map(tuple, column.tolist()) for column in tensor.boxes)
        chunks = list(zip(tensor.positions.tolist(), *boxes, places, strict=True))
        tensors[fqn] = tensor.global_shape, tensor.dtype if dtypes.get(fqn) else None, chunks
    return tensors, checkpoint.parts[""].blobs


def test_every_column_of_sample_metadata_is_what_pickle_loads(tmp_path):
    read = Counter()
    for number, path in enumerate(METADATA):
        directory = tmp_path / str(number)
        directory.mkdir()
        content = path.read_bytes()
        (directory / ".metadata").write_bytes(content)
        try:
            wanted = columns(recorded.load_damaged(content))
        except Exception:  # noqa: BLE001 -- broken samples raise anything
            wanted = None
        try:
            checkpoint = open_checkpoint(directory)
        except errors.ShardproofError:
            refused = set(check_checkpoint(directory).findings.counts)
            # What pickle reads all the same runs code, or takes more than it should.
            assert wanted is None or refused & {"SP605", "SP606", "SP608", "SP609"}, (path, refused)
            read["refused by both" if wanted is None else "refused by us"] += 1
            continue
        if wanted is None:
            assert "SP603" in check_checkpoint(directory).findings.counts, path
            read["faulty to both"] += 1
            continue
        dtypes = {fqn: dtype for fqn, (_, dtype, _) in wanted[0].items()}
        assert ours(checkpoint, dtypes) == wanted, path
        read["equal"] += 1
    assert read["equal"] >= 40
    assert read["refused by both"] >= 9
    assert read["refused by us"] >= 2


DEEPEST = 254
"""Containers that may lie in one another."""

ELSEWHERE = {
    "no bytes": 0,
    "text": 0,
    "an archive": 0,
    "a protocol that does not exist": 0,
    "nothing to build": dcp.START + 1,
    "nothing to append to": dcp.START + 1,
    "items without a mark": dcp.START + 3,
    "items of half a pair": dcp.START + 3,
    "a buffer from elsewhere, read-only": dcp.START + 1,
    "an object by its key elsewhere": dcp.START + 1,
    # One level for each opcode: the one that is too many is named.
    "lists in lists": dcp.START + dcp.NESTED + DEEPEST,
    "tuples in tuples": dcp.START + 1 + DEEPEST,
}
"""Opcodes that cannot be followed and are not the first one behind the protocol."""

CALLS = {name: dcp.START + len(opcodes) - 2 for name, (opcodes, _) in dcp.CALLED.items()}
CALLS |= {"os.system, an instance": dcp.START + dcp.CALLED["os.system, an instance"][0].index(b"ios\n")}


def sentences(directory, files):
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return [finding.sentence for finding in check_checkpoint(directory).findings if finding.file == ".metadata"]


# What follows the end is no opcode; what cannot be memorized is told at the opcode before.
@pytest.mark.parametrize("name", sorted(dcp.REFUSED.keys() - {"bytes after the end", "nothing to memorize"}))
def test_a_refusal_says_at_which_byte_the_opcode_is(name, tmp_path):
    told, *_ = sentences(tmp_path, dcp.REFUSED[name][0])
    assert told.startswith(f"byte {ELSEWHERE.get(name, dcp.START)}: ")


@pytest.mark.parametrize("name", dcp.CALLED)
def test_a_call_is_named_at_the_byte_of_the_opcode_that_would_make_it(name, tmp_path):
    opcodes, callee = dcp.CALLED[name]
    told, *_ = sentences(tmp_path, dcp.injected(opcodes))
    assert told == f"byte {CALLS[name]}: it would call {callee}, which no metadata does"


@pytest.mark.parametrize("name", dcp.NAMED)
def test_an_unknown_name_is_told_at_the_byte_where_it_is_looked_up(name, tmp_path):
    opcodes, callee = dcp.NAMED[name]
    told, *_ = sentences(tmp_path, dcp.injected(opcodes))
    assert told == f"byte {dcp.START}: it names {callee}, which is not known; nothing was imported"


def test_places_are_known_of_nearly_all_refusals():
    assert len(dcp.REFUSED) + len(dcp.CALLED) + len(dcp.NAMED) >= 52
    assert ELSEWHERE.keys() <= dcp.REFUSED.keys()
