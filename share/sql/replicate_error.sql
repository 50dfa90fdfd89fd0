-- The error between odd and even calls of each call site and rank: what no law can be expected to beat by far.
SELECT error, ranks, share, basis, (SELECT verdict FROM completeness) AS recording
FROM replicate_error;
