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
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

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
    st.fractions().map(lambda number: Fraction(number)),
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
        try:
            loaded = recorded.load_damaged(content)
            if "refused" not in told:  # so no memo index is beyond measure, and the module's C code may try too
                recorded.load(content)
        except Exception as error:  # noqa: BLE001 -- anything may be raised
            outcomes["both refuse" if "refused" in told else "machine takes"] += 1
            # Objects cannot do what the pickle wants of them: to the machine, which makes none, that is nothing wrong.
            if "refused" not in told:
                assert isinstance(error, (TypeError, AttributeError)) or str(error) in ABOUT_OBJECTS, (error, content)
            continue
        outcomes["pickle takes" if "refused" in told else "both take"] += 1
        if "refused" not in told:
            assert told["holds"] == recorded.dump(loaded), content
    assert outcomes["both take"] > 800
    assert outcomes["both refuse"] > 4000
    # Frames that end elsewhere, memo indexes beyond measure, attributes for what has none.
    assert outcomes["pickle takes"] + outcomes["machine takes"] < 300
