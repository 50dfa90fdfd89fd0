/* A command that runs out of memory can only say so and end. Doing that here replaces a check at each of 500 calls,
 * which no test could reach. */
#include "share/base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/output_file.h"
#include "share/base/progress.h"

void no_memory(size_t bytes)
{
    static const char advice[] = "allow the process more (ulimit -v, the limit of its batch job or cgroup)";
    output_file_remove_all();
    progress_show(NULL);
    if (bytes > 0)
        fprintf(stderr, "mpistair: no memory: %zu bytes were asked for; %s\n", bytes, advice);
    else
        fprintf(stderr, "mpistair: no memory; %s\n", advice);
    exit(EXIT_WORK_FAILED);
}

/* Returns n times element_bytes, SIZE_MAX beyond it. */
static size_t product(size_t n, size_t element_bytes)
{
    size_t bytes;
    return __builtin_mul_overflow(n, element_bytes, &bytes) ? SIZE_MAX : bytes;
}

void free_all(void *const *pointers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(pointers[i]);
}

void *or_no_memory(void *pointer)
{
    if (pointer == NULL)
        no_memory(0);
    return pointer;
}

void *xmalloc(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL)
        no_memory(bytes);
    return memory;
}

void *xcalloc(size_t n, size_t element_bytes)
{
    void *memory = n > 0 && element_bytes > 0 ? calloc(n, element_bytes) : calloc(1, 1);
    if (memory == NULL)
        no_memory(product(n, element_bytes));
    return memory;
}

void *xreallocarray(void *old, size_t n, size_t element_bytes)
{
    if (n == 0 || element_bytes == 0)
        n = element_bytes = 1;
    void *memory = n <= PTRDIFF_MAX / element_bytes ? realloc(old, n * element_bytes) : NULL;
    if (memory == NULL)
        no_memory(product(n, element_bytes));
    return memory;
}

char *xstrdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(xmalloc(bytes), text, bytes);
}

char *xstrndup(const char *text, size_t max_bytes)
{
    size_t length = strnlen(text, max_bytes);
    char *copy = memcpy(xmalloc(length + 1), text, length);
    copy[length] = '\0';
    return copy;
}

char *xasprintf(const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        no_memory(0);
    return text;
}
