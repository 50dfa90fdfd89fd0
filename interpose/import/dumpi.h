/* A file of DUMPI, read record by record, and what the records of each function hold. */
#ifndef MPISTAIR_IMPORT_DUMPI_H
#define MPISTAIR_IMPORT_DUMPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/error.h"

enum { DUMPI_FUNCTIONS = 294, DUMPI_VALUES = 16, DUMPI_ARRAYS = 6 };

struct dumpi_function {
    const char *name;
    const char *layout; /* NULL: its records cannot be read */
};
extern const struct dumpi_function dumpi_functions[DUMPI_FUNCTIONS];

/* Numbers of handles in these traces. */
enum { DUMPI_COMM_NULL = 1, DUMPI_COMM_WORLD = 2, DUMPI_COMM_SELF = 3, DUMPI_FIRST_TYPE = 28, DUMPI_ANY = -1 };

struct dumpi_array {
    int32_t *values;
    size_t n, room;
};

/* One call. */
struct dumpi_record {
    uint64_t offset; /* of the record in the file */
    uint16_t function;
    uint16_t thread;
    uint64_t begin_ns, end_ns;    /* of the node's clock */
    int64_t values[DUMPI_VALUES]; /* integers, in their order */
    size_t n_values;
    struct dumpi_array arrays[DUMPI_ARRAYS]; /* of integers */
    size_t n_arrays;
    bool has_status;
    struct dumpi_array sources, tags; /* of statuses */
};

struct dumpi_file {
    const char *path;
    FILE *stream;
    uint64_t at, size;
    int version;                   /* 0.6.9 is 609 */
    uint64_t started_s;            /* since the Epoch */
    uint32_t offset_s;             /* of wall times */
    struct dumpi_array type_bytes; /* by datatype; empty: not known */
    struct dumpi_record record;
    char host[256];
};

/* Opens a file and reads its index. Returns 0, or -1 with the reason. */
int dumpi_open(struct dumpi_file *file, const char *path, struct error *error);
void dumpi_close(struct dumpi_file *file);

/* Goes to the first record. */
int dumpi_rewind(struct dumpi_file *file, struct error *error);

/* Reads the next record into file->record. Returns 1, 0 at the end, or -1 with offset and reason. */
int dumpi_next(struct dumpi_file *file, struct error *error);

/* Returns the bytes of an element; a type whose size is not known has 1. */
uint64_t dumpi_type_bytes(const struct dumpi_file *file, int64_t type);

#endif
