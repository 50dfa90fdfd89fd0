-- Efficiencies (POP) of the run, measured and predicted by mpistair replay; NULL: what ranks computed is not known. A bound:
-- the efficiency is at most, at least the value, as the replay on an ideal network could not be that long, or that short.
WITH bounded AS (
  SELECT e.run_id, e.efficiency, e.measured, e.predicted,
         CASE WHEN i.measured > 1 + 1e-9 THEN -1 WHEN i.measured < o.measured * (1 - 1e-9) THEN 1 END AS measured_sign,
         CASE WHEN i.predicted > 1 + 1e-9 THEN -1 WHEN i.predicted < o.predicted * (1 - 1e-9) THEN 1 END AS predicted_sign,
         CASE e.efficiency WHEN 'transfer' THEN 1 WHEN 'serialisation' THEN -1 END AS sign
  FROM replay_efficiency e
  LEFT JOIN replay_efficiency i ON i.run_id = e.run_id AND i.efficiency = 'ideal'
  LEFT JOIN replay_efficiency o ON o.run_id = e.run_id AND o.efficiency = 'communication'
  WHERE e.efficiency <> 'ideal')
SELECT r.machine, r.law, r.collectives, r.options, e.efficiency,
       CASE WHEN c.lost + c.missing_processes = 0 AND e.measured BETWEEN 0 AND 1 THEN e.measured END AS measured,
       CASE WHEN c.lost + c.missing_processes = 0 AND e.predicted BETWEEN 0 AND 1 THEN e.predicted END AS predicted,
       CASE e.sign * e.measured_sign WHEN 1 THEN 'at least' WHEN -1 THEN 'at most' END AS measured_bound,
       CASE e.sign * e.predicted_sign WHEN 1 THEN 'at least' WHEN -1 THEN 'at most' END AS predicted_bound,
       c.verdict AS recording
FROM replay_run r JOIN bounded e ON e.run_id = r.id CROSS JOIN completeness c
ORDER BY r.id DESC, CASE e.efficiency WHEN 'parallel' THEN 0 WHEN 'load_balance' THEN 1 WHEN 'communication' THEN 2
                         WHEN 'serialisation' THEN 3 ELSE 4 END;
