#include "notes.h"

#include <stdlib.h>
#include <string.h>

/* What stands behind the word key; NULL where text begins with another. */
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

/* The job must stay what it was, in all programs and when a calibration is continued. */
static int check_same(const struct notes *notes, const char *text, const char *key, const char *what,
                      struct error *error)
{
    const char *now = behind(text, key), *before = now != NULL ? notes_find(notes, key) : NULL;
    if (before == NULL || strcmp(before, now) == 0)
        return 0;
    return error_set(error,
                     "%s was %.200s, is now %.200s: samples of both do not belong into one table; --restart "
                     "begins anew",
                     what, before, now);
}

int notes_take(struct notes *notes, const char *text, struct error *error)
{
    const char *place = behind(text, "place"), *ranks = behind(text, "ranks");
    bool is_known = place != NULL ? strtoul(place, NULL, 10) != notes->n_places : text_list_holds(&notes->kept, text);
    if (behind(text, "progress") != NULL || is_known)
        return 0;
    if (ranks != NULL && atoi(ranks) < 2)
        return error_set(error, "the launcher started %d rank: expected two or more", atoi(ranks));
    if (check_same(notes, text, "ranks", "the number of ranks", error) != 0 ||
        check_same(notes, text, "library", "the MPI library", error) != 0)
        return -1;
    if (text_list_append(&notes->kept, text) != 0)
        return error_set(error, "no memory");
    notes->n_places += place != NULL;
    return 1;
}

void notes_release(struct notes *notes)
{
    text_list_release(&notes->kept);
}

struct place {
    unsigned long node;
    char cpus[256];
};

static bool read_place(const char *text, struct place *place)
{
    const char *rest = behind(text, "place");
    return rest != NULL && sscanf(rest, "%*u %lu %*s %*s %*s %*s %255s", &place->node, place->cpus) == 2;
}

/* Number of processors of a list like 0-3,8; 0: not one. */
static unsigned long count_cpus(const char *list)
{
    unsigned long n = 0;
    for (const char *at = list; *at != '\0';) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return 0;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last < first || (*end != ',' && *end != '\0'))
            return 0;
        n += last - first + 1;
        at = *end == ',' ? end + 1 : end;
    }
    return n;
}

/* Ranks that may all run on the same processors of their node are not bound; two processors or more that a rank has for
 * itself, or one, are what it is bound to. */
void notes_describe_job(const struct notes *notes, char *text, size_t size)
{
    unsigned long last_node = 0, fewest = 0, most = 0;
    bool shared = true, single = true;
    struct place before = {0};
    size_t n = 0;
    for (size_t i = 0; i < notes->kept.n; i++) {
        struct place place;
        if (!read_place(notes->kept.texts[i], &place))
            continue;
        unsigned long n_cpus = count_cpus(place.cpus);
        fewest = n == 0 || n_cpus < fewest ? n_cpus : fewest;
        most = n_cpus > most ? n_cpus : most;
        last_node = place.node > last_node ? place.node : last_node;
        if (n > 0 && place.node == before.node) {
            single = false;
            shared = shared && strcmp(place.cpus, before.cpus) == 0;
        }
        before = place;
        n++;
    }
    int length = snprintf(text, size, "%d ranks", notes_ranks(notes));
    if (n == 0 || length < 0 || (size_t)length >= size)
        return;
    char bound[64];
    if (fewest == most)
        snprintf(bound, sizeof bound, "bound to %lu processor%s each", most, most == 1 ? "" : "s");
    else
        snprintf(bound, sizeof bound, "bound to %lu to %lu processors", fewest, most);
    snprintf(text + length, size - (size_t)length, " on %lu node%s, %s", last_node + 1, last_node > 0 ? "s" : "",
             most > 1 && (single || shared) ? "unbound"
             : most > 0                     ? bound
                                            : "bound unknown");
}

void notes_print(const struct notes *notes, FILE *stream)
{
    static const char *const unsaid[] = {"ranks", "library", "place", "domain"};
    for (size_t i = 0; i < notes->kept.n; i++) {
        const char *text = notes->kept.texts[i], *left_out = behind(text, "left_out");
        char level[32], variable[96];
        double bytes;
        int ranks, processors;
        bool said = true;
        for (size_t k = 0; k < sizeof unsaid / sizeof unsaid[0]; k++)
            said = said && behind(text, unsaid[k]) == NULL;
        if (!said)
            continue;
        if (sscanf(text, "rendezvous %31s %lf %95s", level, &bytes, variable) == 3)
            fprintf(stream, "%s: rendezvous from %.0f B, told by the MPI (%s)\n", level, bytes, variable);
        else if (sscanf(text, "oversubscribed %d %d", &ranks, &processors) == 2)
            fprintf(stream, "oversubscribed: %d ranks on %d processors of a node\n", ranks, processors);
        else if (left_out != NULL)
            fprintf(stream, "left out: %s\n", left_out);
        else
            fprintf(stream, "%s\n", text);
    }
}
