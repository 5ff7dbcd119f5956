"""Healthy samples of every format, damaged at random: never an exception, and no damage that a proof covers unseen."""

import json
import random
import shutil
from collections import Counter

import pytest
import samples
from shardproof.checkpoint import check_checkpoint, open_checkpoint
from shardproof.report.json import render

HEALTHY = [sample for sample in samples.samples(samples.OWN) if sample.row["kind"] == "healthy"]
RECORDED = {"torch_dcp", "megatron", "tensorplay_dcp", "hf_safetensors", "torch_dcp_hf"}
"""Formats whose metadata records where the bytes of every chunk end."""

ROUNDS = 40


class Damaged:
    """A copy of a sample that is damaged and repaired again and again."""

    def __init__(self, sample, directory):
        self.root = directory / "copy"
        shutil.copytree(sample.directory, self.root)
        self.sound = {path: path.read_bytes() for path in sorted(self.root.rglob("*")) if path.is_file()}

    def name(self, path):
        return path.relative_to(self.root).as_posix()

    def do(self, chance):
        """Do one thing to one file; what, to which, and the first byte of it that is not as it was."""
        path = chance.choice(list(self.sound))
        content = self.sound[path]
        at = chance.randrange(len(content) + 1)
        other = chance.choice(list(self.sound))
        piece = content[at : at + chance.randrange(1, 200)]
        start = chance.randrange(len(self.sound[other]) + 1)
        foreign = self.sound[other][start : start + chance.randrange(1, 200)]
        what = chance.choice(["flip", "truncate", "delete", "repeat", "splice", "zeros", "append", "swap"])
        match what:
            case "flip":
                at = min(at, len(content) - 1)
                bit = 1 << chance.randrange(8)
                changed = content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :] if content else b"\1"
            case "truncate":
                changed = content[:at]
            case "delete":
                path.unlink()
                return what, path, 0
            case "repeat":
                changed = content[:at] + piece + content[at:]
            case "splice":
                changed = content[:at] + foreign + content[at:]
            case "zeros":
                changed = content[:at] + bytes(len(piece)) + content[at + len(piece) :]
            case "append":
                at, changed = len(content), content + foreign + b"x"
            case _:
                other.write_bytes(content)
                changed = self.sound[other]
        path.write_bytes(changed)
        if changed == content:
            return "nothing", path, len(content)
        pairs = zip(content, changed, strict=False)
        first = next((number for number, (was, now) in enumerate(pairs) if was != now), min(len(content), len(changed)))
        return what, path, first

    def repair(self):
        for path, content in self.sound.items():
            if not path.is_file() or path.read_bytes() != content:
                path.write_bytes(content)


def ends(checkpoint):
    """Where the last recorded byte of each file is."""
    found = Counter()
    for part in checkpoint.parts.values():
        for tensor in part.tensors.values():
            storage = tensor.storage
            stops = (storage.byte_offsets + storage.byte_lengths).tolist()
            for path, stop in zip(storage.paths, stops, strict=True):
                if path is not None:
                    path = f"{part.files.directory}{path}"  # noqa: PLW2901
                    found[path] = max(found[path], stop)
    return found


def told(report):
    return report.verdict, sorted(map(repr, report.findings)), report.findings.counts, report.not_judged


@pytest.mark.parametrize("deep", [False, True], ids=["shallow", "deep"])
@pytest.mark.parametrize("sample", HEALTHY, ids=lambda sample: sample.name)
def test_a_damaged_checkpoint_is_judged_and_judged_the_same_twice(sample, deep, tmp_path):
    copy = Damaged(sample, tmp_path)
    before = told(check_checkpoint(copy.root, deep=deep))
    assert before[0] == "whole"
    needed = ends(open_checkpoint(copy.root)) if sample.row["format"] in RECORDED else {}
    chance = random.Random(sample.name)
    seen = Counter()
    for _ in range(ROUNDS):
        what, path, first = copy.do(chance)
        report = check_checkpoint(copy.root, deep=deep)
        assert report.verdict in {"whole", "broken", "not proved"}
        assert told(report) == told(check_checkpoint(copy.root, deep=deep))
        assert report.verdict in str(report)
        assert json.loads(render([report]))
        assert all(finding.sentence for finding in report.findings)
        if path.is_file() and path.stat().st_size < needed.get(copy.name(path), 0):
            assert report.verdict != "whole", (what, path)
        if not path.is_file() and copy.name(path) in needed:
            assert report.verdict != "whole", (what, path)
        if copy.name(path) in {".metadata", "manifest.ocdbt"} and what in {"truncate", "delete"}:
            assert report.verdict != "whole", (what, path, first)
        seen[what] += 1
        copy.repair()
    assert sum(seen.values()) == ROUNDS
    assert told(check_checkpoint(copy.root, deep=deep)) == before


