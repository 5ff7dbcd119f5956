"""What each finding means, why it matters, how it comes about and what to do.

These texts are what `shardproof explain` prints and what `docs/findings.md` holds. They stand apart from the table in
`shardproof.findings` because nothing but an explanation needs them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXPLANATIONS", "Explanation"]


class Explanation(NamedTuple):
    """An answer to four questions about a kind of finding.

    Attributes
    ----------
    meaning
        What it means.
    consequence
        Why it matters.
    cause
        How it comes about in practice.
    remedy
        What to do.
    """

    meaning: str
    consequence: str
    cause: str
    remedy: str


EXPLANATIONS: Final[Mapping[str, Explanation]] = MappingProxyType(
    {
        "SP101": Explanation(
            "The lists of one layout have different lengths: there must be one offset, one local offset and one size "
            "for every shard.",
            "Nobody can say which size belongs to which offset, so nothing of the layout can be used.",
            "One list was extended and another was not, or lists of two tensors were mixed up.",
            "Build all lists in one loop, one entry of each per shard.",
        ),
        "SP102": Explanation(
            "A chunk has more or fewer numbers than the tensor has dimensions.",
            "Readers that stop at the shorter of the two place the chunk wrongly without a word.",
            "A tensor was flattened, or gained a dimension (stacked layers), after its chunks were written down.",
            "Give every offset and size as many numbers as `global_shape` has.",
        ),
        "SP103": Explanation(
            "An offset or a size is negative.",
            "Python reads a negative start from the end of the tensor: another slice is loaded, silently.",
            "A subtraction went below zero, typically the rest of an uneven split or a padding taken off twice.",
            "Correct the arithmetic; an empty shard has size 0.",
        ),
        "SP104": Explanation(
            "A shape has a negative dimension.",
            "The tensor cannot exist, so nothing about its chunks can be judged.",
            "A placeholder such as -1 was saved before it was resolved.",
            "Write the resolved shape.",
        ),
        "SP105": Explanation(
            "A chunk's offset, size or end does not fit a signed 64-bit integer.",
            "Readers that add in 64 bits wrap around; the wrapped end may look valid.",
            "The metadata is damaged or was made to mislead: no machine holds such a tensor.",
            "Restore the metadata from a copy; do not load this checkpoint.",
        ),
        "SP106": Explanation(
            "A dimension, or the size of the whole tensor in bytes, does not fit a signed 64-bit integer.",
            "Allocations computed from it wrap around to something small.",
            "The metadata is damaged or was made to mislead.",
            "Restore the metadata from a copy; do not load this checkpoint.",
        ),
        "SP201": Explanation(
            "A chunk ends behind the end of its tensor in some dimension.",
            "Elements outside the tensor are lost, and those who clip silently hide that the shapes disagree.",
            "The last piece of an uneven split was padded to full size, or the global shape is that of another model.",
            "Trim the last piece to the tensor, or correct `global_shape`.",
        ),
        "SP202": Explanation(
            "A shard's slice ends behind the end of the local tensor.",
            "The slice comes back shorter than the shard says, so elements are missing.",
            "Local offsets were computed for another buffer, or the buffer was narrowed afterwards.",
            "Recompute `local_offsets` and `local_sizes` for the tensor that carries them.",
        ),
        "SP203": Explanation(
            "An empty chunk lies behind the end of the tensor.",
            "No element is affected, but a reader that checks bounds may refuse the checkpoint.",
            "A rule such as rank times ceil(n / ranks) was used for a process that holds nothing.",
            "Put empty chunks at the end of the dimension, or leave them out.",
        ),
        "SP301": Explanation(
            "Some elements of the tensor are covered by no chunk. The boxes say which.",
            "A loader leaves those elements as they were: uninitialised or stale memory goes into the model.",
            "A process did not save (crash, wrong group), a chunk was dropped in a merge, or the tensor "
            "grew after its chunks were written down.",
            "Find which process owns the missing box and save again, or take an older checkpoint.",
        ),
        "SP302": Explanation(
            "The tensor has elements and no chunk at all.",
            "Nothing of it can be loaded.",
            "Only its name and shape were recorded: no process wrote a piece of it.",
            "Check which process should hold the tensor and why it did not save.",
        ),
        "SP303": Explanation(
            "Different chunks cover the same elements.",
            "Which value is loaded depends on the order of the reads.",
            "Two processes computed their share by different rules, a piece was shifted, or padding was saved as data.",
            "Compare the offsets of the chunks named here with the split that was intended.",
        ),
        "SP304": Explanation(
            "The same box of a tensor occurs more than once where it may occur only once.",
            "If the copies differ, chance decides which one is loaded.",
            "A replicated tensor was not de-duplicated, or two saves were merged.",
            "Keep one copy; if the copies are meant as replicas, say so (`replicas=`).",
        ),
        "SP305": Explanation(
            "The same box was written by several processes, which is how replicas look.",
            "Nothing is wrong. The copies are taken to be equal; their contents were not compared.",
            "Replicated tensors saved without collectives: every process writes its own copy.",
            "Nothing.",
        ),
        "SP306": Explanation(
            "Some elements are covered, but less often than declared.",
            "A replica is incomplete: whoever reads that copy finds a hole.",
            "One of the replica groups did not save completely.",
            "Find which replica lacks the box, or declare fewer replicas.",
        ),
        "SP307": Explanation(
            "Two shards of one local tensor share elements of the local tensor.",
            "Loading writes both into the same memory: one overwrites the other.",
            "Local offsets were not advanced between shards, or two views of one buffer were described twice.",
            "Lay the shards out one behind the other in the local tensor.",
        ),
        "SP308": Explanation(
            "Part of the local tensor belongs to no shard.",
            "Nothing is wrong: this is padding, which is neither saved nor loaded.",
            "Buffers are padded so that all processes hold the same number of elements.",
            "Nothing, if the padding is intended.",
        ),
        "SP309": Explanation(
            "Some chunks have no elements.",
            "Nothing is wrong: they cover nothing and need no reads.",
            "More processes than rows: the last ones hold nothing.",
            "Nothing.",
        ),
        "SP310": Explanation(
            "The declared size of a dimension is a whole multiple of what the chunks cover.",
            "It says where a gap probably comes from.",
            "A size was multiplied by the number of processes twice, or only one process's share was saved.",
            "Compare the declared shape with that of the model.",
        ),
        "SP311": Explanation(
            "Wanted elements are in no saved chunk.",
            "Executing the plan leaves those elements as they were.",
            "The saved layout has a gap.",
            "Prove the saved layout first; see SP301.",
        ),
        "SP312": Explanation(
            "Wanted elements are in several saved chunks.",
            "Executing the plan writes them more than once; the last read decides.",
            "The saved layout has overlaps or replicas.",
            "Prove the saved layout first, and plan over one replica of each chunk.",
        ),
        "SP401": Explanation(
            "A chunk or an entry is listed, but nothing says where its bytes are.",
            "Loading it fails, often with no more than a key error.",
            "Metadata of several processes was merged incompletely, or a stale plan was reused.",
            "Merge the metadata again, or save again.",
        ),
        "SP402": Explanation(
            "A record of stored bytes belongs to no chunk and no entry.",
            "The bytes are never read. Usually a chunk was lost from the list.",
            "Chunk list and storage map come from different saves, or a chunk was removed by hand.",
            "Compare with SP301 findings: a gap of the same box says that the chunk list is at fault.",
        ),
        "SP403": Explanation(
            "A file that the metadata names does not exist.",
            "Every chunk stored in it is lost.",
            "An interrupted copy, a local disk that was not collected, or a clean-up that took too much.",
            "Copy the file from where it was written.",
        ),
        "SP404": Explanation(
            "A file that cannot be empty has no bytes.",
            "Whatever it should hold is lost.",
            "The disk was full, or the writer died between opening and writing.",
            "Copy the file again, or save again.",
        ),
        "SP405": Explanation(
            "A data file lies in the directory and nothing points to it.",
            "It may be left over from an older save, or the metadata may have forgotten it.",
            "Saving into a directory that was used before.",
            "Make sure that the metadata is the newer of the two, then remove the file.",
        ),
        "SP406": Explanation(
            "Bytes inside a data file belong to no record.",
            "This format has no holes: records and file come from different saves, or a record is lost.",
            "A record was shortened, moved or removed.",
            "Compare with the other findings of the file.",
        ),
        "SP407": Explanation(
            "Bytes follow the last tensor of the file.",
            "The reference library refuses such a file.",
            "Two files were appended, or the header was exchanged for a smaller one.",
            "Write the file again.",
        ),
        "SP408": Explanation(
            "A range of bytes ends behind the end of its file.",
            "The file was truncated: what lies behind its end is lost.",
            "An interrupted upload or copy, or a full disk.",
            "Copy the file again and compare its length.",
        ),
        "SP409": Explanation(
            "A range of bytes starts below zero, has a negative length or ends before it starts.",
            "It names no bytes at all.",
            "The metadata is damaged.",
            "Restore the metadata.",
        ),
        "SP410": Explanation(
            "The end of a range of bytes does not fit a signed 64-bit integer.",
            "Readers that add in 64 bits wrap around to a range that looks valid.",
            "The metadata is damaged or was made to mislead.",
            "Restore the metadata; do not load this checkpoint.",
        ),
        "SP411": Explanation(
            "Two records claim the same bytes.",
            "Two chunks are loaded from one place: at least one of them gets foreign values.",
            "Two processes wrote under one file name, or offsets were not advanced.",
            "Save again with a distinct file for each process.",
        ),
        "SP412": Explanation(
            "A record is shorter than the chunk that it should hold.",
            "The chunk cannot be complete.",
            "The storage map belongs to another save, or the chunk's sizes were changed.",
            "Restore chunk list and storage map from the same save.",
        ),
        "SP413": Explanation(
            "An uncompressed chunk does not have exactly the bytes that its shape and dtype need.",
            "Readers fail, or load shifted values.",
            "The chunk was truncated or written for another shape.",
            "Copy the chunk again, or save again.",
        ),
        "SP414": Explanation(
            "A recorded path is absolute or leads out of the checkpoint.",
            "A loader that follows it reads a file of somebody else's choice. It was not opened.",
            "A checkpoint was made to mislead, or written with absolute paths and then moved.",
            "Do not load it unless you know why the path is there.",
        ),
        "SP415": Explanation(
            "What a record holds is not what its chunk says: another shape, dtype or number of bytes.",
            "Loaders that only copy what is there accept it silently.",
            "Records were exchanged, or the chunk list belongs to another save.",
            "Restore chunk list and data files from the same save.",
        ),
        "SP416": Explanation(
            "A stored archive has no readable directory.",
            "Nothing can be read from it.",
            "The archive was truncated or overwritten.",
            "Copy the file again.",
        ),
        "SP417": Explanation(
            "Bytes between two tensors of a file belong to no tensor.",
            "The reference library refuses such a file; holes are a place to hide things.",
            "A tensor was removed from the header but not from the data.",
            "Write the file again.",
        ),
        "SP418": Explanation(
            "Shape times dtype is not the number of bytes that the header gives the tensor.",
            "Readers that trust the shape read past the tensor.",
            "Shape or dtype was edited, or the file was written by a faulty tool.",
            "Write the file again.",
        ),
        "SP419": Explanation(
            "Stored bytes do not have the checksum that was stored with them.",
            "The bytes changed after they were written.",
            "A failing disk, memory or network, or a later edit.",
            "Copy the file again from a good source.",
        ),
        "SP420": Explanation(
            "The index of a zarr shard is too short, points outside the shard or fails its checksum.",
            "Inner chunks cannot be found.",
            "The shard file was truncated or damaged.",
            "Copy the shard again.",
        ),
        "SP421": Explanation(
            "The manifest of an OCDBT database is damaged.",
            "Nothing in the database can be found.",
            "The file was truncated or damaged.",
            "Copy `manifest.ocdbt` again.",
        ),
        "SP422": Explanation(
            "A node of an OCDBT database is damaged or missing from its file.",
            "The keys below it cannot be found.",
            "A file under `d/` was truncated or damaged.",
            "Copy the file again.",
        ),
        "SP423": Explanation(
            "A chunk is not stored and reads as the fill value.",
            "This is legal in zarr, and also how a lost file looks.",
            "Writers may leave out chunks that hold nothing but the fill value.",
            "If the writer is known to store all chunks, treat it as a gap.",
        ),
        "SP424": Explanation(
            "The pieces of two writers meet inside one stored chunk.",
            "Whoever writes last overwrites the other's part.",
            "Stored chunks were not aligned with the split over processes.",
            "Choose stored chunks that divide every process's piece.",
        ),
        "SP425": Explanation(
            "The archives in this file state no checksum for their elements.",
            "A flipped bit in them would not be seen by any look.",
            "The writer was told not to compute checksums, as torch can be to save time.",
            "Treat the elements as not verified; let the writer compute checksums.",
        ),
        "SP501": Explanation(
            "Two places give one tensor different shapes.",
            "Loaders take the first they see.",
            "Processes disagree on the configuration, or files of two saves are mixed.",
            "Save again from one configuration.",
        ),
        "SP502": Explanation(
            "Two places give one tensor different dtypes.",
            "Loaders cast or reinterpret silently.",
            "Some processes ran in another precision, or files of two saves are mixed.",
            "Save again in one precision.",
        ),
        "SP503": Explanation(
            "One tensor name occurs in two files.",
            "Which one is loaded depends on the order of the files.",
            "Stale files of an older save lie beside the new ones.",
            "Remove the stale files; the index says which are current.",
        ),
        "SP504": Explanation(
            "The index says that a file holds a tensor, and it does not.",
            "Some loaders leave such a tensor at random values.",
            "Index and files come from different saves.",
            "Write the index again from the headers of the files.",
        ),
        "SP505": Explanation(
            "A file holds a tensor that the index does not map to it.",
            "The tensor is not loaded.",
            "Index and files come from different saves.",
            "Write the index again from the headers of the files.",
        ),
        "SP506": Explanation(
            "The index gives a total size that is not the sum of the tensors.",
            "Nothing is lost, but index and files do not come from one save.",
            "The index was edited or not updated.",
            "Write the index again.",
        ),
        "SP507": Explanation(
            "The sharding note of a file lacks one of its tensors.",
            "The place of that piece in the whole tensor is unknown.",
            "The file was rewritten by a tool that does not know the note.",
            "Save again with the original writer.",
        ),
        "SP508": Explanation(
            "The sharding note of a file names a tensor that the file lacks.",
            "A piece that should be here is not.",
            "The tensor was removed from the file.",
            "Save again with the original writer.",
        ),
        "SP509": Explanation(
            "An array is stored that the checkpoint's metadata does not list.",
            "It is not restored.",
            "It is left over from an older save, or the metadata is incomplete.",
            "Make sure that the metadata is the newer of the two, then remove the array.",
        ),
        "SP510": Explanation(
            "An expected tensor is not in the checkpoint.",
            "It keeps its initial values.",
            "The model gained a tensor or renamed one, or a process did not save.",
            "Compare with the unexpected tensors: a renamed one shows up in both lists.",
        ),
        "SP511": Explanation(
            "The checkpoint holds a tensor that was not expected.",
            "It is not loaded.",
            "The model lost a tensor or renamed one.",
            "Compare with the missing tensors.",
        ),
        "SP512": Explanation(
            "A tensor has another shape than expected.",
            "Loading fails, or takes the part that fits.",
            "Padding (vocabulary, alignment) differs, or the checkpoint is that of another model.",
            "Pad or trim the tensor, or correct the configuration.",
        ),
        "SP513": Explanation(
            "A tensor has another dtype than expected.",
            "Loading casts it, perhaps to a narrower type, without a word.",
            "The checkpoint was saved in another precision.",
            "Decide on the precision before loading.",
        ),
        "SP601": Explanation(
            "A metadata file has no bytes.",
            "Nothing is known about the checkpoint.",
            "The disk was full, or the writer died.",
            "Copy the file again, or take an older checkpoint.",
        ),
        "SP602": Explanation(
            "A metadata file ends too early.",
            "What the lost part described is unknown.",
            "An interrupted copy or a full disk.",
            "Copy the file again.",
        ),
        "SP603": Explanation(
            "A metadata file is not what its format says.",
            "Nothing in it can be trusted.",
            "The file is damaged, or something else has its name.",
            "Restore the file.",
        ),
        "SP604": Explanation(
            "Bytes follow the end of the metadata.",
            "Loaders ignore them; no writer makes them.",
            "Two files were appended, or something was hidden there.",
            "Find out where the bytes come from.",
        ),
        "SP605": Explanation(
            "Loading this pickle would call something that no checkpoint needs. It was named, not called.",
            "Whoever unpickles the file runs code of its author's choice.",
            "The file was made to attack, or somebody pickled foreign objects into it.",
            "Do not load it. Find out where it comes from.",
        ),
        "SP606": Explanation(
            "The pickle names a class that this format does not know.",
            "Loading imports it. Its content was kept opaque and not judged.",
            "A planner or writer of one's own put it there.",
            "Make sure that you trust the package it names.",
        ),
        "SP607": Explanation(
            "The pickle uses an instruction that no writer of this format emits.",
            "Its meaning depends on code outside the file.",
            "The file was made to attack or damaged.",
            "Do not load it.",
        ),
        "SP608": Explanation(
            "Metadata nests deeper than any sensible limit.",
            "Recursive readers crash on it.",
            "The file was made to crash readers.",
            "Do not load it.",
        ),
        "SP609": Explanation(
            "Metadata asks for far more than its size can justify.",
            "Readers that believe it run out of memory.",
            "The file was made to exhaust memory, or is damaged.",
            "Do not load it.",
        ),
        "SP610": Explanation(
            "A header claims to be longer than the file or than 100 MB.",
            "Readers that believe it allocate without bound.",
            "The file is damaged, truncated or not of this format.",
            "Copy the file again.",
        ),
        "SP611": Explanation(
            "A safetensors header is not the JSON that it should be.",
            "Nothing in the file can be found.",
            "The file is damaged, truncated or not of this format.",
            "Copy the file again.",
        ),
        "SP612": Explanation(
            "A header has one name twice.",
            "Readers take the first or the last: they disagree about the content.",
            "A faulty writer, or an attempt to show different readers different tensors.",
            "Write the file again.",
        ),
        "SP613": Explanation(
            "A header names a dtype that is not known.",
            "Sizes cannot be checked.",
            "A newer format version, or damage.",
            "Use a newer reader, or write the file again.",
        ),
        "SP614": Explanation(
            "The index is not valid JSON of the expected form.",
            "It cannot be said which file holds which tensor.",
            "The file is damaged.",
            "Write the index again from the headers of the files.",
        ),
        "SP615": Explanation(
            "The index maps one tensor twice.",
            "Readers take the first or the last.",
            "Two indexes were merged by hand.",
            "Write the index again.",
        ),
        "SP616": Explanation(
            "The metadata of an array is not valid.",
            "Its shape and chunks are unknown.",
            "The file is damaged or of an unknown version.",
            "Restore the file.",
        ),
        "SP617": Explanation(
            "Something here is of a kind that is not known, so it was not judged.",
            "Nothing is said about it, neither good nor bad.",
            "A newer writer, an extension, or a format that is only partly provable.",
            "Check that part with the framework that wrote it.",
        ),
        "SP618": Explanation(
            "The global shape is not stored: it was inferred from the chunks that are there.",
            "A lost last piece cannot be seen.",
            "Safetensors files that DCP writes hold offsets and no global shape.",
            "Compare with the model (`--expect`) to prove the shape as well.",
        ),
        "SP619": Explanation(
            "A file exists and cannot be read.",
            "What it holds was not judged.",
            "Permissions, a failing disk or a lost mount.",
            "Make the file readable and check again.",
        ),
        "SP701": Explanation(
            "There are data files and no metadata.",
            "Without metadata the data cannot be loaded, and nothing can be proved.",
            "The save did not finish, or the metadata stayed on another machine's disk.",
            "Look for the metadata where the coordinating process ran; else take an older checkpoint.",
        ),
        "SP702": Explanation(
            "The directory is that of a save that has not finished.",
            "It may be incomplete in every respect.",
            "The job stopped during the save, or the save is still going on.",
            "Wait for the save, or take an older checkpoint.",
        ),
        "SP703": Explanation(
            "The marker that says that a save was committed is missing.",
            "Tools may treat the step as unfinished and delete it.",
            "The marker was lost in a copy between file systems, or the save did not finish.",
            "If all arrays are proved whole, restore the marker.",
        ),
        "SP704": Explanation(
            "An item that the step lists has no directory.",
            "That item cannot be restored.",
            "A partial copy, or a clean-up.",
            "Copy the item.",
        ),
        "SP705": Explanation(
            "The number of per-process files is not what the metadata says.",
            "The state of some processes is missing, or files of two jobs are mixed.",
            "A partial copy, or a save by a job of another size into the same directory.",
            "Copy the missing files, or separate the two saves.",
        ),
        "SP706": Explanation(
            "A sharded object lacks some of its pieces.",
            "The object cannot be put together.",
            "A process did not save its piece.",
            "Save again, or copy what is missing.",
        ),
        "SP707": Explanation(
            "An array has no metadata of its own.",
            "Its shape, dtype and chunks are unknown.",
            "The file was lost.",
            "Restore `.zarray` or `zarr.json`.",
        ),
        "SP708": Explanation(
            "The databases of the processes were not merged: the manifest at the top is missing.",
            "The framework cannot open the checkpoint.",
            "The job stopped between writing and merging.",
            "Run the merge again, or take an older checkpoint.",
        ),
    }
)
"""The explanation of every code of `shardproof.findings.KINDS`."""
