/* Questions that a machine table alone answers, in place of a trace or a pattern: `mpistair predict --memory`,
 * `--finegrain` and `--gpu`. */
#ifndef MPISTAIR_PREDICTOR_TABLE_QUESTION_H
#define MPISTAIR_PREDICTOR_TABLE_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrate/finegrain/arrivals/thread_arrivals.h"
#include "predictor/tables/finegrain.h"
#include "predictor/tables/gpu_paths.h"
#include "share/base/options.h"
#include "share/base/output_file.h"

/* What computing cores and a message leave each other. */
struct memory_options {
    bool asked;
    bool cores_given, computation_given, message_given; /* else: every one */
    uint64_t cores;                                     /* that compute */
    uint64_t computation_numa, message_numa;            /* NUMA nodes of the data */
    const char *samples;                                /* RAW.csv, or NULL */
    const char *plot;                                   /* FILE.html, or NULL */
};

enum { FINEGRAIN_MOST_PARTS = 64 };

/* Whether parts of buffers should leave as threads get done. */
struct finegrain_options {
    bool asked;
    bool own;    /* one of the others was given */
    bool shared; /* --level, --bytes or --ppn was given, which --gpu takes as well */
    enum level level;
    uint32_t peers, threads, ppn;
    uint64_t bytes; /* to a peer */
    uint64_t draws; /* of arrivals */
    double compute_s;
    struct arrivals_request arrivals;
    uint32_t parts[FINEGRAIN_MOST_PARTS]; /* [n_parts] ascending, each once */
    size_t n_parts;
    bool interface_asked[FINEGRAIN_INTERFACE_COUNT];
    /* As given, until they are checked. */
    const char *level_text, *parts_text, *arrivals_text, *interface_text;
    double width_s;
};

/* Paths between GPUs. */
struct gpu_options {
    bool asked;
    bool own; /* one of the others was given */
    struct gpu_problem problem;
    bool path_asked[GPU_PATH_COUNT];
    bool paths_given;       /* the user named them: one that the table does not have is an error */
    const char *paths_text; /* as given, until it is checked */
};

struct table_options {
    struct memory_options memory; /* cores: for the term +memory, too */
    struct finegrain_options finegrain;
    struct gpu_options gpu;
};

/* Each sets the defaults of its options, and writes their rows. */
enum { MEMORY_ROWS = 7, FINEGRAIN_ROWS = 13, GPU_ROWS = 7 };
void memory_option_rows(struct memory_options *options, struct option_row rows[MEMORY_ROWS]);
void finegrain_option_rows(struct finegrain_options *options, struct option_row rows[FINEGRAIN_ROWS]);
void gpu_option_rows(struct gpu_options *options, struct option_row rows[GPU_ROWS]);

/* Each checks its options once all are read, and sets what they stand for. Returns 0, or the exit code after the reason
 * was printed. --level, --bytes and --ppn of --gpu are read into shared. */
int memory_options_check(const struct memory_options *options);
int finegrain_options_check(struct finegrain_options *options);
int gpu_options_check(struct gpu_options *options, struct finegrain_options *shared);
/* Reads level_text into level. Returns as the others. */
int finegrain_take_level(struct finegrain_options *options);

/* Which table is asked, and where the answer goes. */
struct table_question {
    const struct table_options *options;
    const char *machine; /* as given */
    uint64_t seed;
    enum output_format format;
    const char *output; /* NULL: standard output */
};

/* Each answers by the table of a machine. Returns 0; -1 with the reason; or EXIT_WRONG_USAGE after it was printed. */
int memory_answer(const struct table_question *question, const struct machine *machine, struct error *error);
int finegrain_answer(const struct table_question *question, const struct machine *machine, struct error *error);
int gpu_answer(const struct table_question *question, const struct machine *machine, struct error *error);

/* Opens the output of the question, and ends it when print has written an answer in the format of the question. Returns
 * 0, or -1 with the reason. */
int table_print(const struct table_question *question,
                int (*print)(FILE *stream, enum output_format format, const void *answer, struct error *error),
                const void *answer, struct error *error);

#endif
