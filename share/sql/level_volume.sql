-- Messages, bytes and share of the bytes of each level (self, intra_socket, inter_socket, inter_node).
WITH volume(level, messages, bytes) AS (
  SELECT level, messages, bytes FROM level_volume WHERE (SELECT detail FROM run) = 'all'
  UNION ALL
  SELECT level_name.name, sum(calls), sum(bytes) FROM total LEFT JOIN level_name ON level_name.id = total.level
  WHERE direction = 'send' AND (SELECT detail FROM run) <> 'all' GROUP BY level_name.name)
SELECT level, messages, bytes, 1.0 * bytes / nullif((SELECT sum(bytes) FROM volume), 0) AS share, (SELECT verdict FROM completeness) AS recording
FROM volume ORDER BY bytes DESC, level;
