-- Per sending rank: messages sent after the receive was posted, and by how much.
SELECT src AS rank, count(*) AS sent, sum(send_post_ns > recv_post_ns) AS late,
       sum(1.0 * max(send_post_ns - recv_post_ns, 0)) * 1e-9 AS late_s,
       max(max(send_post_ns - recv_post_ns, 0)) * 1e-9 AS latest_s
FROM message WHERE src <> dst GROUP BY src ORDER BY late_s DESC, src;
