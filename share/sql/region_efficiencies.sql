-- The efficiencies of the run, of each region (inclusive: with regions within it; exclusive: without them), and outside of all.
SELECT path, scope, ranks, there_s, parallel, load_balance, communication, serialisation, transfer, most_rank
FROM region_efficiency ORDER BY scope = 'outside', scope <> 'run', path, scope DESC;
