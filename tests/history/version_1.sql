-- A history of version 1, as the netbench-tui of that version wrote it: one session, one run.
PRAGMA application_id=1851946033;
PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE host (
    session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('sender', 'receiver')),
    name TEXT NOT NULL,
    data_nic TEXT NOT NULL,
    view TEXT NOT NULL,                -- HostView as JSON
    PRIMARY KEY (session, role)
) STRICT;
INSERT INTO "host" VALUES(1,'sender','alpha','eth1','{"addresses":{"4":"192.0.2.1","6":"2001:db8::1"},"clock":{"error":0.0001,"offset":1.5,"round_trip":0.0002},"data_nic":"eth1","facts":{"boot_id":"","clock_ticks":100,"cpu_model":"","cpus":[],"distribution":"","environment":{"governor":"performance"},"kernel":"","machine":"","name":"alpha","nics":[{"addresses":[],"bus":"","driver":"veth","duplex":"","firmware":"","index":0,"kind":"","mac":"","mtu":1500,"name":"eth1","node":null,"rx_queues":0,"speed_mbit":null,"state":"unknown","tx_queues":0}],"nodes":[],"notes":[],"product":"","python":"","tools":[],"uid":-1},"management_nic":"","name":"alpha","privilege":"root","privilege_note":"","reach":"ssh","role":"sender","shares_cpus":false,"transport_note":""}');
INSERT INTO "host" VALUES(1,'receiver','beta','eth1','{"addresses":{"4":"192.0.2.1","6":"2001:db8::1"},"clock":{"error":0.0001,"offset":1.5,"round_trip":0.0002},"data_nic":"eth1","facts":{"boot_id":"","clock_ticks":100,"cpu_model":"","cpus":[],"distribution":"","environment":{"governor":"performance"},"kernel":"","machine":"","name":"beta","nics":[{"addresses":[],"bus":"","driver":"veth","duplex":"","firmware":"","index":0,"kind":"","mac":"","mtu":1500,"name":"eth1","node":null,"rx_queues":0,"speed_mbit":null,"state":"unknown","tx_queues":0}],"nodes":[],"notes":[],"product":"","python":"","tools":[],"uid":-1},"management_nic":"","name":"beta","privilege":"root","privilege_note":"","reach":"ssh","role":"receiver","shares_cpus":false,"transport_note":""}');
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
INSERT INTO "interval_chunk" VALUES(1,'receiver',0,10,0.0,1.0,1.79528672723589634895e+09,X'01789C3DCACB0900211004D1FBC62232E3DF5864F34FC356A4FAD68F5A162D58F4E0F676FEFFAD631613EE72BF9EE4194FF4595EF04C5FE4152FF455DEF04ADFE41D6FF45D3EF04E3FE4131FF4B2D33C9FB7DFDE042ECE');
INSERT INTO "interval_chunk" VALUES(1,'sender',0,5,0.0,0.5,1.79528672723616266248e+09,X'01789C3DCADB0900200C43D17F6729257D384D71FF356C4592BF1C6E41215013C3DFFCB36A0CEA746BB7E7DE1E74671FED490FF6D9BEE9F9FA0B70701741');
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
INSERT INTO "metric" VALUES(1,0,'throughput',NULL,8000000000.0,'bit/s','iperf3 intervals','');
INSERT INTO "metric" VALUES(1,1,'peak_cpu','sender',98.5,'%','/proc/stat','cpu 3');
INSERT INTO "metric" VALUES(1,2,'efficiency','receiver',NULL,'Gbit/s/core','throughput / busy_cores','no samples');
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
INSERT INTO "process_output" VALUES(1,0,'receiver','iperf3','["iperf3","-s","-1"]',X'789CAB56A8E5AA268001C1140A33',X'789C030000000001',0,NULL,0.5,1.5,'[1]');
INSERT INTO "process_output" VALUES(1,1,'sender','iperf3','["iperf3","-c","192.0.2.1"]',X'789CCB4F495178BB79BF425265492A00243B058B',X'789CAB000000790079',NULL,9,NULL,NULL,'[]');
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
INSERT INTO "run" VALUES(1,1,'finished','quick-tcp','{"generator":"auto","ip_version":4,"message_bytes":131072,"protocol":"tcp","receiver_cpus":[],"seconds":5.0,"sender_cpus":[0,2],"streams":4}','iperf3',1790000000.0,1790000005.5,1000.1,1000.4,1001.0,'','','before the change',2,0,'{"error":"","mss":1448,"notes":[],"own":{"cpu_utilization_percent":12.5},"received":[],"retransmits":5,"sent":[],"version":"iperf 3.12"}');
CREATE TABLE run_event (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    time REAL NOT NULL,
    role TEXT,
    text TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT;
INSERT INTO "run_event" VALUES(1,0,1000.5,'sender','TSO off');
INSERT INTO "run_event" VALUES(1,1,1000.7,NULL,'noted');
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
INSERT INTO "sample_chunk" VALUES(1,'sender',0,30,1000.0,1002.9,1790000005.0,X'01789C95D6BD4A034114C5F1DEC7D87A0873CE7EFB186AB7A408BAA84D0C49C0427C7797646E1439E67A599819B6B8FF6A7ECC849CF32AA7BC42AA0EBBCDFBB64A394D534E5876A6769DA67EBD2C53351F5F509D8E79593FAA87C7DDEA6E3EEE37DBC3FDFC7CA86EEBCFF5CD749A87F3BCDDBC7F7D7B120397D3F7871FE37FFD3CEF57538CA4A8522C297AA93A92AA55AA2EA9DA4B359154A3524D49355EAA8DA45A956A4BAAF5525D24D5A95457529D97EA23A95EA5FA92EABDD410490D2A3594D4E0A5C6486A54A9B1A4C6EB291809FFBCC259DEE16C97D801034130B41817321C33103303120D981A70D8408C0D48376070C09103313920E980D901070FC4F080D403C6071C3F10F303121098207008418C1048436088C05104314520198139020712C42081940446091C4B18B384D2129A25742C61CC124A4B6896D0B184C1F7877E805C5E208E258C59426909CD123A96306609A525344BE858C298259496D02CA163096396505A42B3848E258C59426909CD123A96306609A525344BE858C298259496D02CE1DF967C01D7864774');
INSERT INTO "sample_chunk" VALUES(1,'receiver',0,30,1000.0,1002.9,1790000005.0,X'01789C95D6BD4A034114C5F1DEC7D87A0873CE7EFB186AB7A408BAA84D0C49C0427C7797646E1439E67A599819B6B8FF6A7ECC849CF32AA7BC42AA0EBBCDFBB64A394D534E5876A6769DA67EBD2C53351F5F509D8E79593FAA87C7DDEA6E3EEE37DBC3FDFC7CA86EEBCFF5CD749A87F3BCDDBC7F7D7B120397D3F7871FE37FFD3CEF57538CA4A8522C297AA93A92AA55AA2EA9DA4B359154A3524D49355EAA8DA45A956A4BAAF5525D24D5A95457529D97EA23A95EA5FA92EABDD410490D2A3594D4E0A5C6486A54A9B1A4C6EB291809FFBCC259DEE16C97D801034130B41817321C33103303120D981A70D8408C0D48376070C09103313920E980D901070FC4F080D403C6071C3F10F303121098207008418C1048436088C05104314520198139020712C42081940446091C4B18B384D2129A25742C61CC124A4B6896D0B184C1F7877E805C5E208E258C59426909CD123A96306609A525344BE858C298259496D02CA163096396505A42B3848E258C59426909CD123A96306609A525344BE858C298259496D02CE1DF967C01D7864774');
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
INSERT INTO "session" VALUES(1,'{"receiver":{"name":"beta","reach":"ssh"},"sender":{"name":"alpha","reach":"ssh"}}',1.79528672723092198371e+09,1.79528672723637390141e+09,1.79528672723637390141e+09,4321,987654,'5e0f3a0c-0000-4000-8000-000000000001','pid:[4026531836]');
CREATE INDEX session_by_target ON session (target, started);
CREATE INDEX run_by_session ON run (session);
CREATE INDEX run_by_start ON run (started);
CREATE INDEX run_unfinished ON run (session) WHERE state = 'running';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('session',1);
INSERT INTO "sqlite_sequence" VALUES('run',1);
COMMIT;
