"""Inspect the file of a SQLite store: network file systems, pending changes, and files that can only be read.

SQLite creates two files beside a file with a write-ahead log, even to read it. Without write permission the store could not be
read at all; with write permission but another owner, the new files would block the owner. Such a file is opened as ``immutable``,
which is correct as long as it does not change: there must be no pending changes beside it, and the reader checks
:func:`at_rest` again afterwards.
"""

import os
import re
from pathlib import Path, PurePosixPath

FileStamp = tuple[int, int, int, int]
"""What tells a file at rest from the same file after somebody wrote to it."""


def may_be_written(path: Path) -> bool:
    """Whether this process may write to a file and to its folder."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def changes_beside(path: Path) -> bool:
    """Whether there are changes beside a file that are not in it yet."""
    return any(_size(path, ending) for ending in ("-wal", "-journal"))


def at_rest(path: Path) -> FileStamp | None:
    """Return the rest of a file that is to be read as it is; None where SQLite can see to it that readers and writers agree.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     at_rest(Path(folder) / "none.db") is None
    True
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    in_use = _size(path, "-wal") is not None and _size(path, "-shm") is not None
    if in_use or changes_beside(path) or may_be_written(path):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _size(path: Path, ending: str) -> int | None:
    try:
        return os.stat(f"{path}{ending}").st_size
    except OSError:
        return None


NETWORK_KINDS = frozenset(
    {
        *(
            "9p",
            "acfs",
            "afs",
            "beegfs",
            "ceph",
            "cifs",
            "coda",
            "davfs",
            "gfs2",
            "glusterfs",
            "gpfs",
            "lustre",
            "moosefs",
        ),
        *(
            "ncpfs",
            "nfs",
            "nfs4",
            "ocfs2",
            "openafs",
            "orangefs",
            "panfs",
            "prl_fs",
            "pvfs2",
            "quobyte",
            "smb2",
            "smb3",
        ),
        *("smbfs", "vboxsf", "wekafs", "beegfs_nodev"),
    }
)
NETWORK_DRIVERS = frozenset(
    {
        *(
            "ceph",
            "ceph-fuse",
            "cifs",
            "curlftpfs",
            "davfs",
            "davfs2",
            "gcsfuse",
            "geesefs",
            "glusterfs",
            "goofys",
            "juicefs",
        ),
        *("lizardfs", "mfs", "moosefs", "mount-s3", "nfs", "quobyte", "rclone", "s3fs", "seaweedfs", "smb", "smbnetfs"),
        *("sshfs", "weed"),
    }
)
"""What ``fuse.`` stands before; a plain ``fuse`` says nothing of what is behind it."""


def network_kind(path: PurePosixPath, mounts: str) -> str | None:
    r"""Return the kind of network file system that an absolute path lies on, by the text of a mount table; else None.

    The table is that of ``/proc/self/mountinfo``: the fifth word of a line is where something is mounted, the first after the
    lone dash what kind it is. The innermost mount counts, and of several in one place the last.

    >>> table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /home rw shared:1 - nfs4 server:/home rw"
    >>> network_kind(PurePosixPath("/home/ada/labels.db"), table)
    'nfs4'
    >>> network_kind(PurePosixPath("/homework/labels.db"), table) is None
    True
    """
    innermost, found = -1, ""
    for line in mounts.splitlines():
        place, dash, rest = line.partition(" - ")
        words = place.split(" ")
        if not dash or len(words) < 5:
            continue
        mounted = PurePosixPath(_unescaped(words[4]))
        if path.is_relative_to(mounted) and len(mounted.parts) >= innermost:
            innermost, found = len(mounted.parts), rest.split(" ")[0].lower()
    driver = found.removeprefix("fuse.")
    return found if found in NETWORK_KINDS or (driver != found and driver in NETWORK_DRIVERS) else None


def network_kind_here(path: Path) -> str | None:
    """Return the kind of network file system that a path of this machine lies on; None where it is none, or not to be known."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return network_kind(PurePosixPath(os.path.realpath(path)), mounts)


def _unescaped(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)
