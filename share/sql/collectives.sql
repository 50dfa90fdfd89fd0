-- Collectives by function: calls, bytes, mean and longest time.
SELECT function, sum(calls) AS calls, sum(bytes) AS bytes, sum(1.0 * time_ns) * 1e-9 / sum(CASE WHEN time_ns IS NOT NULL THEN calls END) AS mean_s,
       max(longest_ns) * 1e-9 AS longest_s, sum(1.0 * time_ns) * 1e-9 AS total_s
FROM (SELECT function, 1 AS calls, bytes, end_ns - begin_ns AS time_ns, end_ns - begin_ns AS longest_ns FROM collective
      UNION ALL SELECT function, calls, bytes, time_ns, NULL FROM call_sum WHERE kind = 'collective')
GROUP BY function ORDER BY total_s DESC, function;
