-- How far each law is off in each sixtieth of the run: T eq. 11 (share/doc/MODELS.md, Errors) of the time inside messages.
SELECT machine, model, options, begin_s, end_s, actual_s, model_s, off_s, error, bias, worst_rank
FROM window_error ORDER BY machine, model, options, number;
