-- Operations posted, matched, without a partner, lost, not recorded; a verdict.
SELECT * FROM completeness;
