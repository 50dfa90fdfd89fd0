-- Error, mean absolute percentage error, bias and worst rank of each model.
SELECT machine, model, error, mape, bias, worst_rank, options FROM model_error ORDER BY error, machine, model, options;
