-- Clock offsets of the nodes against rank 0's node, and their uncertainty.
SELECT k.node, n.host, k.at_ns, k.offset_ns, k.uncertainty_ns, k.source
FROM clock k LEFT JOIN node n ON n.id = k.node ORDER BY k.node, k.at_ns;
