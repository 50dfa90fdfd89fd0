-- A small run by hand: 4 ranks on 2 nodes, a halo exchange of four rounds (kind 1), one start-up round (kind 2), and a
-- message of rank 3 to itself. Measured times of kind 1: rank r takes (r + 1) * 100 us, in the
-- second half 20 us more; rank 2 sends 30 us late.
INSERT INTO run VALUES (1, 'node0-4711-1700000000', '0.1.0', 1700000000000000000, 2500000000, 'Open MPI',
  'Open MPI v4.1.4, package: Debian OpenMPI', 'MPI_THREAD_SINGLE', './halo <b>"mesh" & ''more''</b>', 4, 4, 4096, 65536, 41.25, 'MPI_Init', 'all');
INSERT INTO program VALUES (0, 3, './halo <b>"mesh" & ''more''</b>');
INSERT INTO node VALUES (0, 'node0<i>', 2, 4, NULL, 0, 4), (1, 'node1', 2, 4, NULL, 1, 4);
INSERT INTO process(rank, node, socket, numa, l3, core, pid, place, ended, begin_ns, end_ns) VALUES
  (0, 0, 0, 0, 0, 0, 100, 'observed', 'finalize', 0, 2500000000),
  (1, 0, 0, 0, 0, 1, 101, 'observed', 'finalize', 0, 2500000000),
  (2, 0, 1, 1, 1, 2, 102, 'observed', 'finalize', 0, 2500000000),
  (3, 1, 0, 0, 0, 0, 103, 'observed', 'finalize', 0, 2500000000);
INSERT INTO clock VALUES (0, 0, 0, 0, 'reference'), (1, 0, 1500, 300, 'init');
INSERT INTO callsite VALUES (1, '/opt/app/halo', 4660, 'c0ffee', 'exchange', 'halo.c', 42),
  (2, '/opt/app/halo', 4700, 'c0ffee', NULL, NULL, NULL);
INSERT INTO communicator VALUES (0, 'MPI_COMM_WORLD', NULL, NULL, 4, NULL, 1);
INSERT INTO communicator_member VALUES (0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3);
INSERT INTO kind VALUES (1, 4, 4, 160000), (2, 1, 1, 1000);
INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES (1, 2, 1000000, 1050000);
INSERT INTO round_process VALUES (1, 0, 1000000, 1040000, 30000), (1, 1, 1000000, 1050000, 50000);
WITH RECURSIVE step(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM step WHERE k < 3)
  INSERT INTO round(id, kind_id, begin_ns, end_ns) SELECT 2 + k, 1, 10000000 * (k + 1), 10000000 * (k + 1) + 400000 + k / 2 * 20000 FROM step;
INSERT INTO round_process
  SELECT r.id, p.rank, r.begin_ns, r.begin_ns + (p.rank + 1) * 100000 + (r.id - 2) / 2 * 20000, (p.rank + 1) * 50000
  FROM round r, process p WHERE r.kind_id = 1;
CREATE TEMP TABLE pattern(src, dst, bytes, level);
INSERT INTO pattern VALUES (0, 1, 100000, 'intra_socket'), (1, 2, 40000, 'inter_socket'), (2, 3, 15000, 'inter_node'),
  (3, 0, 5000, 'inter_node');
INSERT INTO message(src, dst, comm, tag, bytes, level, round_id, send_post_ns, send_complete_ns, recv_post_ns,
                    recv_complete_ns, recv_bytes, send_function, recv_function, any_source, any_tag, send_callsite,
                    recv_callsite, send_cpu, recv_cpu, uncertain)
  SELECT p.src, p.dst, 0, 7, p.bytes, p.level, r.id, r.begin_ns + (p.src = 2) * 30000, r.begin_ns + 90000, r.begin_ns + 5000 * p.dst,
         r.begin_ns + 95000, p.bytes, 'MPI_Isend', 'MPI_Irecv', 0, 0, 1, 2, p.src, p.dst, 0
  FROM round r, pattern p WHERE r.kind_id = 1 ORDER BY r.id, p.src;
INSERT INTO message VALUES
  (NULL, 0, 1, 0, 1, 1000, 'intra_socket', 1, 1000000, 1030000, 1000000, 1050000, 1000, 'MPI_Send', 'MPI_Recv', 1, 0, 1,
   2, 0, 1, 0),
  (NULL, 3, 3, 0, 2, 64, 'self', NULL, 2000000, 2000100, 2000000, 2000200, 64, 'MPI_Isend', 'MPI_Irecv', 0, 0, 1, 2, 0,
   0, 0);
INSERT INTO unmatched VALUES (1, 0, 'send', NULL, 0, 7, 0, 'proc_null', 10000000, 10000100, 'MPI_Isend', 1);
INSERT INTO collective SELECT NULL, rank, 'MPI_Allreduce', 0, 8, NULL, 60000000, 60000000 + 1000 * (4 - rank),
  1000 * (4 - rank), 0, NULL, NULL, 2, NULL
  FROM process;
INSERT INTO untracked SELECT rank, 'MPI_Wtime', 12, 0 FROM process;
INSERT INTO machine VALUES ('toy', 'by hand'), ('other', 'by hand');
INSERT INTO machine_parameter VALUES ('toy', 'intra_socket', 'any', 'tau', NULL, 1e-6, 's', 0.9e-6, 1.1e-6, 20, 'fit'),
  ('toy', 'intra_socket', 'any', 'bw', 1, 5e9, 'B/s', NULL, NULL, NULL, NULL),
  ('toy', 'intra_socket', 'any', 'bw', 2, 8e9, 'B/s', NULL, NULL, NULL, NULL),
  ('toy', 'inter_socket', 'any', 'bw', 1, 4e9, 'B/s', NULL, NULL, NULL, NULL),
  ('toy', 'inter_node', 'rendezvous', 'bw', 1, 1e9, 'B/s', NULL, NULL, NULL, NULL),
  ('toy', 'inter_node', 'rendezvous', 'threshold', NULL, 10000, 'B', NULL, NULL, NULL, NULL),
  ('toy', 'inter_node', 'eager', 'bw', 2, 0.5e9, 'B/s', NULL, NULL, NULL, NULL),
  ('toy', 'inter_node', 'eager', 'threshold', NULL, 6000, 'B', NULL, NULL, NULL, NULL),
  ('other', 'intra_socket', 'any', 'bw', 1, 1e9, 'B/s', NULL, NULL, NULL, NULL);
INSERT INTO prediction_run VALUES (1, 'toy', 'postal', '', 0), (2, 'toy', 'staircase', '', 1);
INSERT INTO prediction SELECT 1, 1, rank, (rank + 1) * 50e-6, 1e-6, (rank + 1) * 50e-6 - 1e-6, 0, 0, 0, 0, NULL, NULL, 0 FROM process;
-- Of staircase 60 us are bandwidth, what is over contention; the interval is 10 % on both sides.
INSERT INTO prediction SELECT 2, 1, rank, (rank + 1) * 110e-6, 2e-6, 60e-6, (rank + 1) * 110e-6 - 62e-6, 0, 0, 0,
  (rank + 1) * 99e-6, (rank + 1) * 121e-6, rank = 2
  FROM process;
INSERT INTO prediction SELECT p.run_id, 2, p.rank, p.time_s / 10, p.latency_s / 10, p.bandwidth_s / 10, p.contention_s / 10, 0, 0, 0,
  p.low_s / 10, p.high_s / 10, 0
  FROM prediction p WHERE p.rank < 2;
