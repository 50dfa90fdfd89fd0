-- Operations without a partner, by rank, peer and reason.
SELECT rank, direction, peer, reason, function, count(*) AS operations, sum(bytes) AS bytes
FROM unmatched GROUP BY rank, direction, peer, reason, function ORDER BY rank, direction, peer, reason, function;
