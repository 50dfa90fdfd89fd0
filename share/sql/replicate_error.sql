-- The error between the two halves of the rounds of each kind: what no model can be expected to beat by far.
SELECT error, kinds, ranks, share, basis, (SELECT verdict FROM completeness) AS recording
FROM replicate_error;
