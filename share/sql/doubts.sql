-- Why the order of messages was not certain.
SELECT reason, messages FROM doubt ORDER BY messages DESC, reason;
