-- trace.db: the tables and views of a recorded run. This file is the only source of the schema; `mpistair ingest`
-- executes it, `mpistair predict` adds rows to machine..., prediction..., `mpistair replay` to replay....
--
-- Units stand in the names: _ns integers since the start of the run (the first MPI_Init) on the clock of rank 0's
-- node, _s reals, bytes. Ranks are ranks of MPI_COMM_WORLD; those of a second one, spawned or connected, go on behind.
-- Levels are self, intra_socket, inter_socket, inter_node, proc_null, or NULL where a place is not known.

PRAGMA user_version = 14;

-- What repeats in rows by the million is stored as numbers: message_row and call_row are the tables, message and call the
-- views to read them by. An INSERT into message works (a trigger stores it); ingest writes message_row itself.

-- Functions of MPI by the number that ingest gives them.
CREATE TABLE function(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL                   -- MPI_Isend ...
);

CREATE TABLE run(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  run_key TEXT NOT NULL,
  mpistair_version TEXT NOT NULL,
  started_unix_ns INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,        -- first MPI_Init to the last recorded event
  mpi_family TEXT NOT NULL,            -- MPICH, Open MPI
  mpi_library TEXT NOT NULL,           -- first line of MPI_Get_library_version
  thread_level TEXT NOT NULL,          -- MPI_THREAD_SINGLE ...
  command TEXT NOT NULL,               -- of all processes; where they differ every one with its ranks, as in program
  world_size INTEGER NOT NULL,
  spools INTEGER NOT NULL,             -- processes found; fewer than world_size: the others are lost
  eager_limit_bytes INTEGER,           -- of the transport inside a node, by MPI_T; NULL: not known
  eager_limit_network_bytes INTEGER,   -- of the transport between nodes; NULL: not known, or one node
  own_cost_ns REAL,                    -- that recording adds to a nonblocking call, measured at start; NULL: not measured
  started_by TEXT,                     -- MPI_Init, MPI_Session_init ...; NULL: not known
  detail TEXT NOT NULL                 -- what has rows of single calls and messages: all, bursts (table burst), none
);

CREATE TABLE node(
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  sockets INTEGER,
  cores INTEGER,
  topology TEXT,                       -- hwloc XML; NULL: not known
  machine INTEGER,                     -- the first node with some of its cores, as containers of one kernel have; its own id
                                       -- where it shares none; NULL: not known
  processors INTEGER                   -- hardware threads that the job may use; NULL: not known
);

-- The switches above each node, as Slurm told the job (SLURM_TOPOLOGY_ADDR); none: not known. report and query put those of
-- --topology in front of it.
CREATE TABLE node_switch(
  node INTEGER NOT NULL REFERENCES node(id),
  level INTEGER NOT NULL,              -- 1: the switch that the node is attached to; 2: the one above that; ...
  switch TEXT NOT NULL,
  PRIMARY KEY (node, level)
) WITHOUT ROWID;

CREATE TABLE process(
  rank INTEGER PRIMARY KEY,
  node INTEGER REFERENCES node(id),    -- NULL: no spool of this rank was found
  socket INTEGER,                      -- within its node; where it ran most
  numa INTEGER,
  l3 INTEGER,
  core INTEGER,
  pid INTEGER,
  place TEXT,                          -- where the place is from: placement, observed
  ended TEXT NOT NULL,                 -- finalize, abort, exit, killed; at once (in MPI_Init), lost: left no spool
  begin_ns INTEGER,
  end_ns INTEGER,
  world INTEGER NOT NULL DEFAULT 0,    -- 0: the first MPI_COMM_WORLD; 1, ...: others that were spawned or connected
  world_rank INTEGER,                  -- rank in that world
  -- From the end of MPI_Init to the begin of the end; NULL: killed, or not known.
  observed_ns INTEGER,
  run_ns INTEGER,                      -- user and system time of all threads
  wait_ns INTEGER,                     -- of the main thread: ready to run while others had its processor
  involuntary_switches INTEGER,        -- of all threads
  launched INTEGER,                    -- alone in its MPI_COMM_WORLD: how many processes its launcher started together,
                                       -- which then is not that of its MPI; NULL: not alone, or started alone
  processor INTEGER                    -- the operating system's number of the one on which it posted most
);

CREATE TABLE clock(
  node INTEGER NOT NULL REFERENCES node(id),
  at_ns INTEGER NOT NULL,
  offset_ns INTEGER NOT NULL,          -- rank 0's clock = the node's clock + offset_ns
  uncertainty_ns INTEGER NOT NULL,
  source TEXT NOT NULL                 -- reference, init, finalize, messages
);

CREATE TABLE callsite(
  id INTEGER PRIMARY KEY,
  module TEXT NOT NULL,
  offset INTEGER NOT NULL,             -- of the return address in the module's file
  build_id TEXT,                       -- of the file that ran; NULL: it has none
  function TEXT,
  file TEXT,
  line INTEGER
);

-- Functions of the source at a call site: depth 0 has the call, 1 is its caller where the compiler inlined it there, ...
CREATE TABLE frame(
  callsite INTEGER NOT NULL REFERENCES callsite(id),
  depth INTEGER NOT NULL,
  name TEXT NOT NULL,                  -- short: of a function of C++ without result and parameters
  function TEXT NOT NULL,
  file TEXT,
  line INTEGER,                        -- of the call
  PRIMARY KEY (callsite, depth)
) WITHOUT ROWID;

-- Regions that the program marks, by name. Regions of one name within different ones are different.
CREATE TABLE region(
  id INTEGER PRIMARY KEY,
  parent INTEGER REFERENCES region(id), -- the one around it; NULL: none
  name TEXT NOT NULL,
  path TEXT NOT NULL,                  -- names of those around it and its own, with '/' between
  depth INTEGER NOT NULL,              -- 0: none is around it
  way TEXT NOT NULL                    -- by which it was marked first: mpistair, MPI_Pcontrol, NVTX, ITT, Kokkos, Caliper
);

-- Call sites within a region, whose calls were all made there; those outside of all regions have no row. The same place in
-- the program is another call site in another region.
CREATE TABLE site_region(
  callsite INTEGER PRIMARY KEY REFERENCES callsite(id),
  region INTEGER NOT NULL REFERENCES region(id)
);

-- Sums of all occurrences of a region on a rank, of all its threads, whatever part of the run has records.
CREATE TABLE region_total(
  rank INTEGER NOT NULL,
  region INTEGER NOT NULL REFERENCES region(id),
  occurrences INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,            -- from begin to end, inclusive of regions within it
  inner_ns INTEGER NOT NULL,           -- of that, in regions within it
  longest_ns INTEGER NOT NULL,         -- of one occurrence
  mpi_ns INTEGER NOT NULL,             -- inside MPI, outside of regions within it
  inner_mpi_ns INTEGER NOT NULL,       -- inside MPI, in regions within it
  square_s2 REAL NOT NULL,             -- squares of the times of the occurrences, added up
  PRIMARY KEY (region, rank)
) WITHOUT ROWID;

-- Single occurrences: of a thinned run those that have a record.
CREATE TABLE occurrence(
  id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  region INTEGER NOT NULL REFERENCES region(id),
  lane INTEGER NOT NULL,               -- of its thread
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,             -- begin_ns: a moment that the program marked
  inner_ns INTEGER NOT NULL,           -- in regions within it
  mpi_ns INTEGER,                      -- inside MPI, also within those; NULL: records that tell it are gone
  unended INTEGER NOT NULL             -- 1: the end of the recording or a kill ended it
);

-- Borders of regions that went wrong.
CREATE TABLE region_fault(
  rank INTEGER NOT NULL,
  fault TEXT NOT NULL,                 -- no begin: ends that were ignored; no end: ended with the one around them, or their
                                       -- thread; other: occurrences in '(other regions)', as a process has room for 2046;
                                       -- ignored: begins nested too deeply, or of a thread without sums
  n INTEGER NOT NULL,
  PRIMARY KEY (rank, fault)
) WITHOUT ROWID;

-- Call sites as all commands name them. name: the function, or 'libfoo.so+0x1a2b' of the module where none is known;
-- callers: ' in outer :17', where it was inlined, and ' [solve/halo]', the region; place: 'inner t.c:6 in outer :17 [solve]'.
CREATE VIEW site(id, name, file, line, callers, place) AS
  WITH named AS (
    SELECT id, coalesce((SELECT name FROM frame f WHERE f.callsite = c.id AND f.depth = 0), function,
                        replace(module, rtrim(module, replace(module, '/', '')), '') || printf('+0x%x', offset)) AS name,
           file, line,
           (SELECT group_concat(' in ' || name || coalesce(' ' || source, ''), '')
            FROM (SELECT name, depth, iif(file IS lag(file) OVER (ORDER BY depth), '',
                                          replace(file, rtrim(file, replace(file, '/', '')), '')) || ':' || line AS source
                  FROM frame f WHERE f.callsite = c.id ORDER BY depth)
            WHERE depth > 0) AS callers
    FROM callsite c)
  SELECT id, name, file, line, coalesce(callers, '') || within,
         name || coalesce(' ' || file || ':' || line, '') || coalesce(callers, '') || within
  FROM (SELECT n.*, coalesce(' [' || (SELECT path FROM site_region s JOIN region r ON r.id = s.region
                                      WHERE s.callsite = n.id) || ']', '') AS within
        FROM named n);

-- Each region with itself and those around it.
CREATE VIEW region_within(region, outer_region) AS
  WITH RECURSIVE around(region, outer_region) AS (
    SELECT id, id FROM region
    UNION ALL
    SELECT a.region, r.parent FROM around a JOIN region r ON r.id = a.outer_region WHERE r.parent IS NOT NULL)
  SELECT region, outer_region FROM around;

-- The sums of a region with those within it: inclusive_ns from begin to end, exclusive_ns outside of regions within it, mpi_ns
-- of that inclusive time inside MPI, of all threads together. variance_s2: of the time of an occurrence.
CREATE VIEW region_sum(rank, region, occurrences, inclusive_ns, exclusive_ns, longest_ns, mean_ns, variance_s2, mpi_ns,
                       exclusive_mpi_ns) AS
  SELECT t.rank, t.region, t.occurrences, t.time_ns, t.time_ns - t.inner_ns, t.longest_ns,
         1.0 * t.time_ns / nullif(t.occurrences, 0),
         iif(t.occurrences > 1, max(0.0, t.square_s2 / t.occurrences -
                                         1e-18 * t.time_ns / t.occurrences * t.time_ns / t.occurrences), NULL),
         t.mpi_ns + t.inner_mpi_ns, t.mpi_ns
  FROM region_total t;

-- Occurrences that took their rank at least twice as long outside of MPI as half of the region's did, which cost 0.1 % of the
-- run's length or more. number: 1, 2, ... among those of its rank that have a record; median_ns: of own_ns over all ranks.
CREATE VIEW slow_occurrence(rank, region, number, begin_ns, time_ns, own_ns, median_ns) AS
  WITH one AS (SELECT rank, region, begin_ns, end_ns - begin_ns AS time_ns, end_ns - begin_ns - mpi_ns AS own_ns,
                      row_number() OVER (PARTITION BY rank, region ORDER BY begin_ns) AS number
               FROM occurrence WHERE mpi_ns IS NOT NULL AND end_ns > begin_ns AND NOT unended),
  placed AS (SELECT region, own_ns, row_number() OVER (PARTITION BY region ORDER BY own_ns) AS place,
                    count(*) OVER (PARTITION BY region) AS n FROM one),
  median AS (SELECT region, own_ns AS median_ns FROM placed WHERE place = (n + 1) / 2 AND n >= 10)
  SELECT o.rank, o.region, o.number, o.begin_ns, o.time_ns, o.own_ns, m.median_ns
  FROM one o JOIN median m ON m.region = o.region
  WHERE o.own_ns >= 2 * m.median_ns AND (o.own_ns - m.median_ns) * 1000.0 >= (SELECT duration_ns FROM run);

-- Modules whose call sites have no function, file and line since their files are not there any more, or are other ones.
CREATE TABLE unnamed_module(
  module TEXT NOT NULL,                -- as in callsite; ?: of those whose module is not known
  build_id TEXT,
  callsites INTEGER NOT NULL,
  reason TEXT NOT NULL
);

CREATE TABLE communicator(
  id INTEGER PRIMARY KEY,              -- 0: MPI_COMM_WORLD
  name TEXT,                           -- what MPI_Comm_set_name gave it last, on its lowest rank that did
  parent INTEGER,
  function TEXT,                       -- that made it
  size INTEGER NOT NULL,               -- of an intercommunicator: of this group
  remote INTEGER,                      -- of an intercommunicator: the other group; messages bear the smaller id of both
  known INTEGER NOT NULL               -- 0: its creation was not seen, or two threads made the like at once: a guess
);

CREATE TABLE communicator_member(
  communicator INTEGER NOT NULL REFERENCES communicator(id),
  rank INTEGER NOT NULL,               -- in the communicator
  world_rank INTEGER NOT NULL,
  PRIMARY KEY (communicator, rank)
) WITHOUT ROWID;

