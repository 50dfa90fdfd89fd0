/* Says whether a small number, as that of an MPI function or of a family of them, or a word is in a list:
 * IS_ONE_OF(function, FN_Send, FN_Ssend), WORD_IS_ONE_OF(name, "docker", "podman"), BEGINS_WITH_ONE_OF(variable,
 * "UCX_", "MPICH_"); which of a list of names a word is; takes "A,B,C" apart, and finds the parts of a path. Nothing
 * is allocated, so that the recorder has it as well. */
#ifndef MPISTAIR_BASE_ONE_OF_H
#define MPISTAIR_BASE_ONE_OF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool is_one_of(uint32_t number, const uint16_t *list, size_t n)
{
    while (n > 0 && list[n - 1] != number)
        n--;
    return n > 0;
}

#define IS_ONE_OF(number, ...)                                                                                         \
    is_one_of(number, (const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

/* The list ends with NULL. */
static inline bool word_is_one_of(const char *word, const char *const *list)
{
    while (*list != NULL && strcmp(*list, word) != 0)
        list++;
    return *list != NULL;
}

#define WORD_IS_ONE_OF(word, ...) word_is_one_of(word, (const char *const[]){__VA_ARGS__, NULL})

static inline bool begins_with_one_of(const char *text, const char *const *list)
{
    while (*list != NULL && strncmp(*list, text, strlen(*list)) != 0)
        list++;
    return *list != NULL;
}

#define BEGINS_WITH_ONE_OF(text, ...) begins_with_one_of(text, (const char *const[]){__VA_ARGS__, NULL})

/* Returns the place of a word in names[n], -1 where it is not there. */
static inline int place_in_names(const char *word, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, names[i]) == 0)
            return (int)i;
    return -1;
}

/* Returns whether a text ends so and has something before that: how long that is, 0: it has not. */
static inline size_t ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), of_end = strlen(end);
    return length > of_end && strcmp(text + length - of_end, end) == 0 ? length - of_end : 0;
}

/* Returns what stands behind the last slash of a path, all of it where there is none. */
static inline const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Takes the next word of WORD[,WORD], cut to what fits, and moves *list behind it, to NULL behind the last. Returns
 * false where *list is NULL; an empty word is a word. */
static inline bool word_next(const char **list, char *word, size_t size)
{
    if (*list == NULL)
        return false;
    size_t length = strcspn(*list, ","), kept = length < size ? length : size - 1;
    memcpy(word, *list, kept);
    word[kept] = '\0';
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return true;
}

#endif
