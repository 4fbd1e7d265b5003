"""The tables, the same in SQLite and PostgreSQL.

Names begin with ``driftpace_``, so that a database may hold other things too. Text is compared by the numbers of its characters
in both (``COLLATE "C"``), so a list is in the same order everywhere. The checkpoint has a table of its own: a list of campaigns
does not read past it. ``batch`` is a mark that one change puts on all its entries, to be known again where it is not certain that
the change was written.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

VERSION = 1
"""The version of these tables; see :mod:`driftpace.storage.sql.upgrades`."""

APPLICATION_ID = 0x64726674
"""What a SQLite file of ours carries in its header ("drft")."""

METADATA = MetaData()

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_WHOLE = BigInteger().with_variant(Integer(), "sqlite")

META = Table(
    "driftpace_meta",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
)

CAMPAIGNS = Table(
    "driftpace_campaigns",
    METADATA,
    Column("id", _WHOLE, primary_key=True, autoincrement=True),
    Column("name", _TEXT, nullable=False, unique=True),
    Column("lowered", _TEXT, nullable=False),
    Column("seq", _WHOLE, nullable=False),
    Column("created_at", _TEXT, nullable=False),
    Column("updated_at", _TEXT, nullable=False),
    Column("summary", _TEXT, nullable=False),
)

CHECKPOINTS = Table(
    "driftpace_checkpoints",
    METADATA,
    Column("campaign_id", ForeignKey(CAMPAIGNS.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("seq", _WHOLE, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

ENTRIES = Table(
    "driftpace_entries",
    METADATA,
    Column("campaign_id", ForeignKey(CAMPAIGNS.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("seq", _WHOLE, primary_key=True, autoincrement=False),
    Column("kind", _TEXT, nullable=False),
    Column("key", _TEXT),
    Column("at", _TEXT, nullable=False),
    Column("batch", _TEXT, nullable=False),
    Column("body", _TEXT, nullable=False),
)
Index("driftpace_entries_by_key", ENTRIES.c.campaign_id, ENTRIES.c.kind, ENTRIES.c.key, ENTRIES.c.seq)
Index("driftpace_entries_by_kind", ENTRIES.c.campaign_id, ENTRIES.c.kind, ENTRIES.c.seq)

ROWS = Table(
    "driftpace_rows",
    METADATA,
    Column("campaign_id", _WHOLE, primary_key=True, autoincrement=False),
    Column("seq", _WHOLE, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
    ForeignKeyConstraint(["campaign_id", "seq"], [ENTRIES.c.campaign_id, ENTRIES.c.seq], ondelete="CASCADE"),
)

TOKENS = Table(
    "driftpace_tokens",
    METADATA,
    Column("name", _TEXT, primary_key=True),
    Column("digest", _TEXT, nullable=False),
    Column("scopes", _TEXT, nullable=False),
    Column("created_at", _TEXT, nullable=False),
    Column("expires_at", _TEXT),
)
