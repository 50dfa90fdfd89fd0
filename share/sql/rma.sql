-- One-sided communication by function, origin and target: calls, bytes, time to the end and inside the calls.
SELECT function, rank, target, count(*) AS calls, sum(bytes) AS bytes, sum(1.0 * (end_ns - begin_ns)) * 1e-9 AS time_s,
       sum(1.0 * call_ns) * 1e-9 AS in_call_s, max(end_ns - begin_ns) * 1e-9 AS longest_s
FROM rma GROUP BY function, rank, target ORDER BY function, rank, target;
