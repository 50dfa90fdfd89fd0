-- Times without recording (MPI_Pcontrol), and the operations left out for them: of the rank, and their partners.
SELECT rank, begin_ns, (end_ns - begin_ns) * 1e-9 AS time_s, operations, partners
FROM recording_off ORDER BY rank, begin_ns;
