/* A machine table: the measured parameters of the models, as text (.tbl) and in memory.
 *
 * The text has a line `name N`, a line `source ...`, then a row for each value, `level protocol quantity n value unit`;
 * n is `-` where it has no meaning; `#` starts a comment. A comment `#: ci_low ci_high samples method` behind a row
 * says how well the value is known, `-` for what is not known; a reader that knows comments only reads the same values.
 * Example: `intra_socket any bw 4 17.6e9 B/s #: 17.1e9 18.0e9 120 relative-median`. */
#ifndef MPISTAIR_CALIBRATE_MACHINE_H
#define MPISTAIR_CALIBRATE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/error.h"
#include "share/base/level.h"

/* Divides intra_socket: the closest of L3 cache, NUMA node and package that a pair of ranks shares. DOMAIN_NONE means
 * that all pairs of the job's sockets are alike, or it is unknown. */
enum domain { DOMAIN_NONE = 0, DOMAIN_L3, DOMAIN_NUMA, DOMAIN_PACKAGE, DOMAIN_COUNT };
extern const char *const domain_name[DOMAIN_COUNT]; /* "", l3, numa, package */

/* A level of a table has either PROTOCOL_ANY, or the others. */
enum machine_protocol { PROTOCOL_ANY = 0, PROTOCOL_SHORT, PROTOCOL_EAGER, PROTOCOL_RENDEZVOUS, PROTOCOL_COUNT };
extern const char *const machine_protocol_name[PROTOCOL_COUNT];

#define MACHINE_NO_N UINT64_MAX

/* Method of rows that the tests' mock of a driver measured, and prefix of the variants of its samples. No table may
 * hold it, since its times are of no machine. */
#define MACHINE_MOCK "mock"

/* One row. Quantities that a level does not split by (cores, delta) use the levels that the row names; level
 * `any` is not a level: such rows have level LEVEL_COUNT. */
struct machine_parameter {
    enum level level;
    enum machine_protocol protocol;
    char quantity[24];
    uint64_t n; /* MACHINE_NO_N for - */
    double value;
    char unit[16];
    double ci_low; /* NaN: not known */
    double ci_high;
    uint64_t samples; /* 0: not known */
    char method[24];  /* "" : not known */
};

struct machine {
    char name[64];
    char source[512];
    struct machine_parameter *parameters; /* [n_parameters] in the order of the file */
    size_t n_parameters;
};

/* Reads a .tbl file. Returns 0, or -1 with file:line and what was expected in error, and machine untouched. */
int machine_read(const char *path, struct machine *machine, struct error *error);
/* Checks what no single line shows: repeated values, protocols without thresholds or out of order, `any` beside others.
 * The readers call it. Returns 0, or -1 with the reason (no place: the caller puts file or database in front). */
int machine_check(const struct machine *machine, struct error *error);
/* Finds two rows of one value; returns whether there are any. */
bool machine_find_repeated(const struct machine *machine, size_t *first, size_t *again);
/* Checks one value against its quantity: unit, n, range; unknown quantities pass. Returns 0, or -1 with the reason. */
int machine_check_parameter(const struct machine_parameter *parameter, struct error *error);
/* Turns a name into its protocol. Returns 0, or -1 if there is no such protocol. */
int machine_parse_protocol(const char *name, enum machine_protocol *protocol);
/* Accepts letters, digits, '.', '_', '-', not empty, shorter than machine.name: a word that is also a file name. */
bool machine_name_valid(const char *name);
/* Finds NAME.tbl among the shipped machines (MPISTAIR_SHARE, the installed share folder, the source tree) or, if the
 * argument has a '/', ends in .tbl or names a file, the file itself; then reads it as machine_read does. */
int machine_find(const char *name_or_path, struct machine *machine, struct error *error);
/* Writes every value with the digits that read back as the same double. Returns 0, or -1 where the stream failed. */
int machine_write(FILE *file, const struct machine *machine);
/* Unit of a quantity; "1" for one that is not known. */
const char *machine_unit(const char *quantity);
/* Copies the row behind the last. */
void machine_append(struct machine *machine, const struct machine_parameter *parameter);
void machine_release(struct machine *machine);

/* The models ask by the following functions. Each returns 0, or -1 with a reason in error where the table has no such
 * value. */

