/* Says what is fuzzed: the readers of files, one read_NAME.c each, called in this process with bytes as the file's
 * content.
 *
 * A reader may refuse its input with a reason. It must not crash, leak, take more than seconds or memory beyond
 * measure, and what it let pass must be of use to what comes behind it: where it is not, the function aborts. */
#ifndef MPISTAIR_TESTS_READERS_H
#define MPISTAIR_TESTS_READERS_H

#include <stddef.h>
#include <stdint.h>

struct reader {
    const char *name;
    void (*read)(const uint8_t *data, size_t size);
};

/* Lists the readers, ended by a NULL name. */
extern const struct reader readers[];

void read_arrivals(const uint8_t *data, size_t size);
void read_database(const uint8_t *data, size_t size);
void read_dumpi(const uint8_t *data, size_t size);
void read_goal(const uint8_t *data, size_t size);
void read_machine(const uint8_t *data, size_t size);
void read_maps(const uint8_t *data, size_t size);
void read_memory_samples(const uint8_t *data, size_t size);
void read_node_topology(const uint8_t *data, size_t size);
void read_otf2(const uint8_t *data, size_t size);
void read_pattern(const uint8_t *data, size_t size);
void read_placement(const uint8_t *data, size_t size);
void read_raw_file(const uint8_t *data, size_t size);
void read_resume(const uint8_t *data, size_t size);
void read_samples(const uint8_t *data, size_t size);
void read_spool(const uint8_t *data, size_t size);
void read_sweep(const uint8_t *data, size_t size);
void read_sweep_rows(const uint8_t *data, size_t size);
void read_tit(const uint8_t *data, size_t size);
void read_topology(const uint8_t *data, size_t size);

/* Returns the reader of that name, NULL if there is none. Sends what the project's own code prints to nowhere. */
const struct reader *readers_choose(const char *name);

/* Returns a folder of this process's own, which is removed with what is in it at the process's end. */
const char *scratch_folder(void);
/* Returns the path of a file of that name in it, good for the life of the process. */
const char *scratch_path(const char *name);
/* Returns the path of a file that has that content from now on. */
const char *scratch_file(const char *name, const void *data, size_t size);
const char *scratch_text(const char *name, const char *text);

/* Runs a command of mpistair with arguments that end with NULL; aborts where it calls them wrong usage. Returns its
 * exit code. */
int command(int (*run)(int argc, char **argv), ...) __attribute__((sentinel));

#endif
