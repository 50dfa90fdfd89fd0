-- Where each rank ran, how it ended, what it sent and received.
WITH sent AS (SELECT src AS rank, count(*) AS messages, sum(bytes) AS bytes FROM message GROUP BY src),
     received AS (SELECT dst AS rank, count(*) AS messages, sum(bytes) AS bytes FROM message GROUP BY dst)
SELECT p.rank, n.host, p.node, p.socket, p.numa, p.l3, p.core, p.pid, p.place, p.ended,
       coalesce(s.messages, 0) AS sent, coalesce(s.bytes, 0) AS sent_bytes,
       coalesce(r.messages, 0) AS received, coalesce(r.bytes, 0) AS received_bytes
FROM process p LEFT JOIN node n ON n.id = p.node LEFT JOIN sent s USING (rank) LEFT JOIN received r USING (rank)
ORDER BY p.rank;
