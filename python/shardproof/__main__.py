"""`python -m shardproof` is `shardproof`."""

from shardproof.cli import main

main()
