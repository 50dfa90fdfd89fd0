/* Finds call sites that send many small messages to the same ranks, each of which costs what one large one would.
 *
 * A message costs what its two calls take once both are posted: what a call waits for its partner is another finding.
 */
#include <inttypes.h>
#include <math.h>

#include "report/diagnose/diagnosis.h"

/* The calls must take so much of all ranks' time. */
#define LEAST_SHARE 0.05

/* A call that ended before its partner's began did not wait for it. Most of a site's messages must be small, so their
 * median is. ?1: bytes below which a message is small; ?2: messages that a pair of ranks exchanges, at least. */
static const char *const SITES =
    "WITH pair AS (SELECT form, src, dst, count(*) AS n, sum(bytes < ?1) AS small, total(bytes) AS bytes,"
    "    total(max(coalesce(send_call_ns, 0) -"
    "              CASE WHEN late_ns > 0 AND late_ns < send_call_ns THEN late_ns ELSE 0 END, 0)) +"
    "    total(max(coalesce(recv_call_ns, 0) +"
    "              CASE WHEN late_ns < 0 AND -late_ns < recv_call_ns THEN late_ns ELSE 0 END, 0)) AS call_ns"
    "  FROM message_row WHERE src <> dst AND bytes >= 0 GROUP BY form, src, dst),"
    " joined AS (SELECT f.send_function AS function, f.send_callsite AS site, src, dst, sum(n) AS n,"
    "    sum(small) AS small, sum(bytes) AS bytes, sum(call_ns) AS call_ns"
    "  FROM pair p JOIN form f ON f.id = p.form GROUP BY 1, 2, 3, 4)"
    "SELECT coalesce((SELECT name FROM function WHERE id = function), ''), coalesce(site, -1), sum(n),"
    "  sum(bytes) / sum(n), count(*), sum(call_ns) * 1e-9, min(src), min(dst)"
    "  FROM joined GROUP BY function, site HAVING 2 * sum(small) > sum(n) AND sum(n) >= ?2 * count(*)"
    "  ORDER BY 6 DESC LIMIT 8";

enum { SMALL_BYTES = 1024, LEAST_MESSAGES = 100 };

static int add(struct diagnosis *diagnosis, struct cursor *rows)
{
    int64_t n = cursor_integer(rows, 2), pairs = cursor_integer(rows, 4);
    double took_s = cursor_real(rows, 5), joined_s = took_s * (1 - (double)pairs / (double)n);
    struct finding finding = {.kind = FINDING_SMALL_MESSAGES,
                              .rank = pairs == 1 ? cursor_integer(rows, 6) : -1,
                              .partner = pairs == 1 ? cursor_integer(rows, 7) : -1,
                              .cost_s = fmin(joined_s, diagnosis->all_s)};
    char site[DIAGNOSIS_TEXT], bytes[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT];
    if (!(took_s >= LEAST_SHARE * diagnosis->all_s))
        return 0;
    if (diagnosis_name_callsite(diagnosis, cursor_text(rows, 0, diagnosis->pool), cursor_integer(rows, 1), &finding,
                                site) != 0)
        return -1;
    return diagnosis_add(diagnosis, finding,
                         "%s sends %" PRId64 " messages of %s between %" PRId64
                         " pair%s of ranks; joining them saves %s at most, %.0f %% of all time",
                         site, n, diagnosis_bytes(bytes, cursor_real(rows, 3)), pairs, pairs == 1 ? "" : "s",
                         diagnosis_seconds(took, finding.cost_s), 100 * finding.cost_s / diagnosis->all_s);
}

int diagnose_small_messages(struct diagnosis *diagnosis)
{
    struct cursor rows;
    int result = 0;
    cursor_open(&rows, diagnosis->database, diagnosis->path, SITES, diagnosis->error);
    if (rows.result == 0) {
        sqlite3_bind_int(rows.statement, 1, SMALL_BYTES);
        sqlite3_bind_int(rows.statement, 2, LEAST_MESSAGES);
    }
    while (result == 0 && cursor_next(&rows))
        result = add(diagnosis, &rows);
    return cursor_close(&rows) != 0 ? -1 : result;
}