-- What many messages have in common: how they were sent and received.
CREATE TABLE form(
  id INTEGER PRIMARY KEY,
  level INTEGER,                       -- 0 self, 1 intra_socket, 2 inter_socket, 3 inter_node
  send_function INTEGER NOT NULL REFERENCES function(id),
  recv_function INTEGER NOT NULL REFERENCES function(id),
  send_callsite INTEGER,
  recv_callsite INTEGER,
  any_source INTEGER NOT NULL,         -- the receive was posted with MPI_ANY_SOURCE
  any_tag INTEGER NOT NULL,
  uncertain INTEGER NOT NULL,          -- 0: its order is certain; else why not, bits as in the view doubt
  send_completed INTEGER,              -- operations that the posting call completed; NULL: it posted another one before
  recv_completed INTEGER,              -- (Sendrecv), which stands for the call
  send_memory TEXT,                    -- where its buffers lie: pinned, device N, managed N (N: the GPU, 31 and above
  recv_memory TEXT                     -- as 31); NULL: memory of the host that no GPU's driver knows
);

-- A matched pair. Completion is the return of the call that reported it: an upper bound.
CREATE TABLE message_row(
  id INTEGER PRIMARY KEY,
  src INTEGER NOT NULL,
  dst INTEGER NOT NULL,
  comm INTEGER NOT NULL,
  tag INTEGER NOT NULL,
  bytes INTEGER NOT NULL,              -- as sent
  form INTEGER NOT NULL REFERENCES form(id),
  round_id INTEGER,                    -- NULL: src = dst
  send_post_ns INTEGER NOT NULL,
  send_ns INTEGER,                     -- from there to the completion; NULL: never reported complete
  late_ns INTEGER NOT NULL,            -- from there to the post of the receive
  recv_ns INTEGER,                     -- from the receive's post to its completion
  room_bytes INTEGER NOT NULL,         -- posted by the receive beyond what was sent
  send_cpu INTEGER,
  recv_cpu INTEGER,
  send_call_ns INTEGER,                -- length of the posting calls; NULL: calls were not wanted
  recv_call_ns INTEGER
);

-- Operations without a partner. reason: partner_lost (its process left no spool or lost records), cancelled, failed (MPI
-- rejected the call, or it was left by a jump), proc_null, pending (never completed), freed (its request was freed, so that
-- nobody knows whether it ever completed), cut_off (its partner lies outside
-- the burst, or it is not known), unmatched.
CREATE TABLE unmatched(
  id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  direction TEXT NOT NULL,             -- send, receive
  peer INTEGER,                        -- rank of MPI_COMM_WORLD; NULL: wildcard or not known
  comm INTEGER NOT NULL,
  tag INTEGER,
  bytes INTEGER NOT NULL,
  reason TEXT NOT NULL,
  post_ns INTEGER NOT NULL,
  complete_ns INTEGER,
  function TEXT NOT NULL,
  callsite INTEGER
);

-- Calls that posted no message: completion calls, collectives, posts of unmatched operations. Those that posted one are in
-- message_row; `call` has all.
CREATE TABLE call_row(
  rank INTEGER NOT NULL,
  function INTEGER NOT NULL REFERENCES function(id),
  begin_ns INTEGER NOT NULL,
  call_ns INTEGER NOT NULL,
  completed INTEGER NOT NULL,          -- operations that it reported complete
  idle_calls INTEGER NOT NULL,         -- unsuccessful tests and probes that the row stands for, call_ns of all; 0: a call
  callsite INTEGER
);

CREATE TABLE collective(
  id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  function TEXT NOT NULL,
  comm INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  root INTEGER,                        -- rank of MPI_COMM_WORLD; NULL: none
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER,                      -- return of the call that reported it complete; NULL: none did
  call_ns INTEGER NOT NULL,            -- inside the call that began it
  nonblocking INTEGER NOT NULL,        -- 1: nonblocking or persistent, another call waited for it
  persistent INTEGER,                  -- NULL: not of a persistent request
  stack INTEGER,
  callsite INTEGER,
  instance INTEGER                     -- number among the calls of its rank that meet the same ones of others; NULL: not known
);

-- Requests made by MPI_..._init. Their starts are operations (table origin) and collectives.
CREATE TABLE persistent(
  id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  function TEXT NOT NULL,              -- MPI_Ssend_init ...
  direction TEXT NOT NULL,             -- send, receive, collective
  peer INTEGER,                        -- rank of MPI_COMM_WORLD; NULL: none, wildcard
  comm INTEGER NOT NULL,
  tag INTEGER,                         -- NULL: none, wildcard
  bytes INTEGER NOT NULL,
  partitions INTEGER NOT NULL,         -- 0: not partitioned
  init_ns INTEGER NOT NULL,
  starts INTEGER NOT NULL,
  callsite INTEGER
);

-- Of operations that were started from a persistent request, or whose stack was kept.
CREATE TABLE origin(
  message_id INTEGER REFERENCES message_row(id),
  unmatched_id INTEGER REFERENCES unmatched(id),
  direction TEXT NOT NULL,             -- send, receive
  persistent INTEGER REFERENCES persistent(id),
  stack INTEGER                        -- stack.id
);

-- Of each side of a partitioned message a row with partition NULL: its first and its last partition. With
-- MPISTAIR_PARTITIONS=1 also a row a partition. Of a send MPI_Pready, of a receive MPI_Parrived that answered yes.
CREATE TABLE partition(
  message_id INTEGER REFERENCES message_row(id),
  unmatched_id INTEGER REFERENCES unmatched(id),
  rank INTEGER NOT NULL,
  direction TEXT NOT NULL,             -- send, receive
  partition INTEGER,
  first_ns INTEGER,                    -- entry of the first MPI_Pready, return of the first MPI_Parrived; NULL: none
  last_ns INTEGER,
  done INTEGER NOT NULL,               -- marked ready, or answered yes
  partitions INTEGER NOT NULL,         -- all
  function TEXT,                       -- MPI_Pready_list ...; NULL: a row of all partitions
  callsite INTEGER
);

-- One-sided communication: transfers with their bytes, and synchronisations.
CREATE TABLE rma(
  id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  function TEXT NOT NULL,
  comm INTEGER,                        -- of the window; NULL: not known
  window INTEGER,                      -- 1, 2, ... in its process; NULL: not known
  target INTEGER,                      -- rank of MPI_COMM_WORLD; NULL: none
  bytes INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER,                      -- as in collective
  call_ns INTEGER NOT NULL,
  stack INTEGER,
  nonblocking INTEGER NOT NULL,
  callsite INTEGER,
  instance INTEGER                     -- as in collective, of joint calls
);

-- Calls on files, by MPI_File_open, _close and what lies between; also MPI_File_delete.
CREATE TABLE file_call(
  id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  function TEXT NOT NULL,
  comm INTEGER,                        -- that opened the file; NULL: none, or not known
  file INTEGER,                        -- 1, 2, ... in its process by MPI_File_open; NULL: none, or not known
  bytes INTEGER NOT NULL,              -- as asked for; 0: of a call that failed, or that moves none
  offset INTEGER,                      -- as given to the call, in elements of the view; NULL: none was
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER,                      -- as in collective
  call_ns INTEGER NOT NULL,
  nonblocking INTEGER NOT NULL,
  collective INTEGER NOT NULL,         -- 1: all ranks of comm call it; both halves of a split one
  failed INTEGER NOT NULL,             -- 1: it returned an error
  stack INTEGER,
  callsite INTEGER,
  instance INTEGER                     -- as in collective, of joint calls
);

-- All calls of all ranks, added up, whatever part of the run has rows of single ones. An operation, one side of a message,
-- counts as a call of the function that posted it: MPI_Sendrecv has two, of which the receive has no time.
CREATE TABLE total(
  rank INTEGER NOT NULL,
  function INTEGER NOT NULL REFERENCES function(id),
  callsite INTEGER,                    -- NULL: not known, or several
  comm INTEGER,                        -- NULL: none, not known, or several
  peer INTEGER,                        -- rank of MPI_COMM_WORLD; NULL: none, a wildcard that met none, or several
  several INTEGER NOT NULL,            -- 1: the calls had peers, which the recorder had no room to tell apart
  level INTEGER,                       -- as in form, between the places of both processes; NULL: no peer, or not known
  direction TEXT,                      -- send, receive: operations, bytes as posted; NULL: other calls
  bin INTEGER NOT NULL,                -- bytes of each call: 0: none; n: from 2^(n-1) on, below 2^n; idle: 0: the first of
                                       -- each row of them, all timed; 1: the others
  calls INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,            -- inside the calls
  longest_ns INTEGER NOT NULL,         -- of one call; idle: of the first ones of a row
  off INTEGER NOT NULL,                -- 1: while recording was off
  idle INTEGER NOT NULL,               -- 1: tests and probes without a result
  error_ns INTEGER                     -- standard error of time_ns, where only some idle calls were timed; NULL: exact
);

-- The course of each rank's time: windows of one length, one behind the other from its begin on, at most 512. Time inside
-- calls by what they are; what is left is computation. Where threads call MPI at the same time the sum may exceed the window.
CREATE TABLE course(
  rank INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  point_to_point_ns INTEGER NOT NULL,  -- calls that post operations, blocking ones whole
  wait_ns INTEGER NOT NULL,            -- MPI_Wait..., tests that completed something, probes
  idle_ns INTEGER NOT NULL,            -- tests and probes without a result
  collective_ns INTEGER NOT NULL,
  one_sided_ns INTEGER NOT NULL,
  file_ns INTEGER NOT NULL,
  other_ns INTEGER NOT NULL,
  calls INTEGER NOT NULL,              -- that began in it
  bytes INTEGER NOT NULL               -- of the operations among them that send
);

-- What the kernel counted of each rank, between one sample and the next: at most 254, one behind the other. All threads
-- together, but for wait_ns and clock_cycles; without the thread that counts. NULL: not known.
CREATE TABLE counter(
  rank INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  user_ns INTEGER,                     -- on a processor, in the program
  system_ns INTEGER,                   -- on a processor, in the kernel
  wait_ns INTEGER,                     -- the main thread was ready to run while others had its processor
  voluntary_switches INTEGER,          -- a thread began to wait
  involuntary_switches INTEGER,        -- a thread's processor was taken away
  minor_faults INTEGER,                -- pages that the kernel made or found in memory
  major_faults INTEGER,                -- pages that it read from a disk
  migrations INTEGER,                  -- to another processor
  instructions INTEGER,                -- in the program, as cycles
  cycles INTEGER,
  clock_cycles INTEGER,                -- of the clock of the main thread's processor, whoever had it
  openmp_region_ns INTEGER,            -- parallel regions of OpenMP; NULL, as the next two: none, or its runtime does not tell
  openmp_thread_ns INTEGER,            -- the same, of all their threads together
  openmp_idle_ns INTEGER               -- of that, in barriers without a task to run
);

-- Why instructions and cycles are known or not, of each rank that has counters.
CREATE TABLE counter_source(
  rank INTEGER PRIMARY KEY,
  perf TEXT                            -- there, forbidden, none: the machine has no counters; NULL: not tried
);

-- What went through the network interfaces of each node, of all programs, between one sample and the next. NULL: not known.
CREATE TABLE network(
  node INTEGER NOT NULL,
  interface TEXT NOT NULL,             -- eth0, mlx5_0/1; tcp: TCP of the node, which has retransmissions only
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  in_bytes INTEGER,
  out_bytes INTEGER,
  packets INTEGER,                     -- both ways, as the rest
  errors INTEGER,                      -- and packets that were dropped
  retransmissions INTEGER
);

-- The windows of all ranks on one grid, as long as the longest of them, from the first one's begin on: what of each a rank was
-- there, and computed (outside MPI). A window of the table counts in those of the grid by how much of it lies there.
CREATE VIEW window_rank(number, begin_ns, end_ns, rank, there_ns, computed_ns) AS
  WITH grid AS MATERIALIZED (SELECT min(begin_ns) AS first_ns, max(end_ns - begin_ns) AS width_ns, max(end_ns) AS last_ns FROM course),
       half(n) AS (VALUES (0), (1)),
       cut AS (
    SELECT (c.begin_ns - first_ns) / width_ns + n AS number, rank, width_ns, first_ns, last_ns, c.begin_ns, c.end_ns,
           max(1.0 * c.end_ns - c.begin_ns - (1.0 * point_to_point_ns + wait_ns + idle_ns + collective_ns + one_sided_ns + file_ns + other_ns), 0)
             / (c.end_ns - c.begin_ns) AS share
    FROM course c, grid, half WHERE c.end_ns > c.begin_ns),
       part AS (
    SELECT number, first_ns + number * width_ns AS begin_ns, min(first_ns + (number + 1) * width_ns, last_ns) AS end_ns, rank, share,
           min(end_ns, first_ns + (number + 1) * width_ns) - max(begin_ns, first_ns + number * width_ns) AS there_ns
    FROM cut)
  SELECT number, begin_ns, end_ns, rank, sum(1.0 * there_ns), sum(there_ns * share) FROM part WHERE there_ns > 0 GROUP BY number, rank;

-- The efficiencies of the run in each of these windows, of the ranks that were there: parallel = load_balance * communication.
-- most_rank computed longest. computed_s adds up over windows to the computation of the run.
CREATE VIEW window_efficiency(number, begin_s, end_s, ranks, computed_s, most_rank, most_s, load_balance, communication, parallel) AS
  SELECT number, begin_ns * 1e-9, end_ns * 1e-9, count(*), sum(computed_ns) * 1e-9, max(iif(place = 1, rank, NULL)),
         max(computed_ns) * 1e-9, sum(computed_ns) / count(*) / nullif(max(computed_ns), 0), max(computed_ns) / (end_ns - begin_ns),
         sum(computed_ns) / count(*) / (end_ns - begin_ns)
  FROM (SELECT *, row_number() OVER (PARTITION BY number ORDER BY computed_ns DESC, rank) AS place FROM window_rank)
  GROUP BY number;

