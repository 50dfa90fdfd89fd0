-- Error, mean absolute percentage error, bias and worst rank of each model of rounds (predict --rounds).
SELECT machine, model, error, mape, bias, worst_rank, options FROM round_model_error ORDER BY error, machine, model, options;
