"""What a pickle holds according to Python's own pickle module, with every class replaced by one that only records."""

import io
import json
import pickle
import struct
from typing import ClassVar


class _Recording(type):
    """Classes that stand for those that a pickle names."""

    def __call__(cls, *arguments):
        return cls.made(cls, arguments)

    def made(cls, callee, arguments):
        record = object.__new__(cls)
        record.callee, record.arguments, record.state, record.items = callee, arguments, None, None
        return record


class Record(metaclass=_Recording):
    """What a pickle would have made: what it calls and with what, or the class of an instance that it makes bare."""

    __slots__ = ("arguments", "callee", "items", "state")

    def __new__(cls, *arguments, **keywords):
        if keywords:
            return cls.made(cls, (arguments, keywords))
        return cls.made(cls, arguments or None)

    def __call__(self, *arguments):
        return Record.made(self, arguments)

    def __setstate__(self, state):
        self.state = (state,)

    def __setitem__(self, key, value):
        if not isinstance(self.callee, type):
            raise TypeError("items of what something that was called returns")
        self.items = self.items or (Pairs(),)
        self.items[0][key] = value


class Pairs(dict):
    """A dict that remembers what it was given twice, as the machine does."""

    def __init__(self):
        super().__init__()
        self.pairs = []

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.pairs.append((key, value))


def _unpickler(base):
    class Unpickler(base):
        def __init__(self, content):
            super().__init__(io.BytesIO(content))
            self.classes = {}

        def find_class(self, module, name):
            path = f"{module}.{name}"
            if path not in self.classes:
                self.classes[path] = _Recording("Recorded", (Record,), {"__slots__": (), "path": path})
            return self.classes[path]

    return Unpickler


_Quick = _unpickler(pickle.Unpickler)


class _Plain(_unpickler(pickle._Unpickler)):
    """The module's Python code, with dicts that remember."""

    def _empty_dict(self):
        self.append(Pairs())

    def _dict(self):
        items = self.pop_mark()
        pairs = Pairs()
        for key, value in zip(items[::2], items[1::2], strict=True):
            pairs[key] = value
        self.append(pairs)

    dispatch: ClassVar = {
        **pickle._Unpickler.dispatch,
        pickle.EMPTY_DICT[0]: _empty_dict,
        pickle.DICT[0]: _dict,
    }


def load(content):
    """Load a pickle of which nothing is wrong."""
    return _Quick(content).load()


def load_damaged(content):
    """Load any pickle: the module's Python code does not allocate whatever a damaged memo index asks for."""
    return _Plain(content).load()


def dump(value):
    """Write down what was loaded, in the form of the Rust example ``pickle_dump``."""
    return _Dump().of(value)


class _Dump:
    def __init__(self):
        self.numbers = {}
        self.kept = []  # an object whose number is taken must not make room for another

    def of(self, value):
        if isinstance(value, (list, dict, Record)):
            if id(value) in self.numbers:
                return ["again", self.numbers[id(value)]]
            self.numbers[id(value)] = len(self.numbers)
            self.kept.append(value)
        match value:
            case None:
                return ["none"]
            case bool():
                return ["bool", value]
            case int():
                return ["int", str(value)]
            case float():
                return ["float", struct.pack(">d", value).hex()]
            case str():
                return ["text", value.encode("utf-8", "surrogatepass").hex()]
            case bytes() | bytearray():
                return ["bytes", value.hex()]
            case tuple():
                return ["tuple", [self.of(item) for item in value]]
            case list():
                return ["list", [self.of(item) for item in value]]
            case Pairs():
                return ["dict", [self.of(thing) for pair in value.pairs for thing in pair]]
            case dict():
                return ["dict", [self.of(thing) for pair in value.items() for thing in pair]]
            case set() | frozenset():
                return ["set", _in_order(self.of(item) for item in value)]
            case type():
                return ["global", value.path]
            case Record(arguments=None):
                return ["instance", self.of(value.callee), self._maybe(value.state)]
            case Record():
                made = [self.of(value.callee), self.of(value.arguments)]
                return ["call", *made, self._maybe(value.state), self._maybe(value.items)]
        raise TypeError(type(value))

    def _maybe(self, value):
        return None if value is None else [self.of(value[0])]


def _in_order(items):
    """Put what is in a set in order, each thing once."""
    return [json.loads(item) for item in sorted({json.dumps(item) for item in items})]


def told(value):
    """Put what the example wrote in the form of `dump`: numbers by their value, sets in order."""
    match value:
        case ["big", digits]:
            return ["int", str(int.from_bytes(bytes.fromhex(digits), "little", signed=True))]
        case ["int", digits]:
            return ["int", str(int(digits))]
        case ["set", items]:
            return ["set", _in_order(told(item) for item in items)]
        case list():
            return [told(item) for item in value]
    return value
