-- Efficiencies (POP) of the run, measured and predicted by mpistair replay.
SELECT r.machine, r.law, r.collectives, r.options, e.efficiency, e.measured, e.predicted
FROM replay_run r JOIN replay_efficiency e ON e.run_id = r.id
ORDER BY r.id DESC, CASE e.efficiency WHEN 'parallel' THEN 0 WHEN 'load_balance' THEN 1 WHEN 'communication' THEN 2
                         WHEN 'serialisation' THEN 3 ELSE 4 END;
