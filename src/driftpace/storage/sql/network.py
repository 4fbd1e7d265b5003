"""Whether a file lies on a network: SQLite's locks and shared memory do not hold there, and a store would be damaged."""

import os
import re
from pathlib import Path, PurePosixPath

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
