-- Collectives by call site and communicator: waiting for the last rank to arrive, transfer behind that, who came last most.
SELECT coalesce(c.place, '?') AS place, s.function,
       coalesce(m.name, CASE s.comm WHEN 0 THEN 'MPI_COMM_WORLD' END, s.comm) AS communicator, m.size AS ranks, s.nonblocking, s.calls,
       s.bytes, s.time_s, s.wait_s, s.transfer_s, s.longest_s, s.last_rank, s.last_s / nullif(s.wait_s, 0) AS last_share,
       (SELECT verdict FROM completeness) AS recording
FROM collective_site s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm
ORDER BY s.time_s DESC, place, s.function, s.comm, s.nonblocking;
