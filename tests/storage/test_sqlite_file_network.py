from pathlib import Path, PurePosixPath

import pytest

from driftpace.errors import StorageError
from driftpace.storage import open_store
from driftpace.storage.sql import sqlite
from driftpace.storage.sqlite_file import network_kind, network_kind_here

TABLE = r"""21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw - proc proc rw
30 21 0:40 / /home rw shared:9 master:2 - nfs4 server:/home rw,vers=4.2
31 30 8:2 / /home/local rw - xfs /dev/sdb1 rw
32 21 0:41 / /mnt/with\040space rw - cifs //server/share rw
33 21 0:42 / /mnt/ssh rw - fuse.sshfs ada@host: rw
34 21 0:43 / /mnt/usb rw - fuseblk /dev/sdc1 rw
35 21 0:44 / /mnt/plain rw - fuse.mergerfs a:b rw
36 21 0:45 / /mnt/twice rw - nfs server:/x rw
37 21 8:3 / /mnt/twice rw - btrfs /dev/sdd1 rw
38 21 8:4 / /mnt/under rw - ext4 /dev/sde1 rw
39 21 0:46 / /mnt/under rw - SMB3 //server/y rw
40 21 0:47 / /mnt/c rw - 9p C:\134 rw
41 21 0:48 / /mnt/jfs rw - fuse.JuiceFS JuiceFS:jfs rw
a line that is none
42 21 0:49"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/labels.db", None),
        ("/home/ada/labels.db", "nfs4"),
        ("/home/local/labels.db", None),
        ("/homework/labels.db", None),
        ("/mnt/with space/labels.db", "cifs"),
        ("/mnt/with", None),
        ("/mnt/ssh/deep/er/labels.db", "fuse.sshfs"),
        ("/mnt/usb/labels.db", None),
        ("/mnt/plain/labels.db", None),
        ("/mnt/twice/labels.db", None),
        ("/mnt/under/labels.db", "smb3"),
        ("/mnt/c/labels.db", "9p"),
        ("/mnt/jfs/labels.db", "fuse.juicefs"),
    ],
)
def test_the_innermost_and_last_mount_counts(path: str, kind: str | None) -> None:
    assert network_kind(PurePosixPath(path), TABLE) == kind


def test_an_empty_table_says_nothing() -> None:
    assert network_kind(PurePosixPath("/labels.db"), "") is None


def test_the_table_of_this_machine_is_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc")
    assert network_kind_here(tmp_path / "link" / "labels.db") is None


def test_a_store_on_a_network_is_refused_and_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {tmp_path} rw - nfs server:/x rw"
    monkeypatch.setattr(sqlite, "network_kind_here", lambda path: network_kind(PurePosixPath(path), table))
    with pytest.raises(StorageError, match=r"must not be on a network file system.* is on nfs\).* or PostgreSQL"):
        open_store(tmp_path / "labels.db")
    assert list(tmp_path.iterdir()) == []
