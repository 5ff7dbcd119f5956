"""Steps of several items, unfinished saves, and what Orbax leaves behind."""

import json
import shutil

import pytest
import samples
from shardproof.checkpoint import check_checkpoint, open_checkpoint

ITEM = samples.OWN / "orbax" / "uneven_ocdbt_z3"
HANDLER = "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler"
JSON_HANDLER = "orbax.checkpoint._src.handlers.json_checkpoint_handler.JsonCheckpointHandler"


@pytest.fixture
def step(tmp_path):
    """A step of two items of arrays and one of JSON."""
    directory = tmp_path / "run" / "7"
    for item in ("params", "optimizer"):
        shutil.copytree(ITEM, directory / item, ignore=shutil.ignore_patterns("_CHECKPOINT_METADATA"))
    (directory / "config").mkdir()
    (directory / "config" / "metadata").write_text("{}")
    (directory / "commit_success.txt").write_text("done")
    state(directory)
    return directory


def state(directory, *, committed=1):
    handlers = {"params": HANDLER, "optimizer": HANDLER, "config": JSON_HANDLER}
    told = {"item_handlers": handlers, "commit_timestamp_nsecs": committed}
    (directory / "_CHECKPOINT_METADATA").write_text(json.dumps(told))


def found(directory):
    report = check_checkpoint(directory)
    return report.verdict, [(finding.code, finding.part, finding.file) for finding in report.findings]


def test_every_item_of_a_step_is_a_part_and_what_holds_no_arrays_is_named(step):
    report = check_checkpoint(step, deep=True)
    assert report.verdict == "whole"
    assert not report.findings.counts
    assert [entry.what for entry in report.not_judged] == ["item config", "payloads"]
    parts = open_checkpoint(step).parts
    assert set(parts) == {"params", "optimizer"}
    assert set(parts["params"].tensors) == set(open_checkpoint(ITEM).tensors)


def test_the_steps_of_a_run_are_all_read(step):
    shutil.copytree(step, step.parent / "8")
    report = check_checkpoint(step.parent)
    assert report.verdict == "whole"
    assert set(report.formats) == {"7/params", "7/optimizer", "8/params", "8/optimizer"}


def test_an_item_that_is_gone_is_named(step):
    shutil.rmtree(step / "optimizer")
    assert found(step) == ("broken", [("SP704", None, "optimizer")])


def test_an_item_whose_tree_is_gone_is_still_an_item(step):
    (step / "optimizer" / "_METADATA").unlink()
    assert found(step) == ("not proved", [("SP701", "optimizer", "optimizer/_METADATA")])


def test_a_marker_that_is_gone_is_a_warning_wherever_it_was(step):
    (step / "commit_success.txt").unlink()
    (step / "params" / "commit_success.txt").unlink()
    assert found(step) == (
        "whole",
        [("SP703", None, "commit_success.txt"), ("SP703", "params", "params/commit_success.txt")],
    )


def test_a_save_that_was_never_completed_is_not_proved(step):
    unfinished = step.with_name("9.orbax-checkpoint-tmp-1733000000")
    shutil.copytree(step, unfinished)
    assert found(unfinished) == ("not proved", [("SP702", None, None)])
    assert found(step.parent) == ("not proved", [("SP702", None, unfinished.name)])
    shutil.rmtree(unfinished)
    state(step, committed=None)
    assert found(step) == ("not proved", [("SP702", None, "_CHECKPOINT_METADATA")])


def test_a_step_file_that_is_no_json_is_named_and_the_items_are_read(step):
    (step / "_CHECKPOINT_METADATA").write_text('{"item_handlers"')
    verdict, findings = found(step)
    assert (verdict, findings) == ("not proved", [("SP603", None, "_CHECKPOINT_METADATA")])
    assert set(open_checkpoint(step).parts) == {"params", "optimizer"}


def test_databases_that_were_never_merged_are_told(tmp_path):
    item = shutil.copytree(ITEM, tmp_path / "item")
    (item / "manifest.ocdbt").unlink()
    assert found(item)[1] == [("SP403", None, "manifest.ocdbt")]
    shutil.rmtree(item / "d")
    assert found(item) == ("not proved", [("SP708", None, "manifest.ocdbt")])


def test_what_a_merge_leaves_behind_is_nothing_at_all(tmp_path):
    item = shutil.copytree(ITEM, tmp_path / "item")
    (item / "ocdbt.process_0" / "manifest.ocdbt").unlink()
    shutil.rmtree(item / "array_metadatas")
    assert found(item) == ("whole", [])
    assert not check_checkpoint(item, expect=ITEM).findings.counts


@pytest.mark.parametrize(("written", "codes"), [(5, ["SP424"]), (4, []), (8, []), (10, [])])
def test_pieces_of_two_writers_in_one_stored_chunk_are_told_with_both_numbers(tmp_path, written, codes):
    value = {"value_type": "jax.Array", "skip_deserialize": False, "write_shape": [written]}
    tree = {"tree_metadata": {"('w',)": {"key_metadata": [{"key": "w", "key_type": 2}], "value_metadata": value}}}
    array = {"zarr_format": 2, "shape": [10], "chunks": [4], "dtype": "<f4", "fill_value": None, "order": "C"}
    (tmp_path / "w").mkdir()
    (tmp_path / "_METADATA").write_text(json.dumps(tree | {"use_ocdbt": False, "use_zarr3": False}))
    (tmp_path / "commit_success.txt").write_text("done")
    (tmp_path / "w" / ".zarray").write_text(json.dumps(array | {"compressor": None, "filters": None}))
    for number in range(3):
        (tmp_path / "w" / str(number)).write_bytes(bytes(16))
    report = check_checkpoint(tmp_path, deep=True)
    assert (report.verdict, [finding.code for finding in report.findings]) == ("whole", codes)
    assert all(finding.sentence == "pieces of 5 were written into chunks of 4" for finding in report.findings)


def test_layers_that_are_wanted_and_absent_are_named():
    wanted = [*open_checkpoint(ITEM).tensors, "layer.12"]
    report = check_checkpoint(ITEM, expect=wanted)
    assert [(finding.code, finding.fqn) for finding in report.findings] == [("SP510", "layer.12")]
