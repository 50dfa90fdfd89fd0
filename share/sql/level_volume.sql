-- Messages, bytes and share of the bytes of each level (self, intra_socket, inter_socket, inter_node).
SELECT level, messages, bytes, share, (SELECT verdict FROM completeness) AS recording
FROM level_volume ORDER BY bytes DESC, level;
