-- The efficiencies of each window of the run's course, who computed longest in it, and for whom and where others waited longest.
WITH placed AS MATERIALIZED (
  SELECT number, rank, function, callsite, waited_s, row_number() OVER (PARTITION BY number ORDER BY waited_s DESC, rank) AS place
  FROM window_awaited)
SELECT e.begin_s, e.end_s, e.parallel, e.load_balance, e.communication, e.most_rank, a.rank AS awaited_rank, a.waited_s,
       a.function, coalesce(s.place, '?') AS place
FROM window_efficiency e LEFT JOIN placed a ON a.number = e.number AND a.place = 1 LEFT JOIN site s ON s.id = a.callsite
ORDER BY e.number;
