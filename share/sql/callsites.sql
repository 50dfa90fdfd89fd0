-- Where operations were posted: calls, bytes, mean time from post to completion.
SELECT coalesce(c.function, '?') || coalesce(' ' || c.file || ':' || c.line, '') AS place,
       c.module || '+' || printf('0x%x', c.offset) AS address, o.function AS mpi_function, count(*) AS operations,
       sum(o.bytes) AS bytes, avg(o.complete_ns - o.post_ns) * 1e-9 AS mean_s
FROM operation o LEFT JOIN callsite c ON c.id = o.callsite
GROUP BY o.callsite, o.function ORDER BY operations DESC, place, address;