-- What each rank was there of the run, and computed (outside MPI). A rank is there from the first begin to the last end of its
-- world, as in the efficiencies of the run; its computation is that of its windows, added up.
CREATE VIEW run_rank(rank, there_ns, computed_ns) AS
  WITH inside AS MATERIALIZED (SELECT rank, sum(computed_ns) AS computed_ns FROM window_rank GROUP BY rank)
  SELECT p.rank, 1.0 * w.end_ns - w.begin_ns,
         coalesce(i.computed_ns, max(1.0 * p.end_ns - p.begin_ns - (SELECT total(time_ns) FROM total t WHERE t.rank = p.rank), 0))
  FROM process p JOIN (SELECT world, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns FROM process GROUP BY world) w ON w.world = p.world
  LEFT JOIN inside i ON i.rank = p.rank WHERE p.begin_ns IS NOT NULL;

-- The same of each region. scope: inclusive: from begin to end; exclusive: outside of regions within it; of region NULL: run: the
-- whole run; outside: the run outside of all regions. ideal_ns: there_ns as it would be on an ideal network, by the last replay of
-- the whole run; NULL: none.
CREATE VIEW region_rank(region, scope, rank, there_ns, computed_ns, ideal_ns) AS
  WITH last AS MATERIALIZED (SELECT max(run_id) AS id FROM replay_ideal JOIN replay_run r ON r.id = run_id),
       own AS MATERIALIZED (
    SELECT p.rank, s.region, sum(i.inside_s) * 1e9 AS inside_ns
    FROM last JOIN replay_ideal i ON i.run_id = last.id JOIN replay_place p ON p.run_id = i.run_id AND p.place = i.place
    LEFT JOIN site_region s ON s.callsite = p.callsite GROUP BY p.rank, s.region),
       ideal AS MATERIALIZED (
    SELECT 'exclusive' AS scope, rank, region, inside_ns FROM own WHERE region IS NOT NULL
    UNION ALL SELECT 'inclusive', rank, outer_region, sum(inside_ns) FROM own JOIN region_within USING (region) GROUP BY rank, outer_region
    UNION ALL SELECT 'outside', rank, -1, inside_ns FROM own WHERE region IS NULL),
       top AS MATERIALIZED (
    SELECT rank, sum(1.0 * time_ns) AS there_ns, sum(1.0 * time_ns - mpi_ns - inner_mpi_ns) AS computed_ns
    FROM region_total WHERE region IN (SELECT id FROM region WHERE parent IS NULL) GROUP BY rank),
       one AS (
    SELECT region, 'inclusive' AS scope, rank, 1.0 * time_ns AS there_ns, 1.0 * time_ns - mpi_ns - inner_mpi_ns AS computed_ns FROM region_total
    UNION ALL SELECT region, 'exclusive', rank, 1.0 * time_ns - inner_ns, 1.0 * time_ns - inner_ns - mpi_ns FROM region_total
    UNION ALL SELECT NULL, 'run', rank, there_ns, computed_ns FROM run_rank
    UNION ALL SELECT NULL, 'outside', r.rank, r.there_ns - coalesce(t.there_ns, 0), r.computed_ns - coalesce(t.computed_ns, 0)
    FROM run_rank r LEFT JOIN top t ON t.rank = r.rank)
  SELECT o.region, o.scope, o.rank, o.there_ns, o.computed_ns,
         CASE WHEN (SELECT id FROM last) IS NOT NULL AND o.scope <> 'run' THEN o.computed_ns + coalesce(i.inside_ns, 0) END
  FROM one o LEFT JOIN ideal i ON i.scope = o.scope AND i.rank = o.rank AND i.region = coalesce(o.region, -1);

-- The efficiencies of each region, of the ranks that were there: parallel: computation as a share of their time there, so that the
-- mean of those of the regions that no other is around, and of outside, weighted by there_s, is that of the run. load_balance:
-- mean over longest computation; communication: longest computation over longest_s, the longest time of a rank there: serialisation
-- (over the longest time on an ideal network) times transfer (that over longest_s). Where all ranks are there equally long,
-- parallel is load_balance * communication; else more, as the others do not wait there. most_rank computed longest. Where threads
-- are in regions side by side, what is outside is not known.
CREATE VIEW region_efficiency(region, path, scope, ranks, there_s, computed_s, longest_s, most_rank, most_s, parallel, load_balance,
                              communication, serialisation, transfer) AS
  WITH one AS (
    SELECT region, scope, count(*) AS ranks, sum(there_ns) AS there_ns, sum(computed_ns) AS computed_ns, max(there_ns) AS longest_ns,
           max(iif(place = 1, rank, NULL)) AS most_rank, max(computed_ns) AS most_ns, min(there_ns) AS least_ns,
           min(max(max(ideal_ns), max(computed_ns)), max(there_ns)) AS ideal_ns
    FROM (SELECT *, row_number() OVER (PARTITION BY region, scope ORDER BY computed_ns DESC, rank) AS place FROM region_rank)
    GROUP BY region, scope HAVING max(there_ns) > 0),
       run AS MATERIALIZED (
    SELECT efficiency, measured FROM replay_efficiency WHERE run_id = (SELECT max(run_id) FROM replay_ideal JOIN replay_run r ON r.id = run_id))
  SELECT region, coalesce(path, '(' || scope || ')'), scope, ranks, there_ns * 1e-9, computed_ns * 1e-9, longest_ns * 1e-9, most_rank,
         most_ns * 1e-9, computed_ns / there_ns, computed_ns / ranks / nullif(most_ns, 0), most_ns / longest_ns,
         iif(scope = 'run', (SELECT measured FROM run WHERE efficiency = 'serialisation'), most_ns / nullif(ideal_ns, 0)),
         iif(scope = 'run', (SELECT measured FROM run WHERE efficiency = 'transfer'), ideal_ns / longest_ns)
  FROM one LEFT JOIN region ON id = region WHERE scope <> 'outside' OR least_ns > -1000.0;

-- For whom others waited in each of these windows, and where: in calls that have rows, by the begin of the wait; waited_s of all.
CREATE VIEW window_awaited(number, rank, function, callsite, waits, waited_s) AS
  WITH grid AS MATERIALIZED (SELECT min(begin_ns) AS first_ns, max(end_ns - begin_ns) AS width_ns FROM course),
       wait AS (
    SELECT begin_ns, partner AS rank, function, callsite, late_ns AS wait_ns FROM late
    UNION ALL SELECT begin_ns, last_rank, function, callsite, wait_ns FROM joint_call WHERE wait_ns > 0)
  SELECT (begin_ns - first_ns) / width_ns, rank, function, callsite, count(*), sum(1.0 * wait_ns) * 1e-9
  FROM wait, grid WHERE width_ns > 0 AND begin_ns >= first_ns GROUP BY 1, 2, 3, 4;

-- Parts of the run that have rows of single calls and messages; none: all of it has, or (run.detail none) nothing.
CREATE TABLE burst(
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL
);

-- The view joint_call added up by ingest. joint_site has that, and computes it for a trace without these rows.
CREATE TABLE joint_sum(
  source TEXT NOT NULL,                -- collective, one-sided, file
  function TEXT NOT NULL,
  callsite INTEGER,
  comm INTEGER,
  nonblocking INTEGER NOT NULL,
  last_rank INTEGER,
  calls INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  time_ns REAL,                        -- from begin to end, whole nanoseconds as all times here; NULL: of no call
  call_ns REAL,
  wait_ns REAL,
  transfer_ns REAL,
  longest_ns REAL                      -- time_ns of one call
);

-- Sums over the messages from one rank to another, of one level and from and to the same call sites. form is one of them:
-- messages whose order is uncertain count with the others. late_...: as in the view late, of the side that waited. There
-- may be several rows of a pair and form, whose sums add up.
CREATE TABLE message_sum(
  src INTEGER NOT NULL,
  dst INTEGER NOT NULL,
  form INTEGER NOT NULL REFERENCES form(id),
  messages INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  late_senders INTEGER NOT NULL,       -- messages that dst waited for
  late_senders_ns INTEGER NOT NULL,
  latest_sender_ns INTEGER NOT NULL,   -- the longest of these waits
  late_receivers INTEGER NOT NULL,     -- messages whose receive src waited for
  late_receivers_ns INTEGER NOT NULL,
  latest_receiver_ns INTEGER NOT NULL
);

-- Sums over the rounds of a kind by rank. There may be several rows of a kind and rank, whose sums add up.
CREATE TABLE kind_sum(
  kind_id INTEGER NOT NULL REFERENCES kind(id),
  rank INTEGER NOT NULL,
  rounds INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,            -- from its first post to its last completion
  in_mpi_ns INTEGER NOT NULL,          -- of that, inside MPI calls
  wait_ns INTEGER NOT NULL,            -- from its end to that of the round's last rank
  longest_ns INTEGER NOT NULL,         -- wait_ns in rounds in which it was done first
  last_rounds INTEGER NOT NULL,        -- in which it was the last one
  late_senders_ns INTEGER NOT NULL,    -- as in the view rank_late
  late_receivers_ns INTEGER NOT NULL
);

-- Stacks of callers, kept with MPISTAIR_STACK=n; depth 0 is where MPI was called.
CREATE TABLE stack(
  id INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  callsite INTEGER,
  PRIMARY KEY (id, depth)
) WITHOUT ROWID;

-- MPI_Pcontrol(number): 0 recording off, 1 on, 2 flush, anything else is the program's and bounds rounds.
CREATE TABLE mark(
  rank INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  callsite INTEGER
);

-- What ranks ran, by the command lines of their processes; the ranks of a row follow each other.
CREATE TABLE program(
  first_rank INTEGER PRIMARY KEY,
  last_rank INTEGER NOT NULL,
  command TEXT NOT NULL
);

CREATE TABLE untracked(
  rank INTEGER NOT NULL,
  name TEXT NOT NULL,
  calls INTEGER NOT NULL,
  affects_messages INTEGER NOT NULL,   -- 1: a message may be missing because of it
  PRIMARY KEY (rank, name)
) WITHOUT ROWID;

CREATE TABLE loss(
  rank INTEGER NOT NULL,
  cause TEXT NOT NULL,                 -- disk, limit, memory, closed (by the program), file_size, address_space (limits
                                       -- of the process), refused_EPERM (or another error of the system), cut_off,
                                       -- damaged, no_spool, at_once, not_joined
  n INTEGER NOT NULL,                  -- records; processes for no_spool, at_once, not_joined
  PRIMARY KEY (rank, cause)
) WITHOUT ROWID;

-- Time of ranks whose recording stopped before they ended: the spool was full, or its end is missing. A thread that had room
-- left may have recorded calls behind begin_ns.
CREATE TABLE not_recorded(
  rank INTEGER PRIMARY KEY,
  begin_ns INTEGER NOT NULL,           -- entry of the first call that was lost
  end_ns INTEGER NOT NULL              -- of the process
);

-- Calls that MPI rejected since it does not know their communicator. The other ones are in unmatched, reason failed.
CREATE TABLE rejected(
  rank INTEGER NOT NULL,
  function TEXT NOT NULL,
  callsite INTEGER,                    -- NULL: not known
  calls INTEGER NOT NULL
);

-- Both, by function and call site. A call that sends and receives counts as two where MPI knows its communicator.
CREATE VIEW rejected_call(rank, function, callsite, calls) AS
  SELECT rank, function, callsite, sum(calls)
  FROM (SELECT rank, function, callsite, calls FROM rejected
        UNION ALL SELECT rank, function, callsite, 1 FROM unmatched WHERE reason = 'failed')
  GROUP BY rank, function, callsite;

CREATE TABLE recording_off(
  rank INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  operations INTEGER NOT NULL,         -- of the rank that are left out
  partners INTEGER NOT NULL            -- operations of others, posted while recording was on, that met one of them
);

-- Rounds of the same pattern (who, whom, how many bytes) are of one kind.
CREATE TABLE kind(
  id INTEGER PRIMARY KEY,
  rounds INTEGER NOT NULL,
  messages INTEGER NOT NULL,           -- of one round
  bytes INTEGER NOT NULL               -- of one round
);

-- Kinds whose rounds have messages between the same ranks from the same call sites, of other sizes, are of one family.
CREATE TABLE kind_family(
  kind_id INTEGER PRIMARY KEY REFERENCES kind(id),
  family_id INTEGER NOT NULL,          -- 1, 2, ... in the order of their first rounds
  smallest_bytes INTEGER NOT NULL,     -- of a message of the kind
  largest_bytes INTEGER NOT NULL
);

CREATE TABLE round(
  id INTEGER PRIMARY KEY,
  kind_id INTEGER NOT NULL REFERENCES kind(id),
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  first_message INTEGER                -- id in message_row of the first of its messages, which follow each other; NULL: not known
);

CREATE TABLE round_process(
  round_id INTEGER NOT NULL REFERENCES round(id),
  rank INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,           -- first post
  end_ns INTEGER NOT NULL,             -- last completion
  in_mpi_ns INTEGER NOT NULL,          -- of that, inside MPI calls
  PRIMARY KEY (round_id, rank)
) WITHOUT ROWID;

