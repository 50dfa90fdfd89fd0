-- Error and bias of each model within each kind of round.
SELECT machine, model, kind_id, rounds, error, bias, options FROM kind_error
ORDER BY machine, model, options, kind_id;
