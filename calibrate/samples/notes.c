/* Every program of every launch says the same about the job; a reader wants it once, and a difference means that the
 * samples do not belong together. */
#include "calibrate/samples/notes.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"

void text_list_append(struct text_list *list, const char *text)
{
    ARRAY_ADD(list->texts, list->n, xstrdup(text));
}

bool text_list_holds(const struct text_list *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->texts[i], text) == 0)
            return true;
    return false;
}

void text_list_release(struct text_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->texts[i]);
    free(list->texts);
    *list = (struct text_list){0};
}

/* Returns what stands behind the word key; NULL where text begins with another word. */
static const char *behind(const char *text, const char *key)
{
    size_t length = strlen(key);
    return strncmp(text, key, length) == 0 && text[length] == ' ' ? text + length + 1 : NULL;
}

const char *notes_find(const struct notes *notes, const char *key)
{
    for (size_t i = 0; i < notes->kept.n; i++) {
        const char *rest = behind(notes->kept.texts[i], key);
        if (rest != NULL)
            return rest;
    }
    return NULL;
}

int notes_ranks(const struct notes *notes)
{
    const char *ranks = notes_find(notes, "ranks");
    return ranks != NULL ? atoi(ranks) : 0;
}

bool notes_several_nodes(const struct notes *notes)
{
    unsigned long rank, node, first_node = 0;
    for (size_t i = 0; i < notes->kept.n; i++) {
        const char *place = behind(notes->kept.texts[i], "place");
        if (place == NULL || sscanf(place, "%lu %lu", &rank, &node) != 2)
            continue;
        if (rank == 0)
            first_node = node;
        else if (node != first_node)
            return true;
    }
    return false;
}

/* Notes kept from the first program only, one of each subject, which is so many words: ranks that are not bound
 * move. */
static const struct {
    const char *key;
    int n_words; /* how many words behind the key */
} first_only[] = {{"binding", 0}, {"oversubscribed", 0}, {"domain", 2}, {"rendezvous", 1}};

static size_t subject_length(const char *text, int n_words)
{
    size_t length = 0;
    for (int i = 0; i <= n_words; i++) {
        length += strspn(text + length, " ");
        length += strcspn(text + length, " ");
    }
    return length;
}

static bool is_known(const struct notes *notes, const char *text)
{
    size_t subject = 0;
    for (size_t i = 0; i < sizeof first_only / sizeof first_only[0]; i++)
        if (behind(text, first_only[i].key) != NULL)
            subject = subject_length(text, first_only[i].n_words);
    for (size_t i = 0; subject > 0 && i < notes->kept.n; i++) {
        const char *kept = notes->kept.texts[i];
        if (strncmp(kept, text, subject) == 0 && (kept[subject] == ' ' || kept[subject] == '\0'))
            return true;
    }
    return text_list_holds(&notes->kept, text);
}

/* Checks that the job stays what it was, in all programs and when a calibration is continued. */
static int check_same(const struct notes *notes, const char *text, const char *key, const char *what,
                      struct error *error)
{
    const char *now = behind(text, key), *before = now != NULL ? notes_find(notes, key) : NULL;
    if (before == NULL || strcmp(before, now) == 0)
        return 0;
    return error_set(error,
                     "%s was %.200s, is now %.200s: their samples cannot be in one table; --restart "
                     "begins anew",
                     what, before, now);
}

/* What a job must stay, with the words of an error. */
static const struct {
    const char *key;
    const char *what;
} same[] = {
    {"ranks", "the number of ranks"},
    {"library", "the MPI library"},
    {"memory cores", "the number of cores"},
    {"memory numa_nodes", "the number of NUMA nodes of the socket"},
    {"memory numa_all", "the number of NUMA nodes"},
    {"memory method", "the way of the messages"},
    {"memory block_bytes", "the memory that a core writes"},
};

int notes_take(struct notes *notes, const char *text, struct error *error)
{
    const char *place = behind(text, "place"), *ranks = behind(text, "ranks");
    /* There is no search among 10,000 places: they come in the order of the ranks. */
    bool known = place != NULL ? strtoul(place, NULL, 10) != notes->n_places : is_known(notes, text);
    if (behind(text, "progress") != NULL || known)
        return 0;
    if (ranks != NULL && atoi(ranks) < 2)
        return error_set(error, "the launcher started %d rank: expected two or more", atoi(ranks));
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (check_same(notes, text, same[i].key, same[i].what, error) != 0)
            return -1;
    text_list_append(&notes->kept, text);
    notes->n_places += place != NULL;
    return 1;
}

void notes_release(struct notes *notes)
{
    text_list_release(&notes->kept);
}

void notes_describe_job(const struct notes *notes, char *text, size_t size)
{
    const char *binding = notes_find(notes, "binding");
    if (binding != NULL)
        snprintf(text, size, "%s", binding);
    else
        snprintf(text, size, "%d ranks", notes_ranks(notes));
}

void notes_print(const struct notes *notes, FILE *stream)
{
    for (size_t i = 0; i < notes->kept.n; i++) {
        const char *text = notes->kept.texts[i], *left_out = behind(text, "left_out"),
                   *missing = behind(text, "not_available");
        char level[32], variable[96];
        double bytes;
        int ranks, cores;
        if (BEGINS_WITH_ONE_OF(text, "ranks ", "library ", "place ", "domain ", "binding ", "memory "))
            continue;
        if (sscanf(text, "rendezvous %31s %lf %95s", level, &bytes, variable) == 3)
            fprintf(stream, "%s: rendezvous from %.0f B, as the MPI reports (%s)\n", level, bytes, variable);
        else if (sscanf(text, "oversubscribed %d %d", &ranks, &cores) == 2)
            fprintf(stream, "oversubscribed: %d ranks on %d cores of a node\n", ranks, cores);
        else if (left_out != NULL)
            fprintf(stream, "left out: %s\n", left_out);
        else if (missing != NULL)
            fprintf(stream, "%.*s: not available:%s\n", (int)strcspn(missing, " "), missing,
                    missing + strcspn(missing, " "));
        else
            fprintf(stream, "%s\n", text);
    }
}
