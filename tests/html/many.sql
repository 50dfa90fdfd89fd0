-- 600 ranks on 40 nodes of two sockets: ten messages of each to the next rank and to one that is far, and a reduction.
INSERT INTO run VALUES (1, 'k', '0.1.0', 0, 11000000, 'Open MPI', 'x', 'MPI_THREAD_SINGLE', './many', 600, 600, 4096, 65536, 1, 'MPI_Init', 'all');
CREATE TEMP TABLE n(i INTEGER PRIMARY KEY);
WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 599) INSERT INTO n SELECT i FROM c;
INSERT INTO node(id, host, sockets) SELECT i, 'node' || i, 2 FROM n WHERE i < 40;
INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) SELECT i, i / 15, i % 15 / 8, 'finalize', 0, 11000000 FROM n;
INSERT INTO function VALUES (1, 'MPI_Isend'), (2, 'MPI_Irecv'), (3, 'MPI_Waitall'), (4, 'MPI_Allreduce');
INSERT INTO form VALUES (1, 1, 1, 2, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL), (2, 3, 1, 2, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL);
INSERT INTO message_row
  SELECT NULL, a.i, (a.i + CASE s.i % 2 WHEN 0 THEN 1 ELSE 77 END) % 600, 0, 0, 1000 * (1 + s.i % 3), 1 + s.i % 2, NULL, 1000000 * s.i, 500000,
         1000, 400000, 0, NULL, NULL, 500, 500
  FROM n a, n s WHERE s.i < 10 ORDER BY s.i, a.i;
INSERT INTO call_row SELECT a.i, 3, 1000000 * s.i + 2000, 500000, 4, 0, NULL FROM n a, n s WHERE s.i < 10;
INSERT INTO call_row SELECT i, 4, 10000000, 300000 + 100 * i, 0, 0, NULL FROM n;
