-- Whose computation and calls made others wait, however far away, by mpistair replay.
SELECT r.machine, r.law, r.collectives, r.options, p.rank, p.function, c.name AS caller, c.file, c.line, p.blamed_s,
       p.blamed_s / nullif(sum(p.blamed_s) OVER (PARTITION BY r.id), 0) AS share,
       (SELECT verdict FROM completeness) AS recording
FROM replay_run r JOIN replay_place p ON p.run_id = r.id LEFT JOIN site c ON c.id = p.callsite
WHERE p.blamed_s > 0 ORDER BY r.id DESC, p.blamed_s DESC, p.rank, p.place;
