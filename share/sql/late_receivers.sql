-- Per receiving rank: messages sent before the receive was posted, and by how much.
SELECT dst AS rank, count(*) AS received, sum(recv_post_ns > send_post_ns) AS late,
       sum(1.0 * max(recv_post_ns - send_post_ns, 0)) * 1e-9 AS late_s,
       max(max(recv_post_ns - send_post_ns, 0)) * 1e-9 AS latest_s
FROM message WHERE src <> dst GROUP BY dst ORDER BY late_s DESC, dst;
