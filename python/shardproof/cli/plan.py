"""`shardproof plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from shardproof.cli.opened import PART, opened
from shardproof.cli.progress import progress
from shardproof.cli.terminal import columns

if TYPE_CHECKING:
    from shardproof.checkpoint.job import Job

__all__ = ["command"]


@click.command("plan", short_help="Say what each process of a job reads to load a checkpoint.")
@click.argument("path", metavar="DIR")
@click.option("--mesh", metavar="4x2", help="Processes along each dimension of the mesh.")
@click.option("--placements", metavar="S0,R", help="For each dimension of the mesh: R, S<dim> or SS<dim>/<factor>.")
@click.option("--like", metavar="OTHER_DIR", help="The processes that stored this checkpoint, each with its chunks.")
@PART
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True, help="Lines of the table; 0 for all.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    path: str,
    *,
    mesh: str | None,
    placements: str | None,
    like: str | None,
    part: str | None,
    limit: int,
    form: Literal["text", "json"],
) -> int:
    """Say what each process of a job reads to load a checkpoint, and what cannot be filled.

    \b
    Examples:
      shardproof plan runs/step-1000 --mesh 8 --placements S0      8 processes, rows
      shardproof plan runs/step-1000 --mesh 4x2 --placements S0,S1
      shardproof plan runs/step-1000 --mesh 2x4 --placements R,S0  2 replicas
      shardproof plan runs/step-1000 --like runs/step-2000

    A run is a contiguous stretch of a record, stored row-major. What is fetched are the records that a process
    touches, whole and each once: that is what readers of archives do, and `times` is how much more it is than what
    the process wants. A replica is read by every process that holds it.

    Placements are applied from left to right, in the words of torch: R or Replicate() holds all, S0 or S(0) splits
    dimension 0 into equal pieces of which the last are short or empty, SS0/2 or _S(0, 2) is a strided split, as tensor
    parallel below fully sharded makes it. Where that gives a process several runs of rows, as an S before an SS on one
    dimension does, DTensor names only the first row and their number, which are other rows than the process holds. A
    tensor with too few dimensions for a placement is replicated there, and counted.

    The exit status is 0 if all that is wanted is there, 1 if something cannot be filled, and 2 if that could not be
    found out.
    """
    if (like is None) == (mesh is None) or (mesh is None) != (placements is None):
        raise click.UsageError("say what the job is: --mesh with --placements, or --like with another checkpoint")
    from shardproof.checkpoint.load import plan_load  # noqa: PLC0415 -- --help does not need it
    from shardproof.report.load import as_json, as_text  # noqa: PLC0415

    job, said = _job(mesh, placements, like, part)
    checkpoint = opened(path, part)
    with progress(f"planning {path}"):
        plan = plan_load(checkpoint, job)
    if form == "json":
        click.echo(as_json(plan, checkpoint.location, said))
    else:
        from shardproof.report.place import count, printable  # noqa: PLC0415

        what = f"on a mesh of {mesh}, {placements}" if like is None else f"like {printable(like)}"
        processes = count(len(job.processes), "process")
        title = f"{printable(checkpoint.location)}: {checkpoint.format}, {processes} {what}"
        click.echo(as_text(plan, title, limit=limit or None, width=columns()))
    return 0 if plan.complete else 1


def _job(mesh: str | None, placements: str | None, like: str | None, part: str | None) -> tuple[Job, dict[str, Any]]:
    from shardproof.checkpoint.job import LikeJob, MeshJob  # noqa: PLC0415
    from shardproof.placement import parse_mesh, parse_placements  # noqa: PLC0415

    if like is not None:
        return LikeJob(opened(like, part)), {"like": like}
    on = MeshJob(parse_mesh(mesh or ""), parse_placements(placements or ""))
    return on, {"mesh": list(on.mesh_shape), "placements": list(map(str, on.placements))}
