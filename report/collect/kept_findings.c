/* What is kept holds for the trace as it is and for the program that found it: the table kept_by has the number of the
 * trace's last change (sqlite.org/fileformat2.html, 1.3.7) and the executable's size and time. Any later change, as by
 * `mpistair predict`, which may add a machine table, makes it void. */
#include "report/collect/kept_findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interpose/database/database.h"
#include "report/collect/fields.h"
#include "report/diagnose/findings.h"
#include "share/base/array.h"
#include "share/base/memory.h"

struct kept_finding {
    int64_t number; /* from 1 on */
    const char *kind, *query;
    struct finding row;
    int64_t all_ranks; /* of the evidence; 0: there is none */
    bool of_work;
};
static const struct fields finding_fields = FIELDS(
    kept_finding, FIELD(kept_finding, number), FIELD(kept_finding, kind), FIELD_AS("rank", kept_finding, row.rank),
    FIELD_AS("partner", kept_finding, row.partner), FIELD_AS("callsite", kept_finding, row.callsite),
    FIELD_AS("explained_by", kept_finding, row.under), FIELD_AS("cost_s", kept_finding, row.cost_s),
    FIELD_AS("share", kept_finding, row.share), FIELD_AS("gain_s", kept_finding, row.gain_s),
    FIELD_AS("gain", kept_finding, row.gain), FIELD_AS("gain_low", kept_finding, row.gain_low),
    FIELD_AS("gain_high", kept_finding, row.gain_high), FIELD_AS("begin_s", kept_finding, row.begin_s),
    FIELD_AS("end_s", kept_finding, row.end_s), FIELD_AS("function", kept_finding, row.function),
    FIELD_AS("place", kept_finding, row.place), FIELD_AS("sentence", kept_finding, row.sentence),
    FIELD(kept_finding, all_ranks), FIELD(kept_finding, of_work), FIELD(kept_finding, query));

struct kept_rank {
    int64_t finding;
    struct evidence_rank row;
};
static const struct fields rank_fields =
    FIELDS(kept_rank, FIELD(kept_rank, finding), FIELD_AS("rank", kept_rank, row.rank),
           FIELD_AS("calls", kept_rank, row.calls), FIELD_AS("time_s", kept_rank, row.time_s),
           FIELD_AS("longest_s", kept_rank, row.longest_s));

/* The share of a part of the run, of which there are EVIDENCE_COLUMNS; no row: 0. */
struct kept_part {
    int64_t finding, place, part; /* place: of the rank among those of the finding */
    double share;
};
static const struct fields part_fields = FIELDS(kept_part, FIELD(kept_part, finding), FIELD(kept_part, place),
                                                FIELD(kept_part, part), FIELD(kept_part, share));

struct kept_call {
    int64_t finding;
    struct evidence_call row;
};
static const struct fields call_fields =
    FIELDS(kept_call, FIELD(kept_call, finding), FIELD_AS("rank", kept_call, row.rank),
           FIELD_AS("begin_s", kept_call, row.begin_s), FIELD_AS("length_s", kept_call, row.length_s));

/* An efficiency below zero is not known. */
static const struct fields spent_run_fields =
    FIELDS(activity_sums, FIELD_AS("ranks", activity_sums, n_ranks), FIELD_AS("sites", activity_sums, n_sites),
           FIELD(activity_sums, run_s), FIELD(activity_sums, load_balance), FIELD(activity_sums, communication),
           FIELD(activity_sums, parallel));
static const struct fields spent_rank_fields = FIELDS(
    activity_rank, FIELD_AS("computation_s", activity_rank, time_s[SPENT_COMPUTATION]),
    FIELD_AS("point_to_point_s", activity_rank, time_s[SPENT_MESSAGES]),
    FIELD_AS("collectives_s", activity_rank, time_s[SPENT_COLLECTIVES]),
    FIELD_AS("one_sided_s", activity_rank, time_s[SPENT_ONE_SIDED]),
    FIELD_AS("files_s", activity_rank, time_s[SPENT_FILES]), FIELD_AS("other_s", activity_rank, time_s[SPENT_OTHER]),
    FIELD_AS("between_polls_s", activity_rank, time_s[SPENT_POLLING]),
    FIELD_AS("not_recorded_s", activity_rank, time_s[SPENT_NOT_RECORDED]), FIELD(activity_rank, absent_share));
