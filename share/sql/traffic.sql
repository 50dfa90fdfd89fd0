-- Messages and bytes from rank to rank, by level.
SELECT src, dst, messages, bytes, level FROM traffic ORDER BY src, dst, level;