-- Of a trace in shards (`mpistair ingest --shards`) rows of message_row, call_row and round_process lie in files of their own,
-- by ranges of ranks: message_row by dst. Here the three are virtual tables over all of them, which mpistair reads; each shard
-- is an SQLite file with tables of these names. No rows: the trace is one file.
CREATE TABLE shard(
  number INTEGER PRIMARY KEY,          -- 1, 2, ...
  file TEXT NOT NULL,                  -- its name, beside this file
  first_rank INTEGER NOT NULL,
  last_rank INTEGER NOT NULL,
  messages INTEGER NOT NULL,           -- rows in message_row
  calls INTEGER NOT NULL,              -- in call_row
  members INTEGER NOT NULL,            -- in round_process
  idle_calls INTEGER NOT NULL,         -- of call_row, added up
  begin_ns INTEGER,                    -- of its messages and calls; NULL: none
  end_ns INTEGER,
  key TEXT NOT NULL                    -- of the ingest; the shard has it, too, with its number (table shard_of)
);

-- Of a trace in shards how many messages there are of each form. No rows: the trace is one file.
CREATE TABLE form_sum(
  form INTEGER PRIMARY KEY REFERENCES form(id),
  messages INTEGER NOT NULL,
  bytes INTEGER NOT NULL
);

CREATE TABLE machine(
  name TEXT PRIMARY KEY,
  source TEXT NOT NULL
);

CREATE TABLE machine_parameter(
  machine TEXT NOT NULL REFERENCES machine(name),
  level TEXT NOT NULL,
  protocol TEXT NOT NULL,
  quantity TEXT NOT NULL,
  n INTEGER,                           -- NULL: -
  value REAL NOT NULL,
  unit TEXT NOT NULL,
  ci_low REAL,
  ci_high REAL,
  samples INTEGER,
  method TEXT
);

CREATE TABLE prediction_run(
  id INTEGER PRIMARY KEY,
  machine TEXT NOT NULL,
  model TEXT NOT NULL,
  options TEXT NOT NULL,
  extrapolated INTEGER NOT NULL,       -- values read beyond the ends of a bandwidth table
  UNIQUE (machine, model, options)
);

-- Per round of a kind. The parts add up to time_s.
CREATE TABLE prediction(
  run_id INTEGER NOT NULL REFERENCES prediction_run(id),
  kind_id INTEGER NOT NULL REFERENCES kind(id),
  rank INTEGER NOT NULL,
  time_s REAL NOT NULL,
  latency_s REAL NOT NULL,
  bandwidth_s REAL NOT NULL,
  contention_s REAL NOT NULL,          -- what others that share the level's rate add
  queue_s REAL NOT NULL,
  link_s REAL NOT NULL,
  skew_s REAL NOT NULL,                -- waiting for a partner that starts late
  low_s REAL,                          -- holds time_s with 95 %, as far as the machine's values go; NULL: not known
  high_s REAL,
  extrapolated INTEGER NOT NULL,       -- values of the kind's prediction read beyond the ends of a bandwidth table
  PRIMARY KEY (run_id, kind_id, rank)
) WITHOUT ROWID;

CREATE INDEX message_alone ON message_row(round_id) WHERE round_id IS NULL;

-- The ids of a round's messages: m.round_id = p.round_id AND m.id BETWEEN p.first_message AND p.last_message finds them at once,
-- while round_id alone, which has no index, takes a look at all messages.
CREATE VIEW round_place(round_id, first_message, last_message) AS
  SELECT r.id, coalesce(first_message, 0), coalesce(first_message + messages - 1, 9223372036854775807)
  FROM round r JOIN kind k ON k.id = r.kind_id;

CREATE VIEW level_name(id, name) AS VALUES (0, 'self'), (1, 'intra_socket'), (2, 'inter_socket'), (3, 'inter_node');

-- How far the messages of a form go, and whether a GPU has one of their buffers.
CREATE VIEW form_level(form, name) AS
  SELECT id, CASE WHEN max(coalesce(send_memory GLOB '[dm]*', 0), coalesce(recv_memory GLOB '[dm]*', 0))
                  THEN CASE level WHEN 0 THEN 'gpu_on_socket' WHEN 1 THEN 'gpu_on_socket' WHEN 2 THEN 'gpu_on_node'
                                  WHEN 3 THEN 'gpu_off_node' END
                  ELSE (SELECT n.name FROM level_name n WHERE n.id = form.level) END
  FROM form;

CREATE VIEW message(id, src, dst, comm, tag, bytes, level, round_id, send_post_ns, send_complete_ns, recv_post_ns,
                    recv_complete_ns, recv_bytes, send_function, recv_function, any_source, any_tag, send_callsite,
                    recv_callsite, send_cpu, recv_cpu, uncertain) AS
  SELECT id, src, dst, comm, tag, bytes, (SELECT name FROM form_level f WHERE f.form = m.form),
         round_id, send_post_ns, send_post_ns + send_ns, send_post_ns + late_ns, send_post_ns + late_ns + recv_ns,
         bytes + room_bytes,
         (SELECT name FROM form f JOIN function n ON n.id = f.send_function WHERE f.id = m.form),
         (SELECT name FROM form f JOIN function n ON n.id = f.recv_function WHERE f.id = m.form),
         (SELECT any_source FROM form f WHERE f.id = m.form), (SELECT any_tag FROM form f WHERE f.id = m.form),
         (SELECT send_callsite FROM form f WHERE f.id = m.form), (SELECT recv_callsite FROM form f WHERE f.id = m.form),
         send_cpu, recv_cpu, (SELECT uncertain FROM form f WHERE f.id = m.form)
  FROM message_row m;

-- In which memory the buffers of each message lie.
CREATE VIEW message_memory(id, src, dst, tag, send_memory, recv_memory) AS
  SELECT m.id, src, dst, tag, coalesce(send_memory, 'host'), coalesce(recv_memory, 'host')
  FROM message_row m LEFT JOIN form f ON f.id = m.form;

CREATE TRIGGER message_insert INSTEAD OF INSERT ON message BEGIN
  INSERT INTO function(name)
    SELECT NEW.send_function WHERE NEW.send_function NOT IN (SELECT name FROM function)
    UNION SELECT NEW.recv_function WHERE NEW.recv_function NOT IN (SELECT name FROM function);
  INSERT INTO form(level, send_function, recv_function, send_callsite, recv_callsite, any_source, any_tag, uncertain,
                   send_completed, recv_completed)
    SELECT CASE NEW.level WHEN 'self' THEN 0 WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 WHEN 'inter_node' THEN 3
           END, s.id, r.id, NEW.send_callsite, NEW.recv_callsite, NEW.any_source, NEW.any_tag, NEW.uncertain, 0, 0
    FROM function s, function r WHERE s.name = NEW.send_function AND r.name = NEW.recv_function;
  INSERT INTO message_row
    VALUES (NEW.id, NEW.src, NEW.dst, NEW.comm, NEW.tag, NEW.bytes, (SELECT max(id) FROM form), NEW.round_id,
            NEW.send_post_ns, NEW.send_complete_ns - NEW.send_post_ns, NEW.recv_post_ns - NEW.send_post_ns,
            NEW.recv_complete_ns - NEW.recv_post_ns, NEW.recv_bytes - NEW.bytes, NEW.send_cpu, NEW.recv_cpu, NULL, NULL);
END;

CREATE VIEW call(rank, function, begin_ns, end_ns, completed, idle_calls, callsite) AS
  SELECT rank, (SELECT name FROM function n WHERE n.id = c.function), begin_ns, begin_ns + call_ns, completed, idle_calls,
         callsite
  FROM call_row c
  UNION ALL
  SELECT src, n.name, send_post_ns, send_post_ns + send_call_ns, f.send_completed, 0, f.send_callsite
  FROM message_row m JOIN form f ON f.id = m.form JOIN function n ON n.id = f.send_function
  WHERE send_call_ns IS NOT NULL AND f.send_completed IS NOT NULL
  UNION ALL
  SELECT dst, n.name, send_post_ns + late_ns, send_post_ns + late_ns + recv_call_ns, f.recv_completed, 0, f.recv_callsite
  FROM message_row m JOIN form f ON f.id = m.form JOIN function n ON n.id = f.recv_function
  WHERE recv_call_ns IS NOT NULL AND f.recv_completed IS NOT NULL;

-- All calls of MPI that were recorded, also those while recording was off; time_s inside them.
CREATE VIEW call_total(rank, function, calls, time_s) AS
  SELECT rank, function, sum(calls), sum(1.0 * time_ns) * 1e-9
  FROM (SELECT rank, function, max(idle_calls, 1) AS calls, end_ns - begin_ns AS time_ns FROM call
          WHERE (SELECT detail FROM run) = 'all'
        UNION ALL
        SELECT t.rank, f.name, iif(t.direction = 'receive' AND f.name GLOB 'MPI_*endrecv*', 0, t.calls), t.time_ns
          FROM total t JOIN function f ON f.id = t.function
          WHERE (SELECT detail FROM run) <> 'all' OR t.off)
  GROUP BY rank, function;

-- One row a side of a message, and one an unmatched operation.
CREATE VIEW operation(rank, direction, peer, comm, tag, bytes, level, round_id, post_ns, complete_ns, function, callsite,
                      matched) AS
  SELECT src, 'send', dst, comm, tag, bytes, level, round_id, send_post_ns, send_complete_ns, send_function,
         send_callsite, 1 FROM message
  UNION ALL
  SELECT dst, 'receive', src, comm, tag, recv_bytes, level, round_id, recv_post_ns, recv_complete_ns, recv_function,
         recv_callsite, 1 FROM message
  UNION ALL
  SELECT rank, direction, peer, comm, tag, bytes, NULL, NULL, post_ns, complete_ns, function, callsite, 0 FROM unmatched;

-- Shares of the observed time that a rank ran (over 1: several threads), and waited for a processor that others had.
CREATE VIEW processor_share(rank, run_share, wait_share, involuntary_switches, observed_s) AS
  SELECT rank, 1.0 * run_ns / nullif(observed_ns, 0), 1.0 * wait_ns / nullif(observed_ns, 0), involuntary_switches,
         observed_ns * 1e-9
  FROM process;

-- The interfaces of nodes over the run, with the messages of the job that went to and from other nodes, over any of them.
CREATE VIEW node_network(node, interface, in_bytes, out_bytes, packets, errors, retransmissions, job_in_bytes, job_out_bytes) AS
  WITH sent(src, dst, bytes) AS (
    SELECT p.node, q.node, t.bytes FROM total t JOIN process p ON p.rank = t.rank JOIN process q ON q.rank = t.peer
    WHERE t.direction = 'send' AND p.node <> q.node)
  SELECT n.node, interface, sum(in_bytes), sum(out_bytes), sum(packets), sum(errors), sum(retransmissions),
         (SELECT CAST(min(total(bytes), 9e18) AS INTEGER) FROM sent WHERE dst = n.node),
         (SELECT CAST(min(total(bytes), 9e18) AS INTEGER) FROM sent WHERE src = n.node)
  FROM network n GROUP BY n.node, interface;

-- Views of sums read what ingest added up, and compute it from the rows of a trace that has no such sums.
CREATE VIEW traffic(src, dst, messages, bytes, level) AS
  SELECT src, dst, sum(messages), sum(bytes), name
  FROM (SELECT src, dst, form, messages, bytes FROM message_sum
        UNION ALL
        SELECT src, dst, form, count(*), sum(bytes)
        FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM message_sum)) CROSS JOIN message_row GROUP BY src, dst, form)
       LEFT JOIN form_level USING (form)
  GROUP BY src, dst, name;

CREATE VIEW level_volume(level, messages, bytes, share) AS
  SELECT level, sum(messages), sum(bytes), 1.0 * sum(bytes) / nullif(sum(sum(bytes)) OVER (), 0)
  FROM traffic GROUP BY level;

-- How many levels up the lowest switch above both of two nodes is, 1: both are attached to it; NULL: no switch is above both; -1:
-- of one of them none is known.
CREATE VIEW switch_distance(src, dst, levels) AS
  SELECT a.id, b.id, iif(EXISTS (SELECT 1 FROM node_switch WHERE node = a.id) AND EXISTS (SELECT 1 FROM node_switch WHERE node = b.id),
                         (SELECT min(max(x.level, y.level)) FROM node_switch x JOIN node_switch y ON y.switch = x.switch
                          WHERE x.node = a.id AND y.node = b.id), -1)
  FROM node a CROSS JOIN node b WHERE a.id <> b.id;

