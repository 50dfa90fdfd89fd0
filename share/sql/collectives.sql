-- Collectives by function: calls, bytes, mean and longest time.
SELECT function, count(*) AS calls, sum(bytes) AS bytes, sum(1.0 * (end_ns - begin_ns)) * 1e-9 / count(end_ns) AS mean_s,
       max(end_ns - begin_ns) * 1e-9 AS longest_s, sum(1.0 * (end_ns - begin_ns)) * 1e-9 AS total_s
FROM collective GROUP BY function ORDER BY total_s DESC, function;
