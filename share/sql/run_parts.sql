-- Where the time of each rank goes, measured and predicted by mpistair replay.
SELECT r.machine, r.law, r.collectives, r.options, p.rank, t.quantity, sum(t.measured_s) AS measured_s,
       sum(t.predicted_s) AS predicted_s
FROM replay_run r JOIN replay_place p ON p.run_id = r.id JOIN replay_part t ON t.run_id = p.run_id AND t.place = p.place
GROUP BY r.id, p.rank, t.quantity ORDER BY r.id DESC, p.rank, max(coalesce(sum(t.measured_s), 0), sum(t.predicted_s)) DESC;