-- Messages between nodes that a switch carries. within: between nodes below it; up: over its uplink, from a node below it to one
-- elsewhere; down: from there. Those of collectives are not known.
CREATE VIEW switch_volume(switch, level, nodes, ranks, within_messages, within_bytes, up_messages, up_bytes, down_messages,
                          down_bytes) AS
  WITH flow AS MATERIALIZED (
    SELECT a.node AS src, b.node AS dst, sum(messages) AS messages, sum(bytes) AS bytes
    FROM (SELECT src, dst, messages, bytes FROM traffic WHERE (SELECT detail FROM run) = 'all'
          UNION ALL
          SELECT rank, peer, calls, bytes FROM total
          WHERE direction = 'send' AND NOT off AND peer IS NOT NULL AND (SELECT detail FROM run) <> 'all') p
      JOIN process a ON a.rank = p.src JOIN process b ON b.rank = p.dst
    WHERE a.node <> b.node GROUP BY 1, 2),
  passing AS (
    SELECT s.switch, f.messages, f.bytes,
           iif(EXISTS (SELECT 1 FROM node_switch o WHERE o.node = f.dst AND o.switch = s.switch), 'within', 'up') AS way
    FROM flow f JOIN node_switch s ON s.node = f.src
    UNION ALL
    SELECT s.switch, f.messages, f.bytes, 'down' FROM flow f JOIN node_switch s ON s.node = f.dst
    WHERE NOT EXISTS (SELECT 1 FROM node_switch o WHERE o.node = f.src AND o.switch = s.switch)),
  carried AS MATERIALIZED (SELECT switch, way, sum(messages) AS messages, sum(bytes) AS bytes FROM passing GROUP BY switch, way),
  below AS (SELECT switch, max(level) AS level, count(*) AS nodes,
                   sum((SELECT count(*) FROM process p WHERE p.node = n.node)) AS ranks
            FROM node_switch n GROUP BY switch)
  SELECT b.switch, b.level, b.nodes, b.ranks, coalesce(w.messages, 0), coalesce(w.bytes, 0), coalesce(u.messages, 0),
         coalesce(u.bytes, 0), coalesce(d.messages, 0), coalesce(d.bytes, 0)
  FROM below b LEFT JOIN carried w ON w.switch = b.switch AND w.way = 'within'
    LEFT JOIN carried u ON u.switch = b.switch AND u.way = 'up' LEFT JOIN carried d ON d.switch = b.switch AND d.way = 'down';

-- Messages by why their order is not certain, bits as in the view doubt.
CREATE VIEW uncertain_form(uncertain, messages) AS
  SELECT f.uncertain, sum(s.messages) FROM form_sum s JOIN form f ON f.id = s.form WHERE f.uncertain GROUP BY f.uncertain
  UNION ALL
  SELECT f.uncertain, count(*)
  FROM (SELECT 1 WHERE EXISTS (SELECT 1 FROM form WHERE uncertain) AND NOT EXISTS (SELECT 1 FROM form_sum))
       CROSS JOIN message_row m CROSS JOIN form f ON f.id = m.form -- else no message need be looked at
  WHERE f.uncertain GROUP BY f.uncertain;

-- Why the order of messages was not certain; a message may have several reasons.
CREATE VIEW doubt(reason, messages) AS
  WITH bit(n, reason) AS (VALUES
    (1, 'calls of several threads on its envelope overlapped'),
    (2, 'its wildcard was resolved through a request handle that others shared'),
    (4, 'the creation of its communicator was not seen'),
    (8, 'it was received before it was sent'),
    (16, 'a wildcard receive posted before it was never reported complete'),
    (32, 'a receive failed before it on its envelope, which may have taken a message'),
    (64, 'an operation before it on its envelope was cancelled, with what success nobody asked'),
    (128, 'records of its sender or receiver posted before it were lost'))
  SELECT reason, sum(messages) FROM bit JOIN uncertain_form ON uncertain & n GROUP BY n;

-- left_out: operations without a row, since recording was off (MPI_Pcontrol, MPISTAIR_WINDOW) where they or their partners were posted.
-- rejected: calls that MPI returned from with an error, and that carried nothing. The verdict begins with "complete" where
-- nothing of a whole run is missing.
CREATE VIEW completeness(posted, matched, unmatched, lost, untracked, uncertain, missing_processes, left_out, verdict,
                         rejected) AS
  WITH c AS (
    SELECT 2 * CASE WHEN EXISTS (SELECT 1 FROM shard) THEN (SELECT sum(messages) FROM shard)
                    ELSE (SELECT count(*) FROM message_row) END AS matched,
           (SELECT count(*) FROM unmatched) AS other,
           (SELECT count(*) FROM unmatched WHERE reason NOT IN ('proc_null', 'cancelled', 'failed', 'cut_off')) AS unmatched,
           (SELECT count(*) FROM unmatched JOIN process USING (rank)
            WHERE reason = 'pending' AND ended = 'finalize') AS open, -- the program never asked for their end
           (SELECT coalesce(sum(n), 0) FROM loss WHERE cause NOT IN ('no_spool', 'at_once', 'not_joined')) AS lost,
           (SELECT coalesce(sum(calls), 0) FROM untracked WHERE affects_messages) AS untracked,
           (SELECT coalesce(sum(messages), 0) FROM uncertain_form) AS uncertain,
           (SELECT coalesce(sum(messages), 0) FROM uncertain_form WHERE uncertain & 8) AS backwards, -- the bit of the view doubt
           (SELECT count(*) FROM communicator WHERE remote IS NULL AND function IN ('MPI_Comm_spawn',
              'MPI_Comm_spawn_multiple', 'MPI_Comm_get_parent', 'MPI_Comm_accept', 'MPI_Comm_connect', 'MPI_Comm_join',
              'MPI_Intercomm_create')) AS one_sided,
           (SELECT world_size - spools FROM run) AS missing_processes,
           (SELECT count(*) FROM loss WHERE cause = 'at_once') AS at_once,
           (SELECT count(*) FROM loss WHERE cause = 'not_joined') AS not_joined,
           (SELECT max(launched) FROM process) AS launched,
           (SELECT coalesce(sum(operations + partners), 0) FROM recording_off) AS left_out,
           (SELECT count(*) FROM recording_off) AS times_off,
           (SELECT detail FROM run) AS detail,
           (SELECT count(*) FROM unmatched WHERE reason = 'failed') AS failed,
           (SELECT coalesce(sum(calls), 0) FROM rejected) AS unknown),
       short(how) AS (
    SELECT group_concat(what, ', ')
    FROM (SELECT iif(count(*) = 1, 'rank ' || min(rank), count(*) || ' ranks') ||
                 CASE ended WHEN 'abort' THEN ' called MPI_Abort' WHEN 'exit' THEN ' ended without MPI_Finalize'
                            ELSE iif(count(*) = 1, ' was', ' were') || ' killed or left by _exit' END AS what
          FROM process WHERE ended IN ('abort', 'exit', 'killed') GROUP BY ended ORDER BY ended)),
       judged AS (
    SELECT *,
         CASE WHEN launched > 1
                THEN 'incomplete: one of ' || launched ||
                     ' processes that the launcher started, each alone in its MPI_COMM_WORLD: not the launcher of this MPI'
              WHEN not_joined > 0
              THEN 'incomplete: ' || not_joined || CASE not_joined WHEN 1 THEN ' process' ELSE ' processes' END ||
                   ' did not join the recording: rank' || CASE not_joined WHEN 1 THEN ' ' ELSE 's ' END ||
                   (SELECT group_concat(rank, ', ') FROM (SELECT rank FROM loss WHERE cause = 'not_joined' ORDER BY rank LIMIT 8)) ||
                   CASE WHEN not_joined > 8 THEN ', ...' ELSE '' END
              WHEN missing_processes > 0 THEN 'incomplete: spools of ' || missing_processes || ' processes are missing' ||
                                         CASE at_once WHEN 0 THEN '' ELSE ', ' || at_once || ' ended in MPI_Init' END
              WHEN lost > 0 THEN 'incomplete: ' || lost || ' records lost'
              WHEN untracked > 0 THEN 'incomplete: ' || untracked || ' calls not recorded that may carry messages'
              WHEN one_sided > 0
              THEN 'incomplete: whom ' || one_sided || ' communicators reach is not known'
              WHEN unmatched > open THEN 'incomplete: ' || unmatched || ' operations without a partner'
              WHEN backwards > 0 THEN 'doubtful times: messages received before they were sent: ' || backwards
              WHEN open > 0 THEN 'complete but for ' || open || ' operations that the program left open'
              WHEN left_out > 0 THEN 'complete but for ' || left_out || ' operations while recording was off'
              WHEN times_off > 0 THEN 'complete but for what was done while recording was off'
              ELSE 'complete' END ||
         CASE detail WHEN 'bursts'
              THEN (SELECT '; totals of all, detail in ' || count(*) || ' burst' || iif(count(*) = 1, ', ', 's, ') ||
                           printf('%.3g', 100.0 * total(end_ns - begin_ns) / max((SELECT duration_ns FROM run), 1)) || ' % of the run'
                    FROM burst)
              WHEN 'none' THEN '; totals only' ELSE '' END AS found
    FROM c, short)
  SELECT matched + other, matched, unmatched, lost, untracked, uncertain, missing_processes, left_out,
         CASE WHEN how IS NULL THEN found
              WHEN found GLOB 'complete*' THEN 'cut short: ' || how || '; ' || found || ' until then'
              ELSE found || '; cut short: ' || how END,
         failed + unknown
  FROM judged;

-- Times of a rank in the rounds of a kind.
CREATE VIEW kind_time(kind_id, rank, rounds, time_ns, in_mpi_ns) AS
  SELECT kind_id, rank, sum(rounds), sum(time_ns), sum(in_mpi_ns) FROM kind_sum GROUP BY kind_id, rank
  UNION ALL
  SELECT r.kind_id, p.rank, count(*), sum(p.end_ns - p.begin_ns), sum(p.in_mpi_ns)
  FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM kind_sum)) CROSS JOIN round_process p CROSS JOIN round r ON r.id = p.round_id
  GROUP BY r.kind_id, p.rank;

-- A rank's time in all rounds, measured against modelled: sums over kinds of the mean over the kind's rounds, each
-- times the number of rounds.
CREATE VIEW kind_actual(kind_id, rank, rounds, actual_s) AS
  SELECT kind_id, rank, k.rounds, 1.0 * time_ns * 1e-9 / k.rounds FROM kind_time t JOIN kind k ON k.id = t.kind_id;

-- One row a kind: a row of T Table III (share/doc/MODELS.md, Papers). The traffic is that of one round, time_s the sum
-- over all ranks and rounds.
CREATE VIEW kind_summary(kind_id, rounds, messages, max_messages, bytes, intra_socket_bytes, inter_socket_bytes,
                         inter_node_bytes, time_s) AS
  WITH sample AS (SELECT kind_id, min(id) AS round_id FROM round GROUP BY kind_id),
       incoming AS (
    SELECT s.kind_id, m.dst, count(*) AS messages, sum(CASE f.level WHEN 1 THEN m.bytes ELSE 0 END) AS intra,
           sum(CASE f.level WHEN 2 THEN m.bytes ELSE 0 END) AS inter, sum(CASE f.level WHEN 3 THEN m.bytes ELSE 0 END) AS node
    FROM sample s JOIN message_row m ON m.round_id = s.round_id LEFT JOIN form f ON f.id = m.form
    GROUP BY s.kind_id, m.dst),
       volume AS (
    SELECT kind_id, max(messages) AS max_messages, sum(intra) AS intra, sum(inter) AS inter, sum(node) AS node
    FROM incoming GROUP BY kind_id),
       spent AS (SELECT kind_id, sum(rounds * actual_s) AS time_s FROM kind_actual GROUP BY kind_id)
  SELECT k.id, k.rounds, k.messages, v.max_messages, k.bytes, v.intra, v.inter, v.node, s.time_s
  FROM kind k LEFT JOIN volume v ON v.kind_id = k.id LEFT JOIN spent s ON s.kind_id = k.id;

-- One row a family: how many kinds and rounds it has, the ranges of its messages' sizes and of its rounds' bytes, and the
-- time of all ranks in all its rounds. A kind without a row in kind_family is one of its own.
CREATE VIEW family(family_id, kinds, rounds, messages, smallest_bytes, largest_bytes, least_bytes, most_bytes, time_s) AS
  SELECT coalesce(f.family_id, -k.id), count(*), sum(k.rounds), max(k.messages), min(f.smallest_bytes), max(f.largest_bytes),
         min(k.bytes), max(k.bytes), sum(s.time_s)
  FROM kind k LEFT JOIN kind_family f ON f.kind_id = k.id
       LEFT JOIN (SELECT kind_id, sum(rounds * actual_s) AS time_s FROM kind_actual GROUP BY kind_id) s ON s.kind_id = k.id
  GROUP BY coalesce(f.family_id, -k.id);

CREATE VIEW rank_actual(rank, rounds, actual_s, in_mpi_s) AS
  SELECT rank, sum(rounds), sum(1.0 * time_ns) * 1e-9, sum(1.0 * in_mpi_ns) * 1e-9 FROM kind_time GROUP BY rank;

-- The size from which on a send of a form waits for its receive; NULL: it never does, or the MPI's eager limit is not known.
-- A blocking send that is not back before the receive is posted has waited, whatever its size.
CREATE VIEW form_waits(form, from_bytes) AS
  SELECT f.id,
         CASE WHEN replace(n.name, '_c', '') IN ('MPI_Send', 'MPI_Ssend', 'MPI_Issend') THEN 0
              WHEN replace(n.name, '_c', '') IN ('MPI_Bsend', 'MPI_Rsend', 'MPI_Ibsend', 'MPI_Irsend') THEN NULL
              ELSE 1 + (SELECT CASE f.level WHEN 3 THEN eager_limit_network_bytes ELSE eager_limit_bytes END FROM run) END
  FROM form f JOIN function n ON n.id = f.send_function;

