-- Measured and modelled time of each rank, by machine and model.
SELECT machine, model, rank, actual_s, model_s, error, bias, options FROM rank_error ORDER BY machine, model, options, rank;
