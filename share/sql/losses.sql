-- Records that are missing, by rank and cause.
SELECT rank, cause, n FROM loss ORDER BY rank, cause;