-- Who waited for whom: a receive that was posted before its message was sent waits for the late sender; a send that needs
-- its receive (synchronous, or larger than the eager limit) and was posted before it waits for the late receiver. rank is
-- the one that waits, function and callsite are of its post.
CREATE VIEW late(message_id, cause, rank, partner, round_id, bytes, begin_ns, late_ns, function, callsite) AS
  SELECT m.id, 'sender', dst, src, round_id, bytes, send_post_ns + late_ns, min(-late_ns, coalesce(recv_ns, -late_ns)), n.name,
         f.recv_callsite
  FROM message_row m JOIN form f ON f.id = m.form JOIN function n ON n.id = f.recv_function
  WHERE late_ns < 0 AND src <> dst
  UNION ALL
  SELECT m.id, 'receiver', src, dst, round_id, bytes, send_post_ns, late_ns, n.name, f.send_callsite
  FROM message_row m JOIN form f ON f.id = m.form JOIN function n ON n.id = f.send_function JOIN form_waits w ON w.form = f.id
  WHERE late_ns > 0 AND send_ns >= late_ns AND bytes >= w.from_bytes AND src <> dst;

-- The same by who waits for whom where.
CREATE VIEW late_partner(cause, rank, partner, function, callsite, messages, late_s, longest_s) AS
  SELECT cause, rank, partner, function, callsite, sum(messages), sum(1.0 * late_ns) * 1e-9, max(longest_ns) * 1e-9
  FROM (SELECT 'sender' AS cause, dst AS rank, src AS partner, n.name AS function, f.recv_callsite AS callsite,
               late_senders AS messages, late_senders_ns AS late_ns, latest_sender_ns AS longest_ns
        FROM message_sum s JOIN form f ON f.id = s.form JOIN function n ON n.id = f.recv_function WHERE late_senders > 0
        UNION ALL
        SELECT 'receiver', src, dst, n.name, f.send_callsite, late_receivers, late_receivers_ns, latest_receiver_ns
        FROM message_sum s JOIN form f ON f.id = s.form JOIN function n ON n.id = f.send_function WHERE late_receivers > 0
        UNION ALL
        SELECT cause, rank, partner, function, callsite, 1, late_ns, late_ns
        FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM message_sum)) CROSS JOIN late)
  GROUP BY cause, rank, partner, function, callsite;

-- Of a rank's time in rounds what passed while one of its receives waited for a late sender, or one of its sends for a late
-- receiver, however many did at once: no model knows of it.
CREATE VIEW rank_late(rank, late_senders_s, late_receivers_s) AS
  WITH inside AS (
    SELECT p.round_id, p.rank, l.cause, max(l.begin_ns, p.begin_ns) AS begin_ns, min(l.begin_ns + l.late_ns, p.end_ns) AS end_ns
    FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM kind_sum)) CROSS JOIN late l JOIN round_process p USING (round_id, rank)),
       apart AS (
    SELECT rank, cause, begin_ns, end_ns, max(end_ns) OVER (PARTITION BY round_id, rank, cause ORDER BY begin_ns, end_ns
                                                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until_ns
    FROM inside WHERE end_ns > begin_ns),
       part AS (
    SELECT rank, cause, max(end_ns - max(begin_ns, coalesce(until_ns, begin_ns)), 0) AS late_ns FROM apart)
  SELECT rank, sum(1.0 * late_senders_ns) * 1e-9, sum(1.0 * late_receivers_ns) * 1e-9
  FROM (SELECT rank, late_senders_ns, late_receivers_ns FROM kind_sum
        UNION ALL SELECT rank, iif(cause = 'sender', late_ns, 0), iif(cause = 'receiver', late_ns, 0) FROM part
        UNION ALL SELECT rank, 0, 0
        FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM kind_sum)) CROSS JOIN round_process GROUP BY rank)
  GROUP BY rank;

-- The two halves of a kind's rounds in the order of time; the middle one of an odd number is in neither.
CREATE VIEW kind_halves(kind_id, rank, rounds, first_s, second_s) AS
  WITH placed AS (
    SELECT id, kind_id, row_number() OVER (PARTITION BY kind_id ORDER BY begin_ns, id) AS place,
           count(*) OVER (PARTITION BY kind_id) AS n
    FROM round)
  SELECT r.kind_id, p.rank, r.n, avg(CASE WHEN r.place <= r.n / 2 THEN p.end_ns - p.begin_ns END) * 1e-9,
         avg(CASE WHEN r.place > r.n - r.n / 2 THEN p.end_ns - p.begin_ns END) * 1e-9
  FROM placed r JOIN round_process p ON p.round_id = r.id
  WHERE r.n >= 2 GROUP BY r.kind_id, p.rank;

-- T eq. 11 between the halves of one launch, the mean of both as the measured time. As in round_rank_error, the differences
-- within each kind are summed: off_s. first_s, second_s: of a rank the sum over kinds of the mean over a half's rounds,
-- each times the kind's number of rounds. share: of the measured time, what lies in kinds of two and more rounds.
CREATE VIEW rank_replicate(rank, first_s, second_s, error, off_s) AS
  SELECT rank, first_s, second_s, off_s / nullif((first_s + second_s) / 2, 0), off_s
  FROM (SELECT rank, sum(rounds * first_s) AS first_s, sum(rounds * second_s) AS second_s,
               sum(rounds * abs(first_s - second_s)) AS off_s FROM kind_halves GROUP BY rank);

CREATE VIEW round_replicate_error(error, kinds, ranks, share, basis) AS
  SELECT (SELECT sum(off_s) / nullif(sum(first_s + second_s) / 2, 0) FROM rank_replicate),
         (SELECT count(DISTINCT kind_id) FROM kind_halves), (SELECT count(*) FROM rank_replicate),
         (SELECT sum(a.rounds * a.actual_s) FROM kind_actual a WHERE a.kind_id IN (SELECT kind_id FROM kind_halves)) /
           nullif((SELECT sum(actual_s) FROM rank_actual), 0),
         'halves of one launch';

-- Of the views below one row a prediction_run (and rank, or kind).
CREATE VIEW kind_error(machine, model, kind_id, rounds, error, bias, options) AS
  SELECT q.machine, q.model, a.kind_id, a.rounds, sum(abs(a.actual_s - p.time_s)) / nullif(sum(a.actual_s), 0),
         sum(p.time_s - a.actual_s) / nullif(sum(a.actual_s), 0), q.options
  FROM prediction_run q JOIN prediction p ON p.run_id = q.id
       JOIN kind_actual a ON a.kind_id = p.kind_id AND a.rank = p.rank
  GROUP BY q.id, a.kind_id;

-- off_s: the sum of |actual - model| over the kinds, each times its rounds, so that a kind that is modelled too slow does
-- not hide one that is modelled too fast. bias has the sign, and lets them cancel.
CREATE VIEW round_rank_error(machine, model, rank, actual_s, model_s, error, options, off_s, bias) AS
  SELECT machine, model, rank, actual_s, model_s, off_s / nullif(actual_s, 0), options, off_s,
         (model_s - actual_s) / nullif(actual_s, 0)
  FROM (SELECT q.machine, q.model, q.options, a.rank, sum(a.rounds * a.actual_s) AS actual_s,
               sum(a.rounds * p.time_s) AS model_s, sum(a.rounds * abs(a.actual_s - p.time_s)) AS off_s
        FROM prediction_run q JOIN prediction p ON p.run_id = q.id
             JOIN kind_actual a ON a.kind_id = p.kind_id AND a.rank = p.rank
        GROUP BY q.id, a.rank);

-- As kind_actual: the mean time of a rank inside MPI calls, and outside of them, from its first post to its last completion.
CREATE VIEW kind_in_mpi(kind_id, rank, rounds, in_mpi_s, outside_s) AS
  SELECT kind_id, rank, k.rounds, 1.0 * in_mpi_ns * 1e-9 / k.rounds, 1.0 * (time_ns - in_mpi_ns) * 1e-9 / k.rounds
  FROM kind_time t JOIN kind k ON k.id = t.kind_id;

-- Overlap: what of a rank's modelled time stays visible in MPI if messages move while it computes between its posts and
-- its waits: per kind the larger of 0 and model_s - outside_s, outside_s the time of its rounds outside MPI calls. Measured:
-- in_mpi_s. An MPI that moves data inside calls only shows more, up to model_s.
CREATE VIEW rank_visible(machine, model, rank, outside_s, model_s, visible_s, in_mpi_s, error, options, off_s) AS
  SELECT machine, model, rank, outside_s, model_s, visible_s, in_mpi_s, off_s / nullif(in_mpi_s, 0), options, off_s
  FROM (SELECT q.machine, q.model, q.options, m.rank, sum(m.rounds * m.outside_s) AS outside_s,
               sum(m.rounds * p.time_s) AS model_s, sum(m.rounds * max(p.time_s - m.outside_s, 0)) AS visible_s,
               sum(m.rounds * m.in_mpi_s) AS in_mpi_s,
               sum(m.rounds * abs(m.in_mpi_s - max(p.time_s - m.outside_s, 0))) AS off_s
        FROM prediction_run q JOIN prediction p ON p.run_id = q.id
             JOIN kind_in_mpi m ON m.kind_id = p.kind_id AND m.rank = p.rank
        GROUP BY q.id, m.rank);

-- error: T eq. 11, its sum over the ranks of every kind; mape: mean of the ranks' errors; bias: sum of model - actual over
-- sum of actual; worst_rank: with the largest off_s.
CREATE VIEW round_model_error(machine, model, error, mape, bias, worst_rank, options) AS
  SELECT machine, model, sum(off_s) / nullif(sum(actual_s), 0), avg(error),
         sum(model_s - actual_s) / nullif(sum(actual_s), 0), max(CASE WHEN place = 1 THEN rank END), options
  FROM (SELECT *, row_number() OVER (PARTITION BY machine, model, options
                                     ORDER BY off_s DESC, rank) AS place
        FROM round_rank_error)
  GROUP BY machine, model, options;

-- What a rank's modelled time in all rounds is made of; the parts add up to time_s. mostly: the largest one. extrapolated: in
-- a kind of its rounds values beyond a table's ends were read. The ends of
-- the interval are sums over the kinds, NULL where one is not known: the same values of the machine stand behind all.
CREATE VIEW rank_part(machine, model, rank, time_s, latency_s, bandwidth_s, contention_s, queue_s, link_s, skew_s, low_s,
                      high_s, mostly, extrapolated, options) AS
  SELECT machine, model, rank, time_s, latency_s, bandwidth_s, contention_s, queue_s, link_s, skew_s,
         CASE n WHEN n_low THEN low_s END, CASE n WHEN n_high THEN high_s END,
         CASE WHEN time_s > 0 THEN
           CASE max(latency_s, bandwidth_s, contention_s, queue_s, link_s, skew_s) WHEN bandwidth_s THEN 'bandwidth'
                WHEN contention_s THEN 'contention' WHEN latency_s THEN 'latency' WHEN queue_s THEN 'queue'
                WHEN link_s THEN 'link' ELSE 'skew' END END,
         extrapolated, options
  FROM (SELECT q.machine, q.model, q.options, p.rank, max(p.extrapolated > 0) AS extrapolated,
               sum(k.rounds * p.time_s) AS time_s,
               sum(k.rounds * p.latency_s) AS latency_s, sum(k.rounds * p.bandwidth_s) AS bandwidth_s,
               sum(k.rounds * p.contention_s) AS contention_s, sum(k.rounds * p.queue_s) AS queue_s,
               sum(k.rounds * p.link_s) AS link_s, sum(k.rounds * p.skew_s) AS skew_s,
               sum(k.rounds * p.low_s) AS low_s, sum(k.rounds * p.high_s) AS high_s, count(*) AS n,
               count(p.low_s) AS n_low, count(p.high_s) AS n_high
        FROM prediction_run q JOIN prediction p ON p.run_id = q.id JOIN kind k ON k.id = p.kind_id
        GROUP BY q.id, p.rank);

-- BW(1) of each level by the size of the message: from_bytes <= size < below_bytes.
CREATE VIEW single_rate(machine, level, from_bytes, below_bytes, bytes_per_s) AS
  WITH protocol AS (
    SELECT machine, level, protocol, coalesce(max(CASE quantity WHEN 'threshold' THEN value END), 0) AS from_bytes
    FROM machine_parameter WHERE quantity IN ('bw', 'threshold')
    GROUP BY machine, level, protocol HAVING max(quantity = 'bw'))
  SELECT machine, level,
         CASE row_number() OVER (PARTITION BY machine, level ORDER BY from_bytes) WHEN 1 THEN 0 ELSE from_bytes END,
         lead(from_bytes, 1, 9e999) OVER (PARTITION BY machine, level ORDER BY from_bytes),
         (SELECT value FROM machine_parameter b WHERE b.machine = p.machine AND b.level = p.level
            AND b.protocol = p.protocol AND b.quantity = 'bw' ORDER BY b.n LIMIT 1)
  FROM protocol p;

