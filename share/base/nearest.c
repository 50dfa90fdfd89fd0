/* A word is near if it differs by at most one edit for every three characters, but at least one, where an edit inserts,
 * drops or replaces a character or swaps two neighbours (Damerau's distance in its restricted form, Boytsov 2011,
 * section 2.2); or if the wanted word is the beginning of it. Capitals, '-' and '_' make no difference. */
#include "share/base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 48 };

struct nearest nearest_to(const char *wanted)
{
    struct nearest nearest = {.distance = LONGEST};
    if (strlen(wanted) < sizeof nearest.wanted)
        strcpy(nearest.wanted, wanted);
    return nearest;
}

static bool same(char a, char b)
{
    a = a == '_' ? '-' : (char)tolower((unsigned char)a);
    b = b == '_' ? '-' : (char)tolower((unsigned char)b);
    return a == b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the number of edits between two words of less than LONGEST characters. Row i of the table has the edits from
 * the first i characters of a to each beginning of b; three rows are kept. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1], n_a = strlen(a), n_b = strlen(b);
    for (size_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            row[j] = above[j - 1] + !same(a[i - 1], b[j - 1]);
            row[j] = smaller(row[j], smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

/* Returns whether wanted has two characters or more and word begins with it. */
static bool begins(const char *word, const char *wanted)
{
    size_t n = 0;
    while (wanted[n] != '\0' && word[n] != '\0' && same(wanted[n], word[n]))
        n++;
    return n >= 2 && wanted[n] == '\0';
}

void nearest_add(struct nearest *nearest, const char *word)
{
    size_t length = strlen(nearest->wanted), most = length < 6 ? 1 : length / 3;
    if (length == 0 || strlen(word) >= LONGEST || strlen(word) == 0)
        return;
    size_t edits = begins(word, nearest->wanted) ? 1 : distance(nearest->wanted, word);
    if (edits > most || edits >= length || edits >= nearest->distance)
        return;
    nearest->distance = edits;
    snprintf(nearest->best, sizeof nearest->best, "%s", word);
}

void nearest_add_choices(struct nearest *nearest, const char *list)
{
    for (const char *at = list; at != NULL; at = strchr(at, '|') != NULL ? strchr(at, '|') + 1 : NULL) {
        char word[LONGEST];
        size_t length = strcspn(at, "|");
        if (length < sizeof word) {
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            nearest_add(nearest, word);
        }
    }
}

int nearest_add_named(void *nearest, const char *name, const char *path, struct error *error)
{
    (void)path, (void)error;
    nearest_add(nearest, name);
    return 0;
}

const char *nearest_hint(struct nearest *nearest)
{
    if (nearest->best[0] == '\0')
        return "";
    snprintf(nearest->hint, sizeof nearest->hint, "; did you mean %s?", nearest->best);
    return nearest->hint;
}
