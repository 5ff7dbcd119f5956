"""Answers which rows DTensor says a process holds; run by a Python that has torch, one JSON list in, one out."""

import json
import sys

from torch.distributed.tensor._utils import _compute_local_shape_and_global_offset
from torch.distributed.tensor.placement_types import Replicate, Shard, _StridedShard

KINDS = {"R": Replicate, "S": Shard, "SS": lambda dim, factor: _StridedShard(dim, split_factor=factor)}

answers = []
for shape, mesh_shape, placements, coordinate in json.load(sys.stdin):
    made = [KINDS[kind](*numbers) for kind, *numbers in placements]
    sizes, offsets = _compute_local_shape_and_global_offset(
        tuple(shape), tuple(mesh_shape), lambda dim, place=coordinate: place[dim], made
    )
    answers.append([list(map(int, offsets)), list(map(int, sizes)), ", ".join(map(str, made))])
json.dump(answers, sys.stdout)