-- What the messages of a rank's rounds with a partner would take alone, at BW(1) of their level and protocol: their part
-- in its bandwidth. direction: from or to the partner. One round of each kind, times its rounds.
CREATE VIEW partner_cost(machine, rank, partner, direction, level, messages, bytes, alone_s) AS
  WITH sample AS (SELECT min(id) AS round_id, count(*) AS rounds FROM round GROUP BY kind_id),
       way AS MATERIALIZED (
    SELECT src, dst, (SELECT level FROM form f WHERE f.id = m.form) AS level, bytes, sum(s.rounds) AS n
    FROM sample s JOIN message_row m USING (round_id) WHERE src <> dst GROUP BY src, dst, level, bytes),
       rate AS MATERIALIZED (
    SELECT machine, CASE level WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 WHEN 'inter_node' THEN 3 END AS level,
           level AS name, from_bytes, below_bytes, bytes_per_s FROM single_rate),
       cost AS MATERIALIZED (
    SELECT machine, src, dst, name, sum(n) AS messages, sum(n * bytes) AS bytes, sum(n * bytes / bytes_per_s) AS alone_s
    FROM way w JOIN rate r ON r.level = w.level AND w.bytes >= from_bytes AND w.bytes < below_bytes
    GROUP BY machine, src, dst, name)
  SELECT machine, dst, src, 'from', name, messages, bytes, alone_s FROM cost
  UNION ALL SELECT machine, src, dst, 'to', name, messages, bytes, alone_s FROM cost;

-- How long the ranks of a round that are done wait until its last rank is: wait_s over all of them, longest_s the first.
CREATE VIEW round_wait(round_id, kind_id, ranks, time_s, wait_s, longest_s, last_rank) AS
  SELECT l.round_id, r.kind_id, count(*), sum(1.0 * (p.end_ns - p.begin_ns)) * 1e-9, sum(1.0 * (l.end_ns - p.end_ns)) * 1e-9,
         (l.end_ns - min(p.end_ns)) * 1e-9, l.rank
  FROM (SELECT round_id, rank, max(end_ns) AS end_ns FROM round_process GROUP BY round_id) l
       JOIN round r ON r.id = l.round_id JOIN round_process p ON p.round_id = l.round_id
  GROUP BY l.round_id;

-- Over the rounds of a kind: wait_s the sum, mean_s of a rank in a round, longest_s of the first one on average, share of
-- the time until the last is done; last_rank: which rank is last most often, in last_rounds of them.
CREATE VIEW kind_wait(kind_id, rounds, ranks, wait_s, mean_s, longest_s, share, last_rank, last_rounds) AS
  WITH wait AS MATERIALIZED (
    SELECT w.* FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM kind_sum)) CROSS JOIN round_wait w),
       of_rank AS (
    SELECT kind_id, rank, sum(rounds) AS rounds, sum(time_ns) AS time_ns, sum(wait_ns) AS wait_ns, sum(longest_ns) AS longest_ns,
           sum(last_rounds) AS last_rounds
    FROM kind_sum GROUP BY kind_id, rank),
       total AS (
    SELECT kind_id, max(rounds) AS rounds, count(*) AS ranks, sum(1.0 * wait_ns) * 1e-9 AS wait_s, sum(rounds) AS entries,
           sum(1.0 * longest_ns) * 1e-9 AS longest_s, sum(1.0 * time_ns) * 1e-9 AS time_s
    FROM of_rank GROUP BY kind_id
    UNION ALL
    SELECT kind_id, count(*), max(ranks), sum(wait_s), sum(ranks), sum(longest_s), sum(time_s) FROM wait GROUP BY kind_id),
       last AS (
    SELECT kind_id, last_rank, n, row_number() OVER (PARTITION BY kind_id ORDER BY n DESC, last_rank) AS place
    FROM (SELECT kind_id, rank AS last_rank, last_rounds AS n FROM of_rank
          UNION ALL SELECT kind_id, last_rank, count(*) FROM wait GROUP BY kind_id, last_rank))
  SELECT t.kind_id, rounds, ranks, wait_s, wait_s / entries, longest_s / rounds, wait_s / nullif(time_s + wait_s, 0),
         l.last_rank, l.n
  FROM total t JOIN last l ON l.kind_id = t.kind_id AND l.place = 1;

-- Calls of one-sided communication by what they are: transfer, synchronisation. joint: all ranks of comm make it together.
CREATE VIEW rma_call(id, rank, function, comm, target, bytes, begin_ns, end_ns, call_ns, nonblocking, callsite, kind, joint,
                     instance) AS
  SELECT id, rank, function, comm, target, bytes, begin_ns, end_ns, call_ns, nonblocking, callsite,
         CASE WHEN function GLOB 'MPI_Win_*' THEN 'synchronisation' ELSE 'transfer' END,
         function IN ('MPI_Win_fence', 'MPI_Win_free') OR function GLOB 'MPI_Win_create*' OR function GLOB 'MPI_Win_allocate*',
         instance
  FROM rma;

-- Calls that all ranks of a communicator make together; source: collective, one-sided, file. The n-th call of a function on
-- a communicator is the same instance on all of its ranks; ingest counts, also calls that have no row. wait_ns: until the last of those that the call depends on had
-- arrived, last_rank (of a broadcast or scatter the root; of a reduction to a root or a gather the root alone waits). It is
-- NULL where not all ranks of comm are there, where nobody reported the end, and of scans, neighbourhoods and
-- intercommunicators, which depend on ranks that the trace does not name. The rest of the call's time is transfer.
CREATE VIEW joint_call(source, id, rank, function, comm, bytes, callsite, nonblocking, begin_ns, end_ns, call_ns, instance,
                       last_rank, wait_ns, transfer_ns, failed) AS
  WITH every AS (
    SELECT 'collective' AS source, id, rank, function,
           coalesce((SELECT function FROM persistent p WHERE p.id = c.persistent), function) AS name, comm, bytes, root, callsite,
           nonblocking, begin_ns, end_ns, call_ns, 0 AS failed, instance AS known
    FROM collective c
    UNION ALL
    SELECT 'one-sided', id, rank, function, function, comm, bytes, NULL, callsite, nonblocking, begin_ns, end_ns, call_ns, 0,
           instance
    FROM rma_call WHERE joint
    UNION ALL
    SELECT 'file', id, rank, function, function, comm, bytes, NULL, callsite, nonblocking, begin_ns, end_ns, call_ns, failed,
           instance
    FROM file_call WHERE collective),
       named AS (
    SELECT *, CASE WHEN substr(name, -2) = '_c' THEN substr(name, 1, length(name) - 2) ELSE name END AS what FROM every),
       numbered AS (
    SELECT *, iif(known IS NULL AND (SELECT detail FROM run) = 'all',
                  row_number() OVER (PARTITION BY rank, comm, what, source ORDER BY begin_ns, id), known) AS instance FROM named),
       met AS (
    SELECT *, count(*) OVER together AS members, first_value(rank) OVER together AS latest,
           first_value(begin_ns) OVER together AS latest_ns, max(CASE WHEN rank = root THEN begin_ns END) OVER together AS root_ns
    FROM numbered
    WINDOW together AS (PARTITION BY instance, comm, what, source ORDER BY begin_ns DESC, rank
                        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)),
       awaited AS (
    SELECT *, CASE WHEN instance IS NULL OR members IS NOT (SELECT size FROM communicator c WHERE c.id = met.comm AND remote IS NULL) THEN NULL
                   WHEN what GLOB 'MPI_*[Nn]eighbor*' OR what GLOB 'MPI_*[Ss]can' THEN NULL
                   WHEN source <> 'collective' AND end_ns < latest_ns THEN begin_ns -- it need not wait, and did not
                   WHEN root IS NULL THEN latest_ns
                   WHEN what GLOB 'MPI_*[Bb]cast*' OR what GLOB 'MPI_*[Ss]catter*' AND what NOT GLOB '*_scatter*' THEN root_ns
                   WHEN what GLOB 'MPI_*[Rr]educe' AND what NOT GLOB '*[Aa]llreduce'
                     OR what GLOB 'MPI_*[Gg]ather*' AND what NOT GLOB '*[Aa]llgather*' THEN iif(rank = root, latest_ns, begin_ns)
                   ELSE latest_ns END AS until_ns
    FROM met)
  SELECT source, id, rank, function, comm, bytes, callsite, nonblocking, begin_ns, end_ns, call_ns, instance,
         CASE WHEN until_ns = latest_ns THEN latest WHEN until_ns > begin_ns THEN root END,
         max(min(until_ns, end_ns) - begin_ns, 0), end_ns - max(min(until_ns, end_ns), begin_ns), failed
  FROM awaited;

-- The same by call site, communicator and last_rank.
CREATE VIEW joint_site(source, function, callsite, comm, nonblocking, last_rank, calls, failed, bytes, time_ns, call_ns, wait_ns,
                       transfer_ns, longest_ns) AS
  SELECT source, function, callsite, comm, nonblocking, last_rank, calls, failed, bytes, time_ns, call_ns, wait_ns, transfer_ns,
         longest_ns FROM joint_sum
  UNION ALL
  SELECT source, function, callsite, comm, nonblocking, last_rank, count(*), sum(failed), sum(bytes), sum(1.0 * (end_ns - begin_ns)),
         sum(1.0 * call_ns), sum(1.0 * wait_ns), sum(1.0 * transfer_ns), max(end_ns - begin_ns)
  FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM joint_sum)) -- else no call need be looked at
       CROSS JOIN joint_call
  GROUP BY source, function, callsite, comm, nonblocking, last_rank;

-- Collectives by call site and communicator. last_rank: whom the others waited for longest, last_s of wait_s.
CREATE VIEW collective_site(function, callsite, comm, nonblocking, calls, bytes, time_s, wait_s, transfer_s, longest_s, last_rank,
                            last_s) AS
  WITH part AS (
    SELECT function, callsite, comm, nonblocking, last_rank, calls, bytes, time_ns * 1e-9 AS time_s, wait_ns * 1e-9 AS wait_s,
           transfer_ns * 1e-9 AS transfer_s, longest_ns * 1e-9 AS longest_s
    FROM joint_site WHERE source = 'collective'),
       placed AS (
    SELECT *, row_number() OVER (PARTITION BY function, callsite, comm, nonblocking
                                 ORDER BY last_rank IS NULL, wait_s DESC, last_rank) AS place
    FROM part)
  SELECT function, callsite, comm, nonblocking, sum(calls), sum(bytes), sum(time_s), sum(wait_s), sum(transfer_s), max(longest_s),
         max(CASE WHEN place = 1 AND wait_s > 0 THEN last_rank END),
         max(CASE WHEN place = 1 AND wait_s > 0 AND last_rank IS NOT NULL THEN wait_s END)
  FROM placed GROUP BY function, callsite, comm, nonblocking;

-- One-sided communication by call site and target: time_s from the begin of a call to its end, or to that of the call that
-- reported its request; in_call_s inside the calls; wait_s and transfer_s of the joint ones, as in joint_call.
CREATE VIEW rma_site(kind, function, callsite, comm, target, calls, bytes, time_s, in_call_s, wait_s, transfer_s) AS
  SELECT kind, function, callsite, comm, target, sum(calls), sum(bytes), sum(1.0 * time_ns) * 1e-9, sum(1.0 * call_ns) * 1e-9,
         sum(1.0 * wait_ns) * 1e-9, sum(1.0 * transfer_ns) * 1e-9
  FROM (SELECT kind, function, callsite, comm, target, 1 AS calls, bytes, end_ns - begin_ns AS time_ns, call_ns, NULL AS wait_ns,
               NULL AS transfer_ns
        FROM rma_call WHERE NOT joint
        UNION ALL
        SELECT 'synchronisation', function, callsite, comm, NULL, calls, bytes, time_ns, call_ns, wait_ns, transfer_ns
        FROM joint_site WHERE source = 'one-sided')
  GROUP BY kind, function, callsite, comm, target;

-- Calls on files by call site and communicator, the times as in rma_site. bytes_per_s: of a rank, while it waits for no other.
CREATE VIEW file_site(function, callsite, comm, collective, nonblocking, calls, failed, bytes, time_s, wait_s, transfer_s,
                      longest_s, bytes_per_s) AS
  SELECT function, callsite, comm, collective, nonblocking, sum(calls), sum(failed), sum(bytes), sum(1.0 * time_ns) * 1e-9,
         sum(1.0 * wait_ns) * 1e-9, sum(1.0 * transfer_ns) * 1e-9, max(longest_ns) * 1e-9,
         nullif(sum(bytes), 0) / nullif(sum(1.0 * (time_ns - coalesce(wait_ns, 0))) * 1e-9, 0)
  FROM (SELECT function, callsite, comm, 0 AS collective, nonblocking, 1 AS calls, failed, bytes, end_ns - begin_ns AS time_ns,
               NULL AS wait_ns, end_ns - begin_ns AS transfer_ns, end_ns - begin_ns AS longest_ns
        FROM file_call WHERE NOT collective
        UNION ALL
        SELECT function, callsite, comm, 1, nonblocking, calls, failed, bytes, time_ns, wait_ns, transfer_ns, longest_ns
        FROM joint_site WHERE source = 'file')
  GROUP BY function, callsite, comm, collective, nonblocking;

