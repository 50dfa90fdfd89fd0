-- One-sided communication by function, origin and target: calls, bytes, time to the end and inside the calls.
SELECT function, rank, target, sum(calls) AS calls, sum(bytes) AS bytes, sum(1.0 * time_ns) * 1e-9 AS time_s,
       sum(1.0 * call_ns) * 1e-9 AS in_call_s, max(longest_ns) * 1e-9 AS longest_s
FROM (SELECT function, rank, target, 1 AS calls, bytes, end_ns - begin_ns AS time_ns, call_ns, end_ns - begin_ns AS longest_ns FROM rma
      UNION ALL SELECT function, rank, target, calls, bytes, time_ns, time_ns, NULL FROM call_sum WHERE kind = 'one-sided')
GROUP BY function, rank, target ORDER BY function, rank, target;
