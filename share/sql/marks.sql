-- Marks of the program (MPI_Pcontrol) by number: ranks, marks, first and last, mean time between two on a rank.
SELECT number, count(DISTINCT rank) AS ranks, count(*) AS marks, min(at_ns) AS first_ns, max(at_ns) AS last_ns,
       avg(at_ns - before_ns) * 1e-9 AS mean_distance_s
FROM (SELECT *, lag(at_ns) OVER (PARTITION BY rank, number ORDER BY at_ns) AS before_ns FROM mark)
GROUP BY number ORDER BY number;
