-- Where operations were posted: calls, bytes that were sent or came in, mean time from post to completion.
WITH side AS (
  SELECT send_callsite AS callsite, send_function AS function, bytes, send_complete_ns - send_post_ns AS ns FROM message
  UNION ALL SELECT recv_callsite, recv_function, bytes, recv_complete_ns - recv_post_ns FROM message
  UNION ALL SELECT callsite, function, CASE direction WHEN 'send' THEN bytes ELSE 0 END, complete_ns - post_ns FROM unmatched)
SELECT coalesce(c.place, '?') AS place,
       a.module || '+' || printf('0x%x', a.offset) AS address, s.function AS mpi_function, count(*) AS operations,
       sum(s.bytes) AS bytes, avg(s.ns) * 1e-9 AS mean_s
FROM side s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN callsite a ON a.id = s.callsite
GROUP BY s.callsite, s.function ORDER BY operations DESC, place, address;
