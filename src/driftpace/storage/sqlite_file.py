"""Inspect the file of a SQLite store: network file systems, pending changes, and files that can only be read.

SQLite creates two files beside a file with a write-ahead log, even to read it. Without write permission, or on a full disk, the
store could not be read at all; with write permission but another owner, the new files would block the owner. Such a file is
opened as ``immutable``, which is correct as long as it does not change: there must be no pending changes beside it, and the
reader checks :func:`at_rest` again afterwards.
"""

import os
import re
from pathlib import Path, PurePosixPath

ROOM = 64 << 10
"""Bytes that SQLite needs beside a file to read it."""

FileStamp = tuple[int, int, int, int]
"""Identity, size and time of a file; changes when it is written to."""


def may_be_written(path: Path) -> bool:
    """Return whether this process can write to a file and to its folder."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def is_full(path: Path) -> bool:
    """Return whether the disk has no room for the files that SQLite creates."""
    try:
        disk = os.statvfs(path.parent)
    except (OSError, AttributeError):  # Windows has no statvfs
        return False
    return disk.f_bavail * disk.f_frsize < ROOM or (disk.f_files > 0 and disk.f_favail < 2)


def changes_beside(path: Path) -> bool:
    """Return whether a write-ahead log or journal holds changes that are not in the file yet."""
    return any(_size(path, ending) for ending in ("-wal", "-journal"))


def at_rest(path: Path) -> FileStamp | None:
    """Return the stamp of a file to be opened as immutable; None if SQLite can coordinate readers and writers.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     at_rest(Path(folder) / "none.db") is None
    True
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    in_use = _size(path, "-wal") is not None and _size(path, "-shm") is not None
    if in_use or changes_beside(path) or (may_be_written(path) and not is_full(path)):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


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
"""Drivers after ``fuse.``; a plain ``fuse`` does not name one."""


def network_kind(path: PurePosixPath, mounts: str) -> str | None:
    r"""Return the network file system of an absolute path, by the text of a mount table; None if it is local.

    The table is ``/proc/self/mountinfo``: the fifth field is the mount point, the first after the dash the file system. The
    innermost mount counts, and of several at one mount point the last.

    >>> table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /home rw shared:1 - nfs4 server:/home rw"
    >>> network_kind(PurePosixPath("/home/ada/labels.db"), table)
    'nfs4'
    >>> network_kind(PurePosixPath("/homework/labels.db"), table) is None
    True
    """
    innermost, file_system = -1, ""
    for line in mounts.splitlines():
        place, dash, rest = line.partition(" - ")
        words = place.split(" ")
        if not dash or len(words) < 5:
            continue
        mounted = PurePosixPath(_unescaped(words[4]))
        if path.is_relative_to(mounted) and len(mounted.parts) >= innermost:
            innermost, file_system = len(mounted.parts), rest.split(" ")[0].lower()
    driver = file_system.removeprefix("fuse.")
    return (
        file_system if file_system in NETWORK_KINDS or (driver != file_system and driver in NETWORK_DRIVERS) else None
    )


def network_kind_here(path: Path) -> str | None:
    """Return the network file system of a path of this machine; None if it is local or unknown."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return network_kind(PurePosixPath(os.path.realpath(path)), mounts)


def _unescaped(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)
