-- Efficiencies (POP) of the run, measured and predicted by mpistair replay; NULL: what ranks computed is not known.
SELECT r.machine, r.law, r.collectives, r.options, e.efficiency,
       CASE WHEN c.lost + c.missing_processes = 0 AND e.measured BETWEEN 0 AND 1 THEN e.measured END AS measured,
       CASE WHEN c.lost + c.missing_processes = 0 AND e.predicted BETWEEN 0 AND 1 THEN e.predicted END AS predicted,
       c.verdict AS recording
FROM replay_run r JOIN replay_efficiency e ON e.run_id = r.id CROSS JOIN completeness c
ORDER BY r.id DESC, CASE e.efficiency WHEN 'parallel' THEN 0 WHEN 'load_balance' THEN 1 WHEN 'communication' THEN 2
                         WHEN 'serialisation' THEN 3 ELSE 4 END;
