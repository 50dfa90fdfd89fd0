-- Messages and bytes by level and size, in powers of two.
WITH RECURSIVE bucket(low, high) AS (
  SELECT 0, 1 UNION ALL SELECT high, 2 * high FROM bucket WHERE high < (SELECT max(bytes) + 1 FROM message))
SELECT m.level, b.low AS from_bytes, b.high AS below_bytes, count(*) AS messages, sum(m.bytes) AS bytes
FROM bucket b JOIN message m ON m.bytes >= b.low AND m.bytes < b.high GROUP BY m.level, b.low ORDER BY m.level, b.low;
