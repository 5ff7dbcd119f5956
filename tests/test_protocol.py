"""The five functions, `attach` and `Sharded`, on tensors that NumPy makes."""

import gc
import pickle
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import oracle
import pytest
from shardproof import (
    CheckpointableTensor,
    ChunkStorageMetadata,
    InvalidType,
    LayoutError,
    LookupFailed,
    MetadataIndex,
    Sharded,
    ShardLayout,
    attach,
    copy_checkpointable_tensor_metadata,
    get_checkpointable_tensor_chunks,
    get_checkpointable_tensor_shard,
    is_checkpointable_tensor,
    protocol,
    validate_checkpointable_tensor_metadata,
)

FIELDS = ("global_shape", "global_offsets", "local_offsets", "local_sizes")
TWO = {
    "global_shape": (16,),
    "global_offsets": ((0,), (12,)),
    "local_offsets": ((0,), (4,)),
    "local_sizes": ((4,), (4,)),
}


class Tensor(np.ndarray):
    """An array that takes attributes, as tensors do."""


def tensor_of(shape, **fields):
    tensor = np.arange(np.prod(shape, dtype=int)).reshape(shape).view(Tensor)
    for field, value in fields.items():
        setattr(tensor, field, value)
    return tensor


def shard(tensor, offset=None, index=None):
    return get_checkpointable_tensor_shard(tensor, MetadataIndex("w", offset, index))


def test_a_tensor_with_two_shards_gives_each_as_a_view():
    tensor = tensor_of((8,), **TWO)
    validate_checkpointable_tensor_metadata(tensor)
    view = shard(tensor, (12,))
    assert view.tolist() == [4, 5, 6, 7]
    view[0] = 99
    assert tensor[4] == 99
    assert get_checkpointable_tensor_chunks(tensor) == [
        ChunkStorageMetadata((0,), (4,)),
        ChunkStorageMetadata((12,), (4,)),
    ]


def test_padded_reordered_and_strided_shards_are_views_of_the_right_elements():
    base = np.arange(240).reshape(20, 12).view(Tensor)
    tensor = base[::2, ::-3]
    assert not tensor.flags.c_contiguous
    # Two shards, the later one first, with a row of padding between them and a column behind them.
    attach(
        tensor,
        global_shape=(9, 3),
        global_offsets=((5, 0), (0, 0)),
        local_offsets=((0, 0), (5, 0)),
        local_sizes=((4, 3), (5, 3)),
    )
    for offset, rows in (((5, 0), slice(0, 4)), ((0, 0), slice(5, 10))):
        view = shard(tensor, offset)
        assert np.array_equal(view, base[::2, ::-3][rows, :3])
        assert np.shares_memory(view, base)
        view[...] = -1
    assert (base[::2, ::-3][4] != -1).all()
    assert (base[::2, ::-3][:, 3] != -1).all()
    assert (base[::2, ::-3][[0, 9], :3] == -1).all()


def test_a_scalar_is_its_own_shard():
    tensor = tensor_of((), global_shape=(), global_offsets=((),), local_offsets=((),), local_sizes=((),))
    assert shard(tensor) is tensor
    assert shard(tensor, ()) is tensor
    array = np.array(3)
    assert shard(Sharded(array, ShardLayout((), [()], [()], [()], ()))) is array


def test_a_process_without_a_shard_is_valid_and_says_so():
    tensor = tensor_of((4, 4), global_shape=(9,), global_offsets=(), local_offsets=(), local_sizes=())
    validate_checkpointable_tensor_metadata(tensor)
    assert get_checkpointable_tensor_chunks(tensor) == []
    with pytest.raises(LookupFailed, match=r"'w': this process holds no shard of \(9,\)"):
        shard(tensor)
    with pytest.raises(LookupFailed, match=r"'w': no shard starts at offset \(0,\); there are 0 shards"):
        shard(tensor, (0,))


