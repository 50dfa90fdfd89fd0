-- Calls of MPI by function and rank, with those of which only sums are kept: how many, time inside.
SELECT function, rank, calls, time_s FROM call_total ORDER BY time_s DESC, function, rank;
