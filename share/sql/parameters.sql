-- The machine tables that predictions of this trace were made with.
SELECT machine, level, protocol, quantity, n, value, unit, ci_low, ci_high, samples, method
FROM machine_parameter ORDER BY machine, level, protocol, quantity, n;
