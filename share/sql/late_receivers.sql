-- Who waited for late receivers: sends that need their receive and came before it, by partner and place, the longest first.
SELECT l.rank, l.partner AS late_rank, l.function, coalesce(c.place, '?') AS place,
       l.messages, l.late_s, l.longest_s
FROM late_partner l LEFT JOIN site c ON c.id = l.callsite WHERE l.cause = 'receiver'
ORDER BY late_s DESC, rank, late_rank, l.function, place;
