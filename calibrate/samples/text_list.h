/* Keeps a growing list of lines. */
#ifndef MPISTAIR_CALIBRATE_TEXT_LIST_H
#define MPISTAIR_CALIBRATE_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct text_list {
    char **texts; /* [n] */
    size_t n;
};

/* Appends a copy. Returns 0. */
int text_list_append(struct text_list *list, const char *text);
bool text_list_holds(const struct text_list *list, const char *text);
void text_list_release(struct text_list *list);

#endif
