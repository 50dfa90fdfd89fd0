-- Partitioned messages by call site: when their partitions were ready and had arrived, and which bytes arrived meanwhile.
SELECT coalesce(c.place, '?') AS place, s.function,
       coalesce(m.name, CASE s.comm WHEN 0 THEN 'MPI_COMM_WORLD' END, s.comm) AS communicator, s.partitions, s.messages, s.bytes,
       s.ready_s, s.arrival_s, s.hidden_bytes / nullif(s.kept_bytes, 0) AS hidden_share, (SELECT verdict FROM completeness) AS recording
FROM partition_site s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm
ORDER BY s.bytes DESC, place, s.function, s.comm, s.partitions;
