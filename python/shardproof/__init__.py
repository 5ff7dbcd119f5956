"""Prove that the shards of a checkpoint fit together."""
