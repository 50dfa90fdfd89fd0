-- Where operations were posted: calls, bytes that were sent or came in, mean time from post to completion,
-- which totals do not have.
WITH side AS (
  SELECT send_callsite AS callsite, send_function AS function, 1 AS calls, bytes, send_complete_ns - send_post_ns AS ns FROM message
  WHERE (SELECT detail FROM run) = 'all'
  UNION ALL SELECT recv_callsite, recv_function, 1, bytes, recv_complete_ns - recv_post_ns FROM message
  WHERE (SELECT detail FROM run) = 'all'
  UNION ALL SELECT callsite, function, 1, CASE direction WHEN 'send' THEN bytes ELSE 0 END, complete_ns - post_ns FROM unmatched
  WHERE (SELECT detail FROM run) = 'all'
  UNION ALL SELECT callsite, f.name, calls, bytes, NULL FROM total t JOIN function f ON f.id = t.function
  WHERE direction IS NOT NULL AND (SELECT detail FROM run) <> 'all')
SELECT coalesce(c.place, '?') AS place,
       a.module || '+' || printf('0x%x', a.offset) AS address, s.function AS mpi_function, sum(s.calls) AS operations,
       sum(s.bytes) AS bytes, avg(s.ns) * 1e-9 AS mean_s
FROM side s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN callsite a ON a.id = s.callsite
GROUP BY s.callsite, s.function ORDER BY operations DESC, place, address;
