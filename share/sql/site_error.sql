-- Measured and modelled time of each call site inside messages, by machine and law, those furthest off first.
SELECT machine, model, function, c.place, actual_s, model_s, error, bias, options
FROM site_error e LEFT JOIN site c ON c.id = e.callsite ORDER BY machine, model, options, off_s DESC, function, c.place;
