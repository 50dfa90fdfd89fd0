-- Communicators, their parents, sizes and messages.
-- merge: SELECT id, name, parent, function, size, remote, known, sum(messages) AS messages FROM part GROUP BY id ORDER BY id
SELECT c.id, c.name, c.parent, c.function, c.size, c.remote, c.known, coalesce(m.messages, 0) AS messages
FROM communicator c LEFT JOIN (SELECT comm, count(*) AS messages FROM message GROUP BY comm) m ON m.comm = c.id
ORDER BY c.id;