def test_several_shards_need_an_offset_whatever_the_hint():
    for hint in (None, 0, 1):
        with pytest.raises(LookupFailed, match="there are 2 shards: an offset is needed"):
            shard(tensor_of((8,), **TWO), index=hint)


@pytest.mark.parametrize("hint", [None, 0, 1, 2, 2**80, -1, -3, np.int64(1)])
def test_a_hint_never_changes_what_a_plain_offset_means(hint):
    assert shard(tensor_of((8,), **TWO), (12,), hint).tolist() == [4, 5, 6, 7]


def test_a_full_shard_wins_over_an_empty_one_at_the_same_offset():
    fields = {
        "global_shape": (4,),
        "global_offsets": ((0,), (0,), (0,)),
        "local_offsets": ((0,), (0,), (4,)),
        "local_sizes": ((0,), (4,), (4,)),
    }
    tensor = tensor_of((8,), **fields)
    for hint, first in ((None, 0), (0, 0), (1, 0), (2, 4), (-1, 0)):
        assert shard(tensor, (0,), hint).tolist() == [first, first + 1, first + 2, first + 3]
        assert oracle.resolve(fields["global_offsets"], fields["local_sizes"], (0,), hint) == (2 if first else 1)


def test_all_faults_are_reported_at_once():
    tensor = tensor_of(
        (8,), **TWO | {"global_offsets": ((-1,), (12,)), "local_offsets": ((0,),), "local_sizes": ((4,), (5,))}
    )
    for function in (validate_checkpointable_tensor_metadata, get_checkpointable_tensor_chunks, shard):
        with pytest.raises(LayoutError) as caught:
            function(tensor)
        assert [finding.code for finding in caught.value.findings] == ["SP101", "SP103", "SP201"]
    assert str(caught.value).splitlines() == [
        "3 faults in the layout of a local tensor of shape (8,)",
        "  SP101 count-mismatch       1 local_offsets for 2 global_offsets",
        "  SP103 chunk-negative       shard 0, dimension 0: global_offsets is -1",
        "  SP201 chunk-out-of-bounds  shard 1, dimension 0: 12 + 5 = 17 > 16",
    ]


def test_leading_dimensions_merged_into_rows_are_refused_as_by_the_reference():
    tensor = tensor_of(
        (6, 5), global_shape=(4, 3, 5), global_offsets=((2, 0, 0),), local_offsets=((0, 0),), local_sizes=((2, 3, 5),)
    )
    with pytest.raises(LayoutError, match="local_shape has 2 numbers, the tensor 3"):
        validate_checkpointable_tensor_metadata(tensor)


def test_a_converter_sees_the_logical_size_and_not_that_of_the_buffer():
    tensor = tensor_of((8,), global_shape=(16,), global_offsets=((8,),), local_offsets=((0,),), local_sizes=((8,),))
    layout = ShardLayout.of(tensor)
    assert (layout.global_shape, layout.local_shape) == ((16,), (8,))
    assert list(layout.chunks) == [ChunkStorageMetadata((8,), (8,))]


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_or_absent_attribute_is_named(field):
    for tensor in (tensor_of((8,), **TWO | {field: None}), tensor_of((8,), **TWO)):
        if getattr(tensor, field) is not None:
            delattr(tensor, field)
        assert not is_checkpointable_tensor(tensor)
        for function in (
            validate_checkpointable_tensor_metadata,
            get_checkpointable_tensor_chunks,
            shard,
            ShardLayout.of,
        ):
            with pytest.raises(InvalidType, match=f"Tensor has no {field}"):
                function(tensor)
        with pytest.raises(InvalidType, match=f"Tensor has no {field}"):
            copy_checkpointable_tensor_metadata(tensor, tensor_of((8,)))


def test_what_has_no_shape_is_no_tensor():
    bare = SimpleNamespace(**TWO)
    assert not is_checkpointable_tensor(bare)
    with pytest.raises(InvalidType, match="SimpleNamespace has no shape"):
        validate_checkpointable_tensor_metadata(bare)
    with pytest.raises(InvalidType, match="object has no shape"):
        attach(object(), **TWO)


