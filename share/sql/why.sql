-- What each rank's modelled time is made of, and which part is the largest.
SELECT machine, model, rank, time_s, latency_s, bandwidth_s, contention_s, queue_s, link_s, skew_s, mostly, low_s, high_s,
       extrapolated, options
FROM rank_part ORDER BY machine, model, options, time_s DESC, rank;
