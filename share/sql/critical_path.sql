-- What the run time is made of along its critical path, by mpistair replay.
SELECT r.machine, r.law, r.collectives, r.options, p.rank, p.function, c.name AS caller, c.file, c.line, p.critical_s,
       p.critical_s / nullif(sum(p.critical_s) OVER (PARTITION BY r.id), 0) AS share,
       (SELECT verdict FROM completeness) AS recording
FROM replay_run r JOIN replay_place p ON p.run_id = r.id LEFT JOIN site c ON c.id = p.callsite
WHERE p.critical_s > 0 ORDER BY r.id DESC, p.critical_s DESC, p.rank, p.place;
