-- One-sided communication by call site and target: transfers, synchronisations, with waiting for others where all ranks call.
SELECT coalesce(c.place, '?') AS place, s.kind, s.function,
       coalesce(m.name, CASE s.comm WHEN 0 THEN 'MPI_COMM_WORLD' END, s.comm) AS communicator, s.target, s.calls, s.bytes, s.time_s,
       s.in_call_s, s.wait_s, s.transfer_s
FROM rma_site s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm
ORDER BY s.in_call_s DESC, place, s.function, s.comm, s.target;