def test_a_checkpointable_tensor_is_recognised():
    tensor = tensor_of((8,), **TWO)
    layout = ShardLayout.of(tensor)
    for recognised in (tensor, Sharded(np.arange(8), layout)):
        assert is_checkpointable_tensor(recognised)
        assert isinstance(recognised, CheckpointableTensor)
    for other in (np.arange(8), tensor_of((8,)), None, [], SimpleNamespace(**TWO)):
        assert not is_checkpointable_tensor(other)


def test_metadata_is_copied_without_being_judged():
    source = tensor_of((8,), **TWO | {"local_sizes": ((4,), (5,))})
    target = tensor_of((2,))
    copy_checkpointable_tensor_metadata(source, target)
    assert all(getattr(target, field) is getattr(source, field) for field in FIELDS)
    with pytest.raises(InvalidType, match=r"ndarray takes no attribute global_shape; wrap it in shardproof\.Sharded"):
        copy_checkpointable_tensor_metadata(source, np.arange(8))


def test_a_faulty_layout_is_not_attached():
    tensor = tensor_of((8,))
    with pytest.raises(LayoutError):
        attach(tensor, **TWO | {"local_sizes": ((4,), (5,))})
    assert not any(hasattr(tensor, field) for field in FIELDS)
    attach(tensor, **TWO | {"global_offsets": np.array([[0], [12]]), "global_shape": [16]})
    assert {field: getattr(tensor, field) for field in FIELDS} == TWO


def test_sharded_refuses_a_layout_for_another_array():
    layout = ShardLayout.of(tensor_of((8,), **TWO))
    with pytest.raises(InvalidType, match=r"the layout is for a local tensor of shape \(8,\), not \(9,\)"):
        Sharded(np.arange(9), layout)
    with pytest.raises(LayoutError):
        Sharded(np.arange(8), ShardLayout((16,), [(13,)], [(0,)], [(4,)], (8,)))
    sharded = Sharded(np.arange(8), layout)
    assert sharded[2:4].tolist() == [2, 3]
    assert shard(sharded, (12,)).tolist() == [4, 5, 6, 7]
    assert np.shares_memory(shard(sharded, (12,)), sharded.array)


def test_indices_of_other_frameworks_are_taken():
    tensor = tensor_of((8,), **TWO)

    class Size(tuple):
        __slots__ = ()

    foreign = SimpleNamespace(fqn="w", offset=Size((12,)), index=1)
    assert get_checkpointable_tensor_shard(tensor, foreign).tolist() == [4, 5, 6, 7]
    tensor.global_offsets = [Size((0,)), np.array([12])]
    assert get_checkpointable_tensor_shard(tensor, foreign).tolist() == [4, 5, 6, 7]


def counted(monkeypatch):
    """Count how often a layout is read anew."""
    made = []
    read = protocol.fields_of

    def counting(tensor):
        made.append(tensor)
        return read(tensor)

    monkeypatch.setattr(protocol, "fields_of", counting)
    return made


def test_a_layout_is_validated_once_while_nothing_changes(monkeypatch):
    made = counted(monkeypatch)
    tensor = tensor_of((8,), **TWO)
    for _ in range(5):
        validate_checkpointable_tensor_metadata(tensor)
        shard(tensor, (12,))
    assert len(made) == 1
    # Equal is not the same: another tuple is read again.
    tensor.local_sizes = tuple((number + 0,) for number in (4, 4))
    validate_checkpointable_tensor_metadata(tensor)
    assert len(made) == 2


def test_the_same_tuples_on_a_tensor_of_another_shape_are_judged_again(monkeypatch):
    made = counted(monkeypatch)

    class Buffer:
        shape = (8,)

        def __getitem__(self, key):
            return key

    tensor = Buffer()
    attach(tensor, **TWO)
    validate_checkpointable_tensor_metadata(tensor)
    tensor.shape = (6,)
    with pytest.raises(LayoutError, match="4 \\+ 4 = 8 > 6"):
        validate_checkpointable_tensor_metadata(tensor)
    other = tensor_of((6,), **TWO)
    with pytest.raises(LayoutError):
        validate_checkpointable_tensor_metadata(other)
    assert len(made) == 3


