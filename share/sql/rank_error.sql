-- Measured and modelled time of each rank inside messages, by machine and law.
SELECT machine, model, rank, actual_s, model_s, error, bias, options FROM rank_error ORDER BY machine, model, options, rank;
