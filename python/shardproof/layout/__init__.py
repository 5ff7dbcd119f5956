"""Layouts: a global shape and the chunks or shards of it, checked in the core."""

from shardproof.layout.chunks import ChunkLayout
from shardproof.layout.rows import layout_error
from shardproof.layout.shards import FIELDS, ShardLayout, fields_of

__all__ = ["FIELDS", "ChunkLayout", "ShardLayout", "fields_of", "layout_error"]
