-- The 20 rounds that took longest, beside the mean of their kind.
WITH timed AS (SELECT id, kind_id, begin_ns, (end_ns - begin_ns) * 1e-9 AS time_s,
                      avg(end_ns - begin_ns) OVER (PARTITION BY kind_id) * 1e-9 AS kind_mean_s,
                      count(*) OVER (PARTITION BY kind_id) AS kind_rounds
               FROM round)
SELECT id AS round, kind_id AS kind, kind_rounds, begin_ns, time_s, kind_mean_s,
       (SELECT p.rank FROM round_process p WHERE p.round_id = t.id ORDER BY p.end_ns DESC, p.rank LIMIT 1) AS last_rank
FROM timed t ORDER BY time_s DESC, id LIMIT 20;