def geometry(checkpoint):
    """All that is said of tensors, but for their names: shapes, dtypes, boxes and places."""
    seen = []
    for part in checkpoint.parts.values():
        for tensor in part.tensors.values():
            offsets, sizes = (column.tolist() for column in tensor.boxes)
            storage = tensor.storage
            places = zip(storage.paths, storage.byte_offsets.tolist(), storage.byte_lengths.tolist(), strict=True)
            seen.append((tensor.global_shape, tensor.dtype, sorted(zip(offsets, sizes, places, strict=True), key=repr)))
    return sorted(seen, key=repr)


@pytest.mark.parametrize(
    "sample",
    [sample for sample in HEALTHY if sample.row["format"] in {"torch_dcp", "megatron", "tensorplay_dcp"}],
    ids=lambda sample: sample.name,
)
def test_metadata_of_dcp_with_a_flipped_bit_is_whole_only_if_it_says_the_same(sample, tmp_path):
    copy = Damaged(sample, tmp_path)
    before = geometry(open_checkpoint(copy.root))
    chance = random.Random(sample.name)
    verdicts, said_otherwise = Counter(), Counter()
    for path in [path for path in copy.sound if path.name.endswith(".metadata")]:
        content = copy.sound[path]
        for _ in range(300):
            damaged = bytearray(content)
            at = chance.randrange(len(content))
            damaged[at] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            report = check_checkpoint(copy.root, deep=True)
            verdicts[report.verdict] += 1
            if report.verdict == "whole" and geometry(open_checkpoint(copy.root)) != before:
                said_otherwise.update(report.findings.counts.keys() or {"nothing"})
        path.write_bytes(content)
    # A dtype that is not known is told by its name; records of a mega store say nothing of their length.
    assert set(said_otherwise) <= ({"nothing"} if sample.name == "tensorplay_dcp/mega" else {"SP606"})
    assert verdicts["whole"] < verdicts.total() / 2
    assert verdicts.total() >= 300


@pytest.mark.parametrize(
    "sample", [sample for sample in HEALTHY if (sample.directory / "manifest.ocdbt").is_file()], ids=lambda s: s.name
)
def test_of_a_database_every_bit_counts_but_those_of_stored_elements(sample, tmp_path):
    copy = Damaged(sample, tmp_path)
    (part,) = open_checkpoint(copy.root).parts.values()
    payload = set()
    for tensor in part.tensors.values():
        storage = tensor.storage
        for path, start, length in zip(storage.paths, storage.byte_offsets, storage.byte_lengths, strict=True):
            payload.update((path, at) for at in range(start, start + length))
    chance = random.Random(sample.name)
    manifest, tried = copy.root / "manifest.ocdbt", 0
    for at in range(len(copy.sound[manifest])):
        damaged = bytearray(copy.sound[manifest])
        damaged[at] ^= 1 << chance.randrange(8)
        manifest.write_bytes(damaged)
        assert check_checkpoint(copy.root).verdict != "whole", at
        tried += 1
    copy.repair()
    # What the manifest of the whole database refers to; those of processes are for writers.
    nodes = [path for path in copy.sound if path.parent.name == "d" and path.parent.parent == copy.root]
    assert nodes
    for path in nodes:
        content = copy.sound[path]
        for at in chance.sample(range(len(content)), min(len(content), 150)):
            if (copy.name(path), at) in payload:
                continue
            damaged = bytearray(content)
            damaged[at] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            report = check_checkpoint(copy.root, deep=True)
            assert report.verdict != "whole", (path.name, at)
            tried += 1
        path.write_bytes(content)
    assert tried > 200


@pytest.mark.parametrize(
    "sample", [sample for sample in HEALTHY if sample.row["format"] == "hf_safetensors"], ids=lambda s: s.name
)
def test_a_header_of_safetensors_with_a_flipped_bit_is_whole_only_if_its_tensors_fill_the_file(sample, tmp_path):
    copy = Damaged(sample, tmp_path)
    path = copy.root / "model.safetensors"
    content = copy.sound[path]
    end = 8 + int.from_bytes(content[:8], "little")
    ranges = sorted(place for _, _, chunks in geometry(open_checkpoint(path)) for *_, place in chunks)
    chance = random.Random(sample.name)
    verdicts = Counter()
    for _ in range(600):
        damaged = bytearray(content)
        damaged[chance.randrange(end)] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        verdict = check_checkpoint(path).verdict
        verdicts[verdict] += 1
        if verdict == "whole":
            # Names and types of one size may be others; where the bytes of a tensor are must be as it was.
            after = sorted(place for _, _, chunks in geometry(open_checkpoint(path)) for *_, place in chunks)
            assert after == ranges
    assert verdicts["whole"] < 400
    assert verdicts.total() == 600
