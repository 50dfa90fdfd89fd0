-- Messages and bytes between nodes within each switch, and over its uplink (up: to nodes elsewhere, down: from there).
SELECT switch, level, nodes, ranks, within_messages, within_bytes, up_messages, up_bytes, down_messages, down_bytes
FROM switch_volume ORDER BY level, up_bytes + down_bytes DESC, switch;
