-- Kinds of rounds, the heaviest first: traffic of one round, time of all ranks in all rounds.
SELECT * FROM kind_summary ORDER BY time_s DESC, kind_id;
