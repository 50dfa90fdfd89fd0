-- Time in MPI by region and call site, of all ranks: calls made in the region itself, not in those within it.
SELECT r.path, f.name AS function, s.name || coalesce(' ' || s.file || ':' || s.line, '') AS place, sum(t.calls) AS calls,
       sum(t.time_ns) * 1e-9 AS time_s, sum(t.bytes) AS bytes
FROM total t JOIN site_region a ON a.callsite = t.callsite JOIN region r ON r.id = a.region JOIN function f ON f.id = t.function
JOIN site s ON s.id = t.callsite
GROUP BY r.id, t.function, t.callsite ORDER BY time_s DESC, r.id;
