"""What the protocol means, in plain Python integers: the tests' oracle and the benchmarks' yardstick."""

INT64 = range(-(2**63), 2**63)
FIELDS = ("global_offsets", "local_offsets", "local_sizes")


def faults(global_shape, global_offsets, local_offsets, local_sizes, local_shape):
    """Every fault as (code, position, dimension), None where a fault is of no shard or dimension, sorted."""
    found = []
    rows = dict(zip(FIELDS, (global_offsets, local_offsets, local_sizes), strict=True))
    rank = len(global_shape)
    for shape in (global_shape, local_shape):
        for dimension, dim in enumerate(shape):
            if dim not in INT64:
                found.append((106, None, dimension))
            if dim < 0:
                found.append((104, None, dimension))
    if len(local_shape) != rank and len(global_offsets):
        found.append((102, None, None))
    found += [(101, None, None) for field in FIELDS[1:] if len(rows[field]) != len(global_offsets)]

    def sound(field, position):
        row = rows[field][position] if position < len(rows[field]) else None
        expected = len(local_shape) if field == "local_offsets" else rank
        return row is not None and len(row) == expected and all(number in INT64 for number in row)

    for field in FIELDS:
        expected = len(local_shape) if field == "local_offsets" else rank
        for position, row in enumerate(rows[field]):
            if len(row) != expected:
                found.append((102, position, None))
            else:
                found += [(105, position, dimension) for dimension, number in enumerate(row) if number not in INT64]
    for position in range(min(len(global_offsets), len(local_sizes))):
        if not (sound("global_offsets", position) and sound("local_sizes", position)):
            continue
        size = local_sizes[position]
        found += [(103, position, dimension) for dimension, number in enumerate(size) if number < 0]
        sides = [(global_offsets[position], global_shape, 201)]
        if sound("local_offsets", position) and len(local_shape) == rank:
            sides.append((local_offsets[position], local_shape, 202))
        for offset, shape, outside in sides:
            for dimension, (start, length, dim) in enumerate(zip(offset, size, shape, strict=True)):
                if start < 0:
                    found.append((103, position, dimension))
                elif length >= 0 and 0 <= min(dim, INT64[-1]) < start + length:
                    found.append((105 if start + length not in INT64 else outside, position, dimension))
    return sorted(found, key=lambda fault: tuple(-1 if part is None else part for part in fault))


def is_valid(tensor_shape, global_shape, global_offsets, local_offsets, local_sizes):
    """Say what the references say of a layout of plain integers, with nothing but comparisons."""
    if not len(global_offsets) == len(local_offsets) == len(local_sizes):
        return False
    for offset, place, size in zip(global_offsets, local_offsets, local_sizes, strict=True):
        if not len(offset) == len(size) == len(global_shape) or not len(place) == len(size) == len(tensor_shape):
            return False
        for start, length, dim in [*zip(offset, size, global_shape), *zip(place, size, tensor_shape)]:  # noqa: B905
            if start < 0 or length < 0 or start + length > dim:
                return False
    return True


def resolve(global_offsets, local_sizes, offset, hint=None):
    """Find the shard that is meant, by looking at every one; None where there is none."""
    if offset is None:
        return 0 if len(global_offsets) == 1 else None
    here = [position for position, start in enumerate(global_offsets) if tuple(start) == tuple(offset)]
    full = [position for position in here if 0 not in local_sizes[position]]
    among = full or here
    return hint if hint in among else next(iter(among), None)
