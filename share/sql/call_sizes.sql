-- Collectives, one-sided transfers and calls on files by function, communicator and bytes of a rank, in powers of two.
SELECT s.source, s.function, coalesce(m.name, CASE s.comm WHEN 0 THEN 'MPI_COMM_WORLD' END, s.comm) AS communicator, s.from_bytes,
       CASE s.from_bytes WHEN 0 THEN 1 ELSE 2 * s.from_bytes END AS below_bytes, s.calls, s.bytes, s.time_s
FROM call_size s LEFT JOIN communicator m ON m.id = s.comm ORDER BY s.source, s.function, s.comm, s.from_bytes;
