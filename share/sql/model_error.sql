-- Error, mean absolute percentage error, bias and worst rank of each law over the whole run.
SELECT machine, model, error, mape, bias, worst_rank, worst_actual_s, worst_model_s, options FROM model_error
ORDER BY error, machine, model, options;
