-- Partitioned messages: from start to the first and last partition ready, and to the first and last seen to arrive.
-- merge: SELECT message, src, dst, tag, bytes, send_partitions, ready, first_ready_s, last_ready_s, recv_partitions, first_arrived_s, last_arrived_s, complete_s FROM part ORDER BY message
SELECT m.id AS message, m.src, m.dst, m.tag, m.bytes, s.partitions AS send_partitions, s.done AS ready,
       (s.first_ns - m.send_post_ns) * 1e-9 AS first_ready_s, (s.last_ns - m.send_post_ns) * 1e-9 AS last_ready_s,
       r.partitions AS recv_partitions, (r.first_ns - m.send_post_ns) * 1e-9 AS first_arrived_s,
       (r.last_ns - m.send_post_ns) * 1e-9 AS last_arrived_s,
       (m.recv_complete_ns - m.send_post_ns) * 1e-9 AS complete_s
FROM message m
     LEFT JOIN partition s ON s.message_id = m.id AND s.direction = 'send' AND s.partition IS NULL
     LEFT JOIN partition r ON r.message_id = m.id AND r.direction = 'receive' AND r.partition IS NULL
WHERE m.id IN (SELECT message_id FROM partition) ORDER BY m.id;