static const struct fields spent_site_fields =
    FIELDS(report_call_site, FIELD(report_call_site, function), FIELD(report_call_site, callsite),
           FIELD(report_call_site, time_s), FIELD(report_call_site, between_s),
           FIELD_AS("late_sender_s", report_call_site, waiting_s[WAITING_SENDER]),
           FIELD_AS("late_receiver_s", report_call_site, waiting_s[WAITING_RECEIVER]),
           FIELD_AS("last_rank_s", report_call_site, waiting_s[WAITING_LAST]),
           FIELD_AS("transfer_s", report_call_site, waiting_s[WAITING_TRANSFER]), FIELD(report_call_site, awaited_rank),
           FIELD(report_call_site, awaited_s));

struct kept_by {
    int64_t change, bytes, changed_s, changed_ns;
};
static const struct fields by_fields = FIELDS(kept_by, FIELD(kept_by, change), FIELD(kept_by, bytes),
                                              FIELD(kept_by, changed_s), FIELD(kept_by, changed_ns));

/* Sets what findings of the trace as it is now are kept by. Returns 0, or -1 where that is not known: a trace with a
 * log of its own (WAL) does not count its changes. */
static int kept_by_now(struct kept_by *by, sqlite3 *database)
{
    unsigned char header[100];
    struct stat program;
    FILE *stream = fopen(sqlite3_db_filename(database, "main"), "re");
    bool is_read = stream != NULL && fread(header, 1, sizeof header, stream) == sizeof header;
    if (stream != NULL)
        fclose(stream);
    if (!is_read || header[18] != 1 || stat("/proc/self/exe", &program) != 0)
        return -1;
    uint32_t change = (uint32_t)header[24] << 24 | (uint32_t)header[25] << 16 | (uint32_t)header[26] << 8 | header[27];
    *by = (struct kept_by){change, program.st_size, program.st_mtim.tv_sec, program.st_mtim.tv_nsec};
    return 0;
}

struct kept_store {
    sqlite3 *database;
    bool failed;
};

static void kept_execute(struct kept_store *store, const char *sql)
{
    store->failed = store->failed || sqlite3_exec(store->database, sql, NULL, NULL, NULL) != SQLITE_OK;
}

/* Makes a table of rows[n] in place of the one of that name. */
static void kept_table(struct kept_store *store, const char *name, const struct fields *fields, const void *rows,
                       size_t n)
{
    if (!store->failed && fields_store(fields, rows, n, store->database, name) != 0)
        store->failed = true;
}

static void kept_store_tables(struct kept_store *store, const struct findings *findings)
{
    struct kept_finding *kept = xcalloc(findings->n, sizeof *kept);
    struct kept_rank *ranks = xcalloc(findings->n * EVIDENCE_RANKS, sizeof *ranks);
    struct kept_call *calls = xcalloc(findings->n * EVIDENCE_CALLS, sizeof *calls);
    struct kept_part *parts = xcalloc(findings->n * EVIDENCE_RANKS * EVIDENCE_COLUMNS, sizeof *parts);
    size_t n_ranks = 0, n_calls = 0, n_parts = 0;
    for (size_t i = 0; i < findings->n; i++) {
        const struct evidence *evidence = findings->rows[i].evidence;
        int64_t number = (int64_t)i + 1;
        kept[i] = (struct kept_finding){number, finding_name(findings->rows[i].kind), "", findings->rows[i], 0, false};
        if (evidence == NULL)
            continue;
        kept[i].query = evidence->query;
        kept[i].all_ranks = (int64_t)evidence->all_ranks;
        kept[i].of_work = evidence->of_work;
        for (size_t k = 0; k < evidence->n_calls; k++)
            calls[n_calls++] = (struct kept_call){number, evidence->calls[k]};
        for (size_t k = 0; k < evidence->n_ranks; k++) {
            ranks[n_ranks++] = (struct kept_rank){number, evidence->ranks[k]};
            for (size_t part = 0; part < EVIDENCE_COLUMNS; part++)
                if (evidence->ranks[k].columns[part] > 0)
                    parts[n_parts++] =
                        (struct kept_part){number, (int64_t)k, (int64_t)part, evidence->ranks[k].columns[part]};
        }
    }
    kept_table(store, "finding", &finding_fields, kept, findings->n);
    kept_table(store, "finding_rank", &rank_fields, ranks, n_ranks);
    kept_table(store, "finding_part", &part_fields, parts, n_parts);
    kept_table(store, "finding_call", &call_fields, calls, n_calls);
    free(kept);
    free(ranks);
    free(calls);
    free(parts);
}

