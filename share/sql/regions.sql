-- Regions of the program by name: occurrences, time of all ranks inclusive and exclusive of regions within them, time in MPI,
-- the longest occurrence, the rank with most time.
SELECT r.path, count(*) AS ranks, sum(s.occurrences) AS occurrences, sum(s.inclusive_ns) * 1e-9 AS inclusive_s,
       sum(s.exclusive_ns) * 1e-9 AS exclusive_s, sum(s.mpi_ns) * 1e-9 AS mpi_s,
       max(s.longest_ns) * 1e-9 AS longest_s,
       (SELECT o.rank FROM region_sum o WHERE o.region = r.id ORDER BY o.inclusive_ns - o.mpi_ns DESC LIMIT 1) AS busiest_rank,
       r.way
FROM region r JOIN region_sum s ON s.region = r.id GROUP BY r.id ORDER BY exclusive_s DESC, r.id;
