/* Prints the findings of a trace.db, a line each: kind, rank, partner, cost in s, share, function, place, sentence,
 * gain in s, its share, the row that explains it; divided by tabs.
 *
 * usage: show-findings TRACE */
#include <inttypes.h>
#include <stdio.h>

#include "interpose/database/database.h"
#include "report/diagnose/causes.h"

int main(int argc, char **argv)
{
    struct error error = {0};
    struct findings findings = {0};
    struct pool pool = {0};
    sqlite3 *database = NULL;
    if (argc != 2)
        return EXIT_WRONG_USAGE;
    int result = database_open(argv[1], false, &database, &error);
    if (result == 0)
        result = findings_collect(&findings, &pool, database, &error);
    if (result == 0)
        result = causes_collect(&findings, &pool, database, argv[1], &error);
    for (size_t i = 0; result == 0 && i < findings.n; i++) {
        const struct finding *finding = &findings.rows[i];
        printf("%s\t%" PRId64 "\t%" PRId64 "\t%.6g\t%.4f\t%s\t%s\t%s\t%.4g\t%.4f\t%" PRId64 "\n",
               finding_name(finding->kind), finding->rank, finding->partner, finding->cost_s, finding->share,
               finding->function, finding->place, finding->sentence, finding->gain_s, finding->gain, finding->under);
    }
    findings_release(&findings);
    pool_release(&pool);
    sqlite3_close(database);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
