-- How far each law is off in each region (inclusive: with regions within it; exclusive: without them), and outside of all.
SELECT machine, model, options, path, scope, actual_s, model_s, off_s, error, bias, worst_rank
FROM region_error ORDER BY machine, model, options, scope = 'outside', path, scope DESC;