-- Partitioned messages. ready_ns: from the first to the last partition made ready. arrival_ns: from there until all had been
-- seen to arrive, where each was asked for, else until the receive was reported complete. hidden_bytes: those of partitions
-- that had arrived before the last one was ready; NULL unless each of the receiver's was kept (MPISTAIR_PARTITIONS=1).
CREATE VIEW partition_message(message_id, src, dst, comm, bytes, function, callsite, partitions, ready_ns, arrival_ns,
                              hidden_bytes) AS
  WITH side AS MATERIALIZED (SELECT message_id, direction, first_ns, last_ns, done, partitions
                             FROM partition WHERE partition IS NULL AND message_id IS NOT NULL),
       arrived AS (SELECT e.message_id, count(DISTINCT e.partition) AS kept,
                          count(DISTINCT iif(e.first_ns < s.last_ns, e.partition, NULL)) AS early
                   FROM partition e JOIN side s ON s.message_id = e.message_id AND s.direction = 'send'
                   WHERE e.direction = 'receive' AND e.partition IS NOT NULL GROUP BY e.message_id)
  SELECT m.id, m.src, m.dst, m.comm, m.bytes, m.send_function, m.send_callsite, s.partitions, s.last_ns - s.first_ns,
         iif(r.done >= r.partitions AND r.last_ns IS NOT NULL, r.last_ns, m.recv_complete_ns) - s.last_ns,
         iif(a.kept = r.partitions AND s.last_ns IS NOT NULL, m.bytes * a.early / a.kept, NULL)
  FROM side s JOIN message m ON m.id = s.message_id
       LEFT JOIN side r ON r.message_id = s.message_id AND r.direction = 'receive'
       LEFT JOIN arrived a ON a.message_id = s.message_id
  WHERE s.direction = 'send';

-- The same by the call site that started them, communicator and number of partitions; times are means of a message.
-- kept_bytes: of the messages of which hidden_bytes is known.
CREATE VIEW partition_site(function, callsite, comm, partitions, messages, bytes, ready_s, arrival_s, kept_bytes, hidden_bytes) AS
  SELECT function, callsite, comm, partitions, count(*), total(bytes), avg(ready_ns) * 1e-9, avg(max(arrival_ns, 0)) * 1e-9,
         sum(iif(hidden_bytes IS NOT NULL, 1.0 * bytes, NULL)), sum(1.0 * hidden_bytes)
  FROM partition_message GROUP BY function, callsite, comm, partitions;

-- Collectives, one-sided communication and files by size: from_bytes is the largest power of two that a call's bytes reach, 0 for none. source as in joint_call.
CREATE VIEW call_size(source, function, comm, from_bytes, calls, bytes, time_s) AS
  WITH RECURSIVE power(n) AS (SELECT 1 UNION ALL SELECT 2 * n FROM power WHERE n < 1 << 61)
  SELECT source, function, comm, coalesce((SELECT max(n) FROM power WHERE n <= bytes), 0) AS from_bytes, sum(calls),
         sum(calls * bytes), sum(time_ns) * 1e-9
  FROM (SELECT 'collective' AS source, function, comm, bytes, count(*) AS calls, sum(1.0 * (end_ns - begin_ns)) AS time_ns
        FROM collective GROUP BY function, comm, bytes
        UNION ALL
        SELECT 'one-sided', function, comm, bytes, count(*), sum(1.0 * (end_ns - begin_ns))
        FROM rma_call WHERE kind = 'transfer' GROUP BY function, comm, bytes
        UNION ALL
        SELECT 'file', function, comm, bytes, count(*), sum(1.0 * (end_ns - begin_ns)) FROM file_call WHERE bytes > 0
        GROUP BY function, comm, bytes)
  GROUP BY source, function, comm, from_bytes;

-- Replays of the whole run: what `mpistair replay` found of the run as it was (nothing of a what-if).

CREATE TABLE replay_run(
  id INTEGER PRIMARY KEY,              -- the largest is the last one made
  machine TEXT NOT NULL,
  law TEXT NOT NULL,                   -- with its terms: staircase+memory
  collectives TEXT NOT NULL,           -- recorded, modelled
  options TEXT NOT NULL,               -- the window, memory, places, as "from mark:1 to 2.5 s"; '': the whole run
  measured_s REAL,                     -- first begin to last end; NULL: not known
  predicted_s REAL NOT NULL,
  mpi_error REAL,                      -- T eq. 11 of the time inside MPI, by rank; NULL: none of it was predicted
  UNIQUE (machine, law, collectives, options)
);

-- A place is a rank and the call that it made; computation counts for the call behind it.
CREATE TABLE replay_place(
  run_id INTEGER NOT NULL REFERENCES replay_run(id),
  place INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  function TEXT NOT NULL,              -- MPI_Isend ...; end: behind the last call
  callsite INTEGER REFERENCES callsite(id), -- NULL: not known
  blamed_s REAL NOT NULL,              -- waiting of others that began here, however far away
  critical_s REAL NOT NULL,            -- on the critical path; they add up to predicted_s of the run
  PRIMARY KEY (run_id, place)
) WITHOUT ROWID;

-- Where the time goes; what is 0 both times is left out. quantity: computation, late_sender, late_receiver, transfer,
-- collective_wait, collective_transfer, other add up to the rank's time; latency, bandwidth, contention, queue, progress are
-- parts of transfer, which are predicted only.
CREATE TABLE replay_part(
  run_id INTEGER NOT NULL REFERENCES replay_run(id),
  place INTEGER NOT NULL,
  quantity TEXT NOT NULL,
  measured_s REAL,
  predicted_s REAL NOT NULL,
  PRIMARY KEY (run_id, place, quantity)
) WITHOUT ROWID;

-- Efficiencies of the POP method: parallel, load_balance, communication, serialisation, transfer. NULL: not known. Row
-- 'ideal': how long the run takes on an ideal network, as a share of the run. Where that is above 1, serialisation is at
-- least and transfer at most the value; where it is below communication, the other way round.
CREATE TABLE replay_efficiency(
  run_id INTEGER NOT NULL REFERENCES replay_run(id),
  efficiency TEXT NOT NULL,
  measured REAL,
  predicted REAL,
  PRIMARY KEY (run_id, efficiency)
) WITHOUT ROWID;

-- Time inside MPI of each place on an ideal network, with computation as recorded, for the efficiencies of regions. Of replays of
-- the whole run with all its calls.
CREATE TABLE replay_ideal(
  run_id INTEGER NOT NULL REFERENCES replay_run(id),
  place INTEGER NOT NULL,              -- as of replay_place
  inside_s REAL NOT NULL,
  PRIMARY KEY (run_id, place)
) WITHOUT ROWID;

-- The time inside messages of each call, as measured and by a law: what posts, waits and probes took, without collectives (but
-- where a call waited for messages, too) and without what is copied from the recording. modelled_s is the sum of the parts behind it.
CREATE TABLE message_time(
  run_id INTEGER NOT NULL REFERENCES replay_run(id),
  place INTEGER NOT NULL,              -- as of replay_place
  rank INTEGER NOT NULL,
  function TEXT NOT NULL,
  callsite INTEGER REFERENCES callsite(id), -- NULL: not known
  measured_s REAL NOT NULL,
  modelled_s REAL NOT NULL,
  late_sender_s REAL NOT NULL,
  late_receiver_s REAL NOT NULL,
  latency_s REAL NOT NULL,
  bandwidth_s REAL NOT NULL,
  contention_s REAL NOT NULL,
  queue_s REAL NOT NULL,
  progress_s REAL NOT NULL,
  post_s REAL NOT NULL,                -- overhead of posts, waits for a processor, for a collective
  PRIMARY KEY (run_id, place)
) WITHOUT ROWID;

-- The same of each sixtieth of the run, by when calls began, and by a law: of all ranks. off_s: sum of |measured - modelled| over the
-- ranks. Of bursts: of all of them, one behind the other.
CREATE TABLE message_window(
  run_id INTEGER NOT NULL REFERENCES replay_run(id),
  number INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  measured_s REAL NOT NULL,
  modelled_s REAL NOT NULL,
  off_s REAL NOT NULL,
  worst_rank INTEGER NOT NULL,         -- furthest off
  PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

-- The measured time inside messages of every second call of a place, from its first (odd_s) and from its second (even_s)
-- on; the last one of an odd number of calls is in neither.
CREATE TABLE message_halves(
  rank INTEGER NOT NULL,
  function TEXT NOT NULL,
  callsite INTEGER REFERENCES callsite(id),
  odd_s REAL NOT NULL,
  even_s REAL NOT NULL
);

-- The errors of the laws over the whole run.

-- By call site, over all ranks; off_s: the sum of |measured - modelled| over the ranks.
CREATE VIEW site_error(machine, model, function, callsite, actual_s, model_s, error, options, off_s, bias) AS
  SELECT machine, law, function, callsite, sum(measured_s), sum(modelled_s),
         sum(abs(measured_s - modelled_s)) / nullif(sum(measured_s), 0),
         trim(iif(collectives = 'modelled', 'collectives modelled ', '') || options), sum(abs(measured_s - modelled_s)),
         sum(modelled_s - measured_s) / nullif(sum(measured_s), 0)
  FROM (SELECT q.id, q.machine, q.law, q.collectives, q.options, m.rank, m.function, m.callsite,
               sum(m.measured_s) AS measured_s, sum(m.modelled_s) AS modelled_s
        FROM replay_run q JOIN message_time m ON m.run_id = q.id GROUP BY q.id, m.function, m.callsite, m.rank)
  GROUP BY id, function, callsite;

CREATE VIEW rank_error(machine, model, rank, actual_s, model_s, error, options, off_s, bias) AS
  SELECT machine, law, rank, measured_s, modelled_s, abs(measured_s - modelled_s) / nullif(measured_s, 0),
         trim(iif(collectives = 'modelled', 'collectives modelled ', '') || options), abs(measured_s - modelled_s),
         (modelled_s - measured_s) / nullif(measured_s, 0)
  FROM (SELECT q.machine, q.law, q.collectives, q.options, m.rank, sum(m.measured_s) AS measured_s,
               sum(m.modelled_s) AS modelled_s
        FROM replay_run q JOIN message_time m ON m.run_id = q.id GROUP BY q.id, m.rank);

-- error: T eq. 11, the sum over ranks |actual - model| over the sum of actual; mape: mean of the ranks' errors; bias: sum of
-- model - actual over sum of actual; worst_rank: with the largest off_s, its times behind it.
CREATE VIEW model_error(machine, model, error, mape, bias, worst_rank, options, worst_actual_s, worst_model_s) AS
  SELECT machine, model, sum(off_s) / nullif(sum(actual_s), 0), avg(error),
         sum(model_s - actual_s) / nullif(sum(actual_s), 0), max(CASE WHEN place = 1 THEN rank END), options,
         max(CASE WHEN place = 1 THEN actual_s END), max(CASE WHEN place = 1 THEN model_s END)
  FROM (SELECT *, row_number() OVER (PARTITION BY machine, model, options ORDER BY off_s DESC, rank) AS place
        FROM rank_error)
  GROUP BY machine, model, options;

-- By window of the run. actual_s and model_s add up to those of the run.
CREATE VIEW window_error(machine, model, number, begin_s, end_s, actual_s, model_s, error, options, off_s, bias, worst_rank) AS
  SELECT machine, law, number, begin_ns * 1e-9, end_ns * 1e-9, w.measured_s, modelled_s, off_s / nullif(w.measured_s, 0),
         trim(iif(collectives = 'modelled', 'collectives modelled ', '') || options), off_s,
         (modelled_s - w.measured_s) / nullif(w.measured_s, 0), worst_rank
  FROM message_window w JOIN replay_run q ON q.id = w.run_id;

-- By region, of the calls within it: scope exclusive: outside of regions within it; inclusive: with these; outside: outside of all, of
-- region NULL. Those that are exclusive, and outside, add up to those of the run.
CREATE VIEW region_error(machine, model, region, path, scope, actual_s, model_s, error, options, off_s, bias, worst_rank) AS
  WITH own AS MATERIALIZED (
    SELECT m.run_id, m.rank, s.region, sum(m.measured_s) AS measured_s, sum(m.modelled_s) AS modelled_s
    FROM message_time m LEFT JOIN site_region s ON s.callsite = m.callsite GROUP BY m.run_id, m.rank, s.region),
       one AS (
    SELECT run_id, rank, region, iif(region IS NULL, 'outside', 'exclusive') AS scope, measured_s, modelled_s FROM own
    UNION ALL SELECT run_id, rank, outer_region, 'inclusive', sum(measured_s), sum(modelled_s) FROM own JOIN region_within USING (region)
              GROUP BY run_id, rank, outer_region),
       placed AS (
    SELECT *, row_number() OVER (PARTITION BY run_id, region, scope ORDER BY abs(measured_s - modelled_s) DESC, rank) AS place FROM one)
  SELECT machine, law, region, coalesce(path, '(outside)'), scope, sum(p.measured_s), sum(modelled_s),
         sum(abs(p.measured_s - modelled_s)) / nullif(sum(p.measured_s), 0),
         trim(iif(collectives = 'modelled', 'collectives modelled ', '') || options), sum(abs(p.measured_s - modelled_s)),
         sum(modelled_s - p.measured_s) / nullif(sum(p.measured_s), 0), max(iif(place = 1, rank, NULL))
  FROM placed p JOIN replay_run q ON q.id = p.run_id LEFT JOIN region r ON r.id = p.region GROUP BY run_id, region, scope;

-- T eq. 11 between odd and even calls, the mean of both as the measured time: what no law can be expected to beat by far.
-- share: of the measured time, what lies in the calls that count.
CREATE VIEW replicate_error(error, ranks, share, basis) AS
  SELECT sum(abs(odd_s - even_s)) / nullif(sum(odd_s + even_s) / 2, 0), count(*),
         sum(odd_s + even_s) / nullif((SELECT max(measured_s) FROM (SELECT sum(measured_s) AS measured_s FROM message_time
                                                                   GROUP BY run_id)), 0),
         'odd against even calls of each call site and rank'
  FROM (SELECT rank, sum(odd_s) AS odd_s, sum(even_s) AS even_s FROM message_halves GROUP BY rank);
