-- Occurrences of regions that took their rank much longer outside of MPI than the others did, such as slow iterations.
SELECT r.path, o.rank, o.number, o.begin_ns * 1e-9 AS begin_s, o.time_ns * 1e-9 AS time_s, o.own_ns * 1e-9 AS outside_mpi_s,
       o.median_ns * 1e-9 AS median_s, 1.0 * o.own_ns / nullif(o.median_ns, 0) AS times
FROM slow_occurrence o JOIN region r ON r.id = o.region ORDER BY o.own_ns - o.median_ns DESC, o.begin_ns;
