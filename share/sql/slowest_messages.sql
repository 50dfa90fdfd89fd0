-- The 20 messages that took longest from the later post to the later completion.
-- merge: SELECT id, src, dst, bytes, level, round_id, time_s, send_function, recv_function FROM part ORDER BY time_s DESC, id LIMIT 20
SELECT id, src, dst, bytes, level, round_id,
       (max(send_complete_ns, recv_complete_ns) - max(send_post_ns, recv_post_ns)) * 1e-9 AS time_s,
       send_function, recv_function
FROM message WHERE src <> dst AND send_complete_ns IS NOT NULL AND recv_complete_ns IS NOT NULL
ORDER BY time_s DESC, id LIMIT 20;
