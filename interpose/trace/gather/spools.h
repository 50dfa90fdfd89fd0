/* Finds which spool files make up a run. */
#ifndef MPISTAIR_TRACE_SPOOLS_H
#define MPISTAIR_TRACE_SPOOLS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"
#include "interpose/spool/reader.h"
#include "interpose/trace/communicators/worlds.h"

/* A process that ended before it had written its rank into the header; the name of its file has it. */
struct spool_begun {
    char key[sizeof((struct spool_header *)0)->run_key];
    int32_t rank; /* rank in the run once gathered; -1: of another run, or it left a whole spool too */
};

struct spools {
    struct spool *spools; /* [n_spools] ascending by rank, each rank once, all of one run */
    size_t n_spools;
    int32_t world_size;        /* size of all worlds of the run together */
    struct spool_begun *begun; /* [n_begun] */
    size_t n_begun;
    struct worlds worlds;
};

/* Opens all *.mpispool of the folders. Files that cannot be used, and the less complete of two of the same rank, are
 * left out with a line on standard error. run_key chooses among several runs; with NULL there must be one. Ranks in the
 * headers become ranks of the run: worlds that were joined are numbered one behind the other. Returns 0, or -1 with the
 * reason: no spool, several runs, another build. */
int spools_gather(char *const *folders, size_t n_folders, const char *run_key, struct spools *spools,
                  struct error *error);
void spools_release(struct spools *spools);

/* Returns the text of the file whose name is the last part of `named`, ended by 0; the caller frees it. The file must
 * lie in the spool's own folder, where the recorder puts all of a job's files, and be a plain file of at most
 * 16 MiB: a header is not trusted to name any other. Returns NULL if named is empty or there is no such
 * file. */
char *companion_read(const struct spool *spool, const char *named);

#endif