/* The protocols of a level by the smallest size that uses each; the first serves smaller sizes, too. */
struct machine_protocols {
    size_t n;
    enum machine_protocol protocol[PROTOCOL_COUNT];
    uint64_t from_bytes[PROTOCOL_COUNT]; /* ascending */
};
int machine_protocols(const struct machine *machine, enum level level, struct machine_protocols *protocols,
                      struct error *error);
enum machine_protocol machine_protocol_of(const struct machine_protocols *protocols, uint64_t bytes);
int machine_tau_s(const struct machine *machine, enum level level, enum machine_protocol protocol, double *tau_s,
                  struct error *error);
/* Does the same for another latency than tau, as tau_gpu. */
int machine_tau_named_s(const struct machine *machine, enum level level, enum machine_protocol protocol,
                        const char *quantity, double *tau_s, struct error *error);

/* Returns the row of a value, of the first protocol that has it for PROTOCOL_COUNT; NULL where there is none. */
const struct machine_parameter *machine_row(const struct machine *machine, enum level level,
                                            enum machine_protocol protocol, const char *quantity, uint64_t n);
/* Returns the value of a row that has no n, as injection or buffer; `absent` where there is none. level LEVEL_COUNT
 * stands for `any`. */
double machine_value(const struct machine *machine, enum level level, enum machine_protocol protocol,
                     const char *quantity, double absent);
/* The two queues of a receiver; their tables are `queue_step` and `queue_step_unexpected`. */
enum machine_queue { MACHINE_QUEUE_POSTED = 0, MACHINE_QUEUE_UNEXPECTED, MACHINE_QUEUE_COUNT };
/* Computes c(depth), what one step through a queue costs, in s: linear between the tabulated depths, the end values
 * outside. Without a table for unexpected messages it takes that for posted receives, without both twice gamma (B). */
int machine_queue_step_s(const struct machine *machine, enum machine_queue queue, double depth, double *step_s,
                         struct error *error);

/* BW(n) of one (level, protocol), in B/s: knots by ascending n, in arrays of its own. */
struct machine_bandwidth {
    size_t n_knots;
    double *n;
    double *bytes_per_s;
    double injection_bytes_per_s; /* R_N of a table in the form of B, BW(1) and what a node injects: INFINITY where it
                                   * has none for this level and protocol; 0 in another table */
};
int machine_bandwidth(const struct machine *machine, enum level level, enum machine_protocol protocol,
                      struct machine_bandwidth *bandwidth, struct error *error);
/* Does the same for another bandwidth than bw, as bw_gpu, whose R_N has the name injection. */
int machine_bandwidth_named(const struct machine *machine, enum level level, enum machine_protocol protocol,
                            const char *quantity, const char *injection, struct machine_bandwidth *bandwidth,
                            struct error *error);
void machine_bandwidth_release(struct machine_bandwidth *bandwidth);
/* Returns BW(n), n >= 1: linear between knots, the end values outside; in the form of B min(n BW(1), R_N). Sets
 * *extrapolated outside, but for R_N, else leaves it. */
double machine_bandwidth_at(const struct machine_bandwidth *bandwidth, double n, bool *extrapolated);
/* Returns BW_max: R_N in the form of B, else the value of the last knot. */
double machine_bandwidth_most(const struct machine_bandwidth *bandwidth);

/* The parameters of memory contention as a machine table has them: D's symbols stand in share/doc/MODELS.md. */
/* In the order of the rows. Cores and alpha are in 1, bandwidths in B/s, losses in B/s a core. */
enum memory_parameter {
    MEMORY_CORES_PAR = 0,
    MEMORY_TOTAL_PAR,
    MEMORY_CORES_SEQ,
    MEMORY_TOTAL_SEQ,
    MEMORY_TOTAL_PAR2,
    MEMORY_ALPHA,
    MEMORY_LOSS_LEFT,
    MEMORY_LOSS_RIGHT,
    MEMORY_ONE_CORE,
    MEMORY_ONE_MESSAGE,
    MEMORY_PARAMETER_COUNT,
};
extern const char *const memory_quantity_name[MEMORY_PARAMETER_COUNT]; /* memory_cores_par, ... */

#endif
