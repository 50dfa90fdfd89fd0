/* Notes, what was asked and lines of samples are all lists of lines; they own their texts, so that a reader's buffer
 * may change. */
#include "calibrate/samples/text_list.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"

int text_list_append(struct text_list *list, const char *text)
{
    array_grow(&list->texts, list->n, sizeof *list->texts);
    list->texts[list->n++] = xstrdup(text);
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
