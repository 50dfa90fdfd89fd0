-- Messages and bytes from rank to rank, by level.
SELECT src, dst, messages, bytes, level FROM traffic WHERE (SELECT detail FROM run) = 'all'
UNION ALL
SELECT rank, peer, sum(calls), sum(bytes), level_name.name
FROM total LEFT JOIN level_name ON level_name.id = total.level
WHERE direction = 'send' AND peer IS NOT NULL AND (SELECT detail FROM run) <> 'all' GROUP BY rank, peer, level_name.name
ORDER BY src, dst, level;
