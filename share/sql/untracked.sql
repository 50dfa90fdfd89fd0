-- MPI functions called and not recorded, and whether messages may be missing because of them.
SELECT name, sum(calls) AS calls, count(*) AS ranks, max(affects_messages) AS affects_messages
FROM untracked GROUP BY name ORDER BY affects_messages DESC, calls DESC, name;
