-- What a recording and a replay add to the small run of tests/golden/report/halo.sql: calls, and a stored replay. Of rank 0,
-- 6 ms of transfers were measured and 3 ms predicted: 3 ms are not explained.
INSERT INTO function(name) SELECT 'MPI_Waitall' UNION SELECT 'MPI_Allreduce' UNION SELECT 'MPI_Put' UNION SELECT 'MPI_File_write'
  EXCEPT SELECT name FROM function;
INSERT INTO call_row
  SELECT p.rank, f.id, 10000000 * (r.id - 1), 300000 + 1000 * p.rank, 2, 0, 1
  FROM process p, function f, round r WHERE f.name = 'MPI_Waitall' AND r.kind_id = 1;
INSERT INTO call_row
  SELECT p.rank, f.id, 60000000, 40000000, 0, 0, 2 FROM process p, function f WHERE f.name = 'MPI_Allreduce';
INSERT INTO replay_run VALUES (1, 'toy', 'staircase', 'recorded', '', 0.02, 0.016, 0.2);
INSERT INTO replay_place VALUES (1, 1, 0, 'MPI_Send', 1, 0.002, 0.009), (1, 2, 1, 'MPI_Recv', 2, 0.001, 0.004),
  (1, 3, 1, 'MPI_Allreduce', NULL, 0, 0.003);
INSERT INTO replay_part VALUES (1, 1, 'computation', 0.007, 0.007), (1, 1, 'late_sender', 0.002, 0.001),
  (1, 1, 'transfer', 0.006, 0.003), (1, 1, 'latency', NULL, 0.001), (1, 1, 'bandwidth', NULL, 0.002),
  (1, 2, 'computation', 0.005, 0.005), (1, 2, 'transfer', 0.001, 0.002), (1, 2, 'bandwidth', NULL, 0.002),
  (1, 3, 'collective_wait', 0.003, 0.003), (1, 3, 'collective_transfer', 0.002, 0.001);
-- A course of four windows a rank.
INSERT INTO course SELECT rank, w * d / 4, (w + 1) * d / 4, d / 16, d / 16, 0, d / 20 * w / 4, 0, 0, 0, 5, 100
  FROM process, (SELECT duration_ns AS d FROM run), (SELECT column1 AS w FROM (VALUES (0), (1), (2), (3)));
-- Two regions, the inner one in columns 12 to 23 of 120 of the course.
INSERT INTO region VALUES (0, NULL, 'solve', 'solve', 0, 'mpistair'), (1, 0, 'step', 'solve/step', 1, 'mpistair');
INSERT INTO occurrence(rank, region, lane, begin_ns, end_ns, inner_ns, mpi_ns, unended)
  SELECT 0, 0, 0, d / 120 * 6.5, d / 120 * 55.5, d / 120 * 11, 0, 0 FROM (SELECT 1.0 * duration_ns AS d FROM run) UNION ALL
  SELECT 0, 1, 0, d / 120 * 12.5, d / 120 * 23.5, 0, 0, 0 FROM (SELECT 1.0 * duration_ns AS d FROM run);
INSERT INTO region_total SELECT rank, region, 1, end_ns - begin_ns, inner_ns, end_ns - begin_ns, 0, 0, 0 FROM occurrence;
