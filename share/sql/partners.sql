-- Per rank the partners that cost most: what their messages would take alone, and its share of all in that direction.
SELECT machine, rank, direction, partner, level, messages, bytes, alone_s,
       alone_s / nullif(sum(alone_s) OVER (PARTITION BY machine, rank, direction), 0) AS share, (SELECT verdict FROM completeness) AS recording
FROM partner_cost ORDER BY machine, rank, alone_s DESC, partner, direction;
