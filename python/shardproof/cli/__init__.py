"""The command line. It imports what a command needs when the command runs."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, Final

import click

from shardproof.errors import ShardproofError

__all__ = ["main"]

_COMMANDS: Final = {
    "check": "Prove that checkpoints are whole, or say what is wrong.",
    "show": "List the tensors of a checkpoint and how they are cut.",
    "map": "Draw how the tensors of a checkpoint are cut.",
    "plan": "Say what each process of a job reads to load a checkpoint.",
    "diff": "Say how two checkpoints differ.",
    "explain": "Explain a finding: what it means, why it matters, what to do.",
    "formats": "List the formats that can be read.",
}
"""Commands, each in the module of its name, with what `--help` says about it."""

_COMPLETION: Final = "_SHARDPROOF_COMPLETE"
"""Set by the completion script of a shell, which `_SHARDPROOF_COMPLETE=bash_source shardproof` prints."""

INTERRUPTED: Final = 130
UNANSWERED: Final = 2


class _Lazy(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"{__package__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="shardproof", prog_name="shardproof")
def shardproof() -> None:
    """Prove that the shards of a checkpoint fit together, executing nothing.

    \b
    Examples:
      shardproof check runs/step-1000          is it whole? exit status 0, 1 or 2
      shardproof show runs/step-1000           tensors, and how each is cut
      shardproof map runs/step-1000 -o map.html
      shardproof plan runs/step-1000 --mesh 4x2 --placements S0,R
      shardproof diff runs/step-1000 runs/step-2000
      shardproof explain SP301                 what does that finding mean?

    Every command explains itself: shardproof check -h. For completion in your shell:

    \b
      eval "$(_SHARDPROOF_COMPLETE=bash_source shardproof)"     or zsh_source
      _SHARDPROOF_COMPLETE=fish_source shardproof | source
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; ends the process with its exit status."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command; its exit status."""
    try:
        if _COMPLETION in os.environ:
            shardproof.main(arguments, prog_name="shardproof", complete_var=_COMPLETION)
        # Not by main(): it writes a line when interrupted.
        with shardproof.make_context("shardproof", sys.argv[1:] if arguments is None else arguments) as context:
            status: Any = shardproof.invoke(context)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough. What is left in the buffer must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ShardproofError, OSError) as error:
        click.echo(f"shardproof: {error}", err=True)
        return UNANSWERED
    return status if isinstance(status, int) else 0
