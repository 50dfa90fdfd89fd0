/* A shard that cannot be read costs the report what it has, and is named. Of a run with very many calls the first
 * screen goes by sums, as of one that was recorded with --sums. */
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/database/shards.h"
#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* Most sides of messages and calls that are read one by one, to 24 bytes of memory and more; those of which a page has
 * what each rank waited for, as the run is then in memory as a whole. */
static const int64_t rows_most = 50000000, page_rows_most = 3000000;

/* Counts them in a trace in one file by the largest numbers of rows, which are found without a look at all. */
static int64_t rows_of_file(struct report *report)
{
    int64_t rows = 0;
    if (cursor_numbers(report->database, report->path,
                       "SELECT 2 * coalesce((SELECT max(rowid) FROM message_row), 0) + "
                       "coalesce((SELECT max(rowid) FROM call_row), 0)",
                       &rows, 1, report->error) != 0)
        report->result = -1;
    return rows;
}

void report_collect_shards(struct report *report, bool is_page)
{
    struct report_shards *found = &report->shards;
    struct shards shards;
    int64_t rows = 0;
    if (shards_read(&shards, report->database, "main", report->error) != 0) {
        report->result = -1;
        return;
    }
    for (size_t i = 0; i < shards.n; i++) {
        const struct shard *shard = &shards.shards[i];
        char fault[SHARD_TEXT_BYTES], has[SHARD_TEXT_BYTES];
        sqlite3 *database = shard_open(shard, fault);
        rows += 2 * shard->rows[SHARD_MESSAGES] + shard->rows[SHARD_CALLS];
        sqlite3_close(database);
        if (database != NULL)
            continue;
        const char *slash = strrchr(shard->path, '/');
        shard_has_text(shard, has);
        char *text = xasprintf("shard %s %s: %s are not shown", slash != NULL ? slash + 1 : shard->path, fault, has);
        ARRAY_ADD(found->faults, found->n_faults, pool_clean(&report->pool, text, strlen(text)));
        free(text);
    }
    if (is_page && shards.n == 0 && !report->part.is_part)
        rows = rows_of_file(report);
    found->by_sums = found->n_faults > 0 || (rows > rows_most && !report->part.is_part);
    found->page_rows = is_page && rows > page_rows_most && !report->part.is_part ? rows : 0;
    shards_release(&shards);
}
