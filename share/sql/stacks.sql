-- Stacks from which operations were posted (MPISTAIR_STACK=n): operations, bytes, callers from the outermost in.
WITH used AS (
  SELECT o.stack, count(*) AS operations, sum(coalesce(m.bytes, u.bytes)) AS bytes
  FROM origin o LEFT JOIN message m ON m.id = o.message_id LEFT JOIN unmatched u ON u.id = o.unmatched_id
  WHERE o.stack IS NOT NULL GROUP BY o.stack)
SELECT u.stack, u.operations, u.bytes,
       (SELECT group_concat(place, ' > ')
        FROM (SELECT coalesce(c.place, '?') AS place FROM stack s LEFT JOIN site c ON c.id = s.callsite WHERE s.id = u.stack
              ORDER BY s.depth DESC LIMIT -1)) AS callers
FROM used u ORDER BY u.operations DESC, u.stack;
