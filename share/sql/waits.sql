-- Per kind of round how long ranks that are done wait for the last one.
SELECT kind_id, rounds, ranks, wait_s, mean_s, longest_s, share, last_rank, last_rounds,
       (SELECT verdict FROM completeness) AS recording
FROM kind_wait
ORDER BY wait_s DESC, kind_id;
