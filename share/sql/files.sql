-- Calls on files by call site and communicator: bytes, time, waiting for others, rate of a rank.
SELECT coalesce(c.place, '?') AS place, s.function,
       coalesce(m.name, CASE s.comm WHEN 0 THEN 'MPI_COMM_WORLD' END, s.comm) AS communicator, s.nonblocking, s.calls, s.failed, s.bytes,
       s.time_s, s.wait_s, s.transfer_s, s.longest_s, s.bytes_per_s
FROM file_site s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm
ORDER BY s.time_s DESC, place, s.function, s.comm, s.nonblocking;
