-- Messages and bytes by level and size, in powers of two.
-- Totals are the same in all shards.
-- merge: SELECT level, from_bytes, below_bytes, iif((SELECT detail FROM run) = 'all', sum(messages), max(messages)) AS messages, iif((SELECT detail FROM run) = 'all', sum(bytes), max(bytes)) AS bytes FROM part GROUP BY level, from_bytes ORDER BY level, from_bytes
WITH RECURSIVE bucket(low, high) AS (
  SELECT 0, 1 UNION ALL SELECT high, 2 * high FROM bucket WHERE high < (SELECT max(bytes) + 1 FROM message)),
size(level, from_bytes, below_bytes, messages, bytes) AS (
  SELECT m.level, b.low, b.high, count(*), sum(m.bytes)
  FROM bucket b JOIN message m ON m.bytes >= b.low AND m.bytes < b.high WHERE (SELECT detail FROM run) = 'all' GROUP BY m.level, b.low
  UNION ALL
  SELECT level_name.name, iif(bin = 0, 0, 1 << bin - 1), 1 << bin, sum(calls), sum(bytes)
  FROM total LEFT JOIN level_name ON level_name.id = total.level
  WHERE direction = 'send' AND (SELECT detail FROM run) <> 'all' GROUP BY level_name.name, bin)
SELECT * FROM size ORDER BY level, from_bytes;