@pytest.mark.parametrize("field", FIELDS[1:])
@pytest.mark.parametrize("kind", ["list of tuples", "tuple of lists", "array"])
def test_what_can_change_is_read_every_time(field, kind):
    rows = TWO[field]
    value = {
        "list of tuples": list(rows),
        "tuple of lists": tuple(map(list, rows)),
        "array": np.array(rows),
    }[kind]
    tensor = tensor_of((8,), **TWO | {field: value})
    validate_checkpointable_tensor_metadata(tensor)
    if kind == "list of tuples":
        value[1] = (99,)
    else:
        value[1][0] = 99
    with pytest.raises(LayoutError, match=f"{field}|99"):
        validate_checkpointable_tensor_metadata(tensor)
    assert id(tensor) not in protocol._remembered


def test_what_is_remembered_goes_with_its_tensor():
    gc.collect()
    before = len(protocol._remembered)
    tensors = [tensor_of((8,), **TWO) for _ in range(100)]
    for tensor in tensors:
        validate_checkpointable_tensor_metadata(tensor)
    assert len(protocol._remembered) == before + 100
    gone = weakref.ref(tensors[0])
    del tensors, tensor
    gc.collect()
    assert gone() is None
    assert len(protocol._remembered) == before


def test_many_threads_see_one_truth():
    tensor = tensor_of(
        (4000,), global_shape=(4000,), global_offsets=((0,),), local_offsets=((0,),), local_sizes=((4000,),)
    )
    good = tuple((4 * shard,) for shard in range(1000)), ((4,),) * 1000
    bad = (*good[0][:-1], (3999,)), good[1]
    seen, wrong = [], []

    def look():
        for turn in range(200):
            (offsets, sizes), faulty = (bad, True) if turn % 2 else (good, False)
            mine = tensor_of(
                (4000,), global_shape=(4000,), global_offsets=offsets, local_offsets=good[0], local_sizes=sizes
            )
            for one in (mine, tensor):
                try:
                    validate_checkpointable_tensor_metadata(one)
                    seen.append(one is mine and faulty)
                except LayoutError:
                    seen.append(not (one is mine and faulty))
                if shard(tensor).shape != (4000,):
                    wrong.append(turn)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8 * 200 * 2
    assert not any(seen)
    assert not wrong


def test_resolving_every_shard_agrees_with_the_oracle_with_any_hint():
    offsets = tuple((row, column) for row in (0, 4, 8) for column in (0, 3))
    tensor = tensor_of(
        (24, 3),
        global_shape=(12, 6),
        global_offsets=offsets,
        local_offsets=tuple((4 * position, 0) for position in range(6)),
        local_sizes=((4, 3),) * 6,
    )
    for position, offset in enumerate(offsets):
        for hint in (None, position, 0, 5, 6, -1):
            expected = oracle.resolve(offsets, tensor.local_sizes, offset, hint)
            assert np.array_equal(shard(tensor, offset, hint), tensor[4 * expected : 4 * expected + 4])


def test_dataclasses_survive_pickling_and_ignore_the_hint():
    index = MetadataIndex("w", np.array([4, 0]), 7)
    assert index == MetadataIndex("w", [4, 0]) == pickle.loads(pickle.dumps(index))
    assert hash(index) == hash(MetadataIndex("w", (4, 0), 1))
    assert (index.offset, index.index) == ((4, 0), 7)
    assert index != MetadataIndex("w")
    with pytest.raises(InvalidType, match="offset of 'w', dimension 1: True is of type bool"):
        MetadataIndex("w", (0, True))
    with pytest.raises(InvalidType, match="offset of 'w' is 3, which is no sequence"):
        MetadataIndex("w", 3)
    with pytest.raises(AttributeError):
        index.fqn = "v"
