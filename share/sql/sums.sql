-- Calls of which only sums are kept (MPISTAIR_DETAIL, recording off), by rank and place; from when to when, time inside.
SELECT s.rank, s.kind, s.function, s.target, sum(s.calls) AS calls, sum(s.bytes) AS bytes, sum(1.0 * s.time_ns) * 1e-9 AS time_s,
       min(s.begin_ns) AS begin_ns, max(s.end_ns) AS end_ns, s.off,
       coalesce(c.place, '?') AS place
FROM call_sum s LEFT JOIN site c ON c.id = s.callsite
GROUP BY s.rank, s.kind, s.function, s.target, s.off, s.callsite ORDER BY time_s DESC, s.rank, s.function, s.target, place;