static void kept_store_sums(struct kept_store *store, const struct activity_sums *sums)
{
    struct activity_sums run = *sums;
    double *shares[] = {&run.load_balance, &run.communication, &run.parallel};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        *shares[i] = isnan(*shares[i]) ? -1 : *shares[i];
    kept_table(store, "spent_run", &spent_run_fields, &run, 1);
    kept_table(store, "spent_rank", &spent_rank_fields, sums->ranks, sums->n_ranks);
    kept_table(store, "spent_site", &spent_site_fields, sums->sites, sums->n_sites);
}

void kept_findings_store(const struct findings *findings, const struct activity_sums *sums, sqlite3 *database)
{
    struct kept_store store = {0};
    struct kept_by by;
    struct error ignored;
    if (database_open(sqlite3_db_filename(database, "main"), true, &store.database, &ignored) != 0)
        return;
    sqlite3_busy_timeout(store.database, 0); /* another command has the trace: findings can wait */
    kept_execute(&store, "BEGIN IMMEDIATE");
    store.failed = store.failed || kept_by_now(&by, store.database) != 0;
    if (!store.failed) {
        by.change = (uint32_t)(by.change + 1); /* once this is done */
        kept_store_tables(&store, findings);
        kept_store_sums(&store, sums);
        kept_table(&store, "kept_by", &by_fields, &by, 1);
    }
    kept_execute(&store, "COMMIT"); /* unless something failed */
    sqlite3_close(store.database);  /* and takes back what was not completed */
}

/* Adds the rows of a table of the evidence to the findings. */
static int kept_read_evidence(struct findings *findings, sqlite3 *database, const char *path, const char *sql,
                              const struct fields *fields, void *row,
                              bool (*add)(struct evidence *evidence, const void *row))
{
    struct cursor rows;
    struct error ignored;
    bool fits = true;
    cursor_open(&rows, database, path, sql, &ignored);
    while (fits && cursor_next(&rows)) {
        fields_read(fields, row, &rows, 0, NULL);
        int64_t number = *(const int64_t *)row; /* the first member of all of them */
        fits = number > 0 && (size_t)number <= findings->n && findings->rows[number - 1].evidence != NULL &&
               add(findings->rows[number - 1].evidence, row);
    }
    return cursor_close(&rows) == 0 && fits ? 0 : -1;
}

static bool kept_add_rank(struct evidence *evidence, const void *row)
{
    if (evidence->n_ranks == EVIDENCE_RANKS)
        return false;
    evidence->ranks[evidence->n_ranks++] = ((const struct kept_rank *)row)->row;
    return true;
}

static bool kept_add_part(struct evidence *evidence, const void *row)
{
    const struct kept_part *part = row;
    if (part->place < 0 || (size_t)part->place >= evidence->n_ranks || part->part < 0 || part->part >= EVIDENCE_COLUMNS)
        return false;
    evidence->ranks[part->place].columns[part->part] = part->share;
    return true;
}

static bool kept_add_call(struct evidence *evidence, const void *row)
{
    if (evidence->n_calls == EVIDENCE_CALLS)
        return false;
    evidence->calls[evidence->n_calls++] = ((const struct kept_call *)row)->row;
    return true;
}

static bool kept_kind(const char *name, enum finding_number *kind)
{
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        if (strcmp(finding_name((enum finding_number)i), name) == 0) {
            *kind = (enum finding_number)i;
            return true;
        }
    return false;
}

