-- Modelled time that stays visible in MPI where ranks compute between post and wait, against the time measured inside MPI.
SELECT machine, model, rank, outside_s, model_s, visible_s, in_mpi_s, error, options FROM rank_visible
ORDER BY machine, model, options, rank;
