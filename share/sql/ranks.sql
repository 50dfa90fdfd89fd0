-- Where each rank ran, how it ended, what it sent and received.
WITH side AS (
  SELECT src AS sender, dst AS receiver, messages, bytes FROM traffic WHERE (SELECT detail FROM run) = 'all'
  UNION ALL
  SELECT iif(direction = 'send', rank, NULL), iif(direction = 'receive', rank, NULL), calls, bytes FROM total
  WHERE direction IS NOT NULL AND (SELECT detail FROM run) <> 'all'),
     sent AS (SELECT sender AS rank, sum(messages) AS messages, sum(bytes) AS bytes FROM side GROUP BY sender),
     received AS (SELECT receiver AS rank, sum(messages) AS messages, sum(bytes) AS bytes FROM side GROUP BY receiver)
SELECT p.rank, n.host, p.node, p.socket, p.numa, p.l3, p.core, p.pid, p.place, p.ended,
       coalesce(s.messages, 0) AS sent, coalesce(s.bytes, 0) AS sent_bytes,
       coalesce(r.messages, 0) AS received, coalesce(r.bytes, 0) AS received_bytes
FROM process p LEFT JOIN node n ON n.id = p.node LEFT JOIN sent s USING (rank) LEFT JOIN received r USING (rank)
ORDER BY p.rank;