static int kept_read_rows(struct findings *findings, struct pool *pool, sqlite3 *database, const char *path)
{
    struct cursor rows;
    struct error ignored;
    bool fits = true;
    cursor_open(&rows, database, path, "SELECT * FROM finding ORDER BY number", &ignored);
    while (fits && cursor_next(&rows)) {
        struct kept_finding kept = {0};
        fields_read(&finding_fields, &kept, &rows, 0, pool);
        fits = kept.number == (int64_t)findings->n + 1 && kept_kind(kept.kind, &kept.row.kind) &&
               kept.row.under >= -1 && kept.row.under < INT32_MAX;
        if (fits && kept.all_ranks > 0) {
            kept.row.evidence = xcalloc(1, sizeof *kept.row.evidence);
            kept.row.evidence->all_ranks = (size_t)kept.all_ranks;
            kept.row.evidence->of_work = kept.of_work;
            kept.row.evidence->query = kept.query;
        }
        if (fits)
            ARRAY_ADD(findings->rows, findings->n, kept.row);
    }
    return cursor_close(&rows) == 0 && fits ? 0 : -1;
}

static int kept_read_sums(struct activity_sums *sums, struct pool *pool, sqlite3 *database, const char *path)
{
    struct activity_sums kept = {.run_s = NAN};
    struct cursor rows;
    struct error ignored;
    *sums = (struct activity_sums){0};
    cursor_open(&rows, database, path, "SELECT * FROM spent_run", &ignored);
    if (cursor_next(&rows))
        fields_read(&spent_run_fields, &kept, &rows, 0, NULL);
    if (cursor_close(&rows) != 0)
        return -1;
    sums->run_s = kept.run_s;
    sums->load_balance = kept.load_balance < 0 ? NAN : kept.load_balance;
    sums->communication = kept.communication < 0 ? NAN : kept.communication;
    sums->parallel = kept.parallel < 0 ? NAN : kept.parallel;
    cursor_open(&rows, database, path, "SELECT * FROM spent_rank ORDER BY rowid", &ignored);
    while (cursor_next(&rows)) {
        struct activity_rank rank = {0};
        fields_read(&spent_rank_fields, &rank, &rows, 0, NULL);
        ARRAY_ADD(sums->ranks, sums->n_ranks, rank);
    }
    if (cursor_close(&rows) != 0)
        return -1;
    cursor_open(&rows, database, path, "SELECT * FROM spent_site ORDER BY rowid", &ignored);
    while (cursor_next(&rows)) {
        struct report_call_site site = {.function = ""};
        fields_read(&spent_site_fields, &site, &rows, 0, pool);
        ARRAY_ADD(sums->sites, sums->n_sites, site);
    }
    bool whole = !isnan(kept.run_s) && sums->n_ranks == kept.n_ranks && sums->n_sites == kept.n_sites;
    return cursor_close(&rows) == 0 && whole ? 0 : -1;
}

/* Says whether the trace has findings that were kept by this program, and nothing changed since. */
static bool kept_is_valid(sqlite3 *database, const char *path)
{
    struct kept_by now, by = {0};
    struct cursor rows;
    struct error ignored;
    if (kept_by_now(&now, database) != 0)
        return false;
    cursor_open(&rows, database, path, "SELECT * FROM kept_by", &ignored);
    if (cursor_next(&rows))
        fields_read(&by_fields, &by, &rows, 0, NULL);
    return cursor_close(&rows) == 0 && by.change == now.change && by.bytes == now.bytes &&
           by.changed_s == now.changed_s && by.changed_ns == now.changed_ns;
}

bool kept_findings_read(struct findings *findings, struct activity_sums *sums, struct pool *pool, sqlite3 *database,
                        const char *path)
{
    struct kept_rank rank = {0};
    struct kept_part part;
    struct kept_call call;
    *findings = (struct findings){0};
    if (kept_is_valid(database, path) && kept_read_rows(findings, pool, database, path) == 0 &&
        kept_read_evidence(findings, database, path, "SELECT * FROM finding_rank ORDER BY rowid", &rank_fields, &rank,
                           kept_add_rank) == 0 &&
        kept_read_evidence(findings, database, path, "SELECT * FROM finding_part", &part_fields, &part,
                           kept_add_part) == 0 &&
        kept_read_evidence(findings, database, path, "SELECT * FROM finding_call ORDER BY rowid", &call_fields, &call,
                           kept_add_call) == 0 &&
        (sums == NULL || kept_read_sums(sums, pool, database, path) == 0))
        return true;
    findings_release(findings);
    if (sums != NULL)
        activity_sums_release(sums);
    return false;
}
