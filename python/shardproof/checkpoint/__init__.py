"""Checkpoints: what a directory holds, and whether it is whole."""

from shardproof.checkpoint.check import CheckReport, check_checkpoint
from shardproof.checkpoint.files import Files
from shardproof.checkpoint.model import Checkpoint, Part, Storage, Tensor
from shardproof.checkpoint.opening import open_checkpoint
from shardproof.checkpoint.reader import NotJudged

__all__ = [
    "CheckReport",
    "Checkpoint",
    "Files",
    "NotJudged",
    "Part",
    "Storage",
    "Tensor",
    "check_checkpoint",
    "open_checkpoint",
]
