#include "calibrate/job/text_list.h"

#include <stdlib.h>
#include <string.h>

int text_list_append(struct text_list *list, const char *text)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity == 0 ? 32 : 2 * list->capacity;
        char **larger = reallocarray(list->texts, capacity, sizeof *larger);
        if (larger == NULL)
            return -1;
        list->texts = larger;
        list->capacity = capacity;
    }
    char *copy = strdup(text);
    if (copy == NULL)
        return -1;
    list->texts[list->n++] = copy;
    return 0;
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
