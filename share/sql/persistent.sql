-- Persistent requests: what was made where, and how often it was started.
SELECT p.rank, p.function, p.direction, p.peer, p.comm, p.tag, p.bytes, p.partitions, p.starts, p.init_ns,
       coalesce(c.place, '?') AS place
FROM persistent p LEFT JOIN site c ON c.id = p.callsite ORDER BY p.rank, p.init_ns, p.id;
