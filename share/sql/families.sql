-- Families of kinds (same ranks, same call sites, other sizes), the heaviest first: sizes of a message, bytes of a round.
SELECT * FROM family ORDER BY time_s DESC, family_id;
