/* Allocation for commands, which can only end when memory runs out: these functions print one message and end the
 * program instead of returning NULL, as git's do. The preload library, the recorder and the writer of spools live in
 * the user's process and use malloc with checks of their own. */
#ifndef MPISTAIR_BASE_MEMORY_H
#define MPISTAIR_BASE_MEMORY_H

#include <stddef.h>

/* As malloc, calloc, reallocarray, strdup, strndup and asprintf; what they return is for free(). Zero bytes give a
 * pointer of their own. */
void *xmalloc(size_t bytes) __attribute__((malloc, returns_nonnull, warn_unused_result));
void *xcalloc(size_t n, size_t element_bytes) __attribute__((malloc, returns_nonnull, warn_unused_result));
void *xreallocarray(void *old, size_t n, size_t element_bytes) __attribute__((returns_nonnull, warn_unused_result));
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull, warn_unused_result));
char *xstrndup(const char *text, size_t max_bytes) __attribute__((malloc, returns_nonnull, warn_unused_result));
char *xasprintf(const char *format, ...)
    __attribute__((malloc, returns_nonnull, warn_unused_result, format(printf, 1, 2)));

/* Frees each of its arguments, which are pointers to what may be written: FREE_ALL(list->keys, list->values). */
#define FREE_ALL(...) free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void free_all(void *const *pointers, size_t n);

/* Returns pointer, or ends the program as above if it is NULL; for libraries that allocate themselves. */
void *or_no_memory(void *pointer) __attribute__((returns_nonnull));

/* Prints that there is no memory, removes temporary output files and exits with EXIT_WORK_FAILED. bytes: how much was
 * asked for, 0 if unknown. */
void no_memory(size_t bytes) __attribute__((noreturn));

#endif
