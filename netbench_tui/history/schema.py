"""The history's tables and how one version becomes the next. Used by history/database.py alone.

`PRAGMA user_version` holds the version; `MIGRATIONS[n]` takes a database from version n to n + 1, in one transaction.
A migration, once released, is never edited. Times are Unix seconds, except `origin`, `window_*`, `first_time`,
`last_time` and `run_event.time`, which are on the workbench's monotonic time line, as the samples inside the blobs are.
"""

# Tells our files from another program's SQLite files: "nbt1" in ASCII.
APPLICATION_ID = 0x6E627431

VERSION_1 = """
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    target TEXT NOT NULL,
    started REAL NOT NULL,
    ended REAL,
    heartbeat REAL NOT NULL,
    owner_pid INTEGER NOT NULL,
    owner_start INTEGER NOT NULL,      -- clock ticks since boot, field 22 of /proc/PID/stat
    owner_boot TEXT NOT NULL,          -- boot_id of the controller
    owner_namespace TEXT NOT NULL      -- in which owner_pid means something, e.g. pid:[4026531836]
) STRICT;
CREATE INDEX session_by_target ON session (target, started);

CREATE TABLE host (
    session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('sender', 'receiver')),
    name TEXT NOT NULL,
    data_nic TEXT NOT NULL,
    view TEXT NOT NULL,                -- HostView as JSON
    PRIMARY KEY (session, role)
) STRICT;

CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    state TEXT NOT NULL,
    preset TEXT NOT NULL,
    test TEXT NOT NULL,                -- TrafficTest as JSON
    generator TEXT NOT NULL,
    started REAL NOT NULL,
    ended REAL,
    origin REAL,
    window_start REAL,
    window_end REAL,
    reason TEXT NOT NULL DEFAULT '',
    hint TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    lost_samples INTEGER NOT NULL DEFAULT 0,      -- lost before they reached the history
    unwritten_samples INTEGER NOT NULL DEFAULT 0, -- lost because the history could not be written in time
    report TEXT                        -- TrafficReport as JSON, its intervals left out; NULL until the run ended
) STRICT;
CREATE INDEX run_by_session ON run (session);
CREATE INDEX run_by_start ON run (started);
CREATE INDEX run_unfinished ON run (session) WHERE state = 'running';

CREATE TABLE metric (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT,
    value REAL,
    unit TEXT NOT NULL,
    source TEXT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT;

CREATE TABLE sample_chunk (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    role TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    records INTEGER NOT NULL,
    first_time REAL NOT NULL,
    last_time REAL NOT NULL,
    arrived REAL NOT NULL,             -- Unix time at which the last record came in
    packed BLOB NOT NULL,              -- history/packing.py
    PRIMARY KEY (run, role, sequence)
) STRICT;

CREATE TABLE interval_chunk (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    role TEXT NOT NULL,                -- who reported: the receiver's intervals are the goodput
    sequence INTEGER NOT NULL,
    records INTEGER NOT NULL,
    first_time REAL NOT NULL,          -- seconds since the streams' start
    last_time REAL NOT NULL,
    arrived REAL NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (run, role, sequence)
) STRICT;

CREATE TABLE process_output (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    role TEXT NOT NULL,
    tool TEXT NOT NULL,
    argv TEXT NOT NULL,                -- JSON
    stdout BLOB NOT NULL,              -- zlib
    stderr BLOB NOT NULL,              -- zlib
    exit_code INTEGER,
    signal INTEGER,
    user_seconds REAL,
    system_seconds REAL,
    cpus TEXT NOT NULL,                -- JSON
    PRIMARY KEY (run, position)
) STRICT;

CREATE TABLE run_event (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    time REAL NOT NULL,
    role TEXT,
    text TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT;
"""

VERSION_2 = """
CREATE TABLE change (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    target TEXT,                       -- HostTarget as JSON; NULL for a host of the built-in lab
    host TEXT NOT NULL,
    role TEXT NOT NULL,
    boot_id TEXT NOT NULL,             -- the host's, when it was changed
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    found TEXT,                        -- NULL: there was no such setting
    ours TEXT,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    time REAL NOT NULL,                -- of the first change of this setting
    updated REAL NOT NULL,             -- of the last word on it, and the owner's heartbeat while it is held
    note TEXT NOT NULL,
    owner_pid INTEGER NOT NULL,
    owner_start INTEGER NOT NULL,
    owner_boot TEXT NOT NULL,
    owner_namespace TEXT NOT NULL
) STRICT;
CREATE INDEX change_open ON change (host) WHERE state IN ('held', 'permanent', 'refused');
CREATE INDEX change_by_owner ON change (owner_pid, owner_start);
"""

VERSION_3 = """
CREATE TABLE run_setting (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,               -- a NIC's name or 'machine'
    key TEXT NOT NULL,
    old TEXT,                          -- before the run; NULL: there was no such setting
    asked TEXT,                        -- by the preset; NULL: it moved along with another
    now TEXT,                          -- during the run
    was_active TEXT NOT NULL,
    active TEXT NOT NULL,
    code TEXT NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT;
"""

MIGRATIONS: tuple[str, ...] = (VERSION_1, VERSION_2, VERSION_3)
