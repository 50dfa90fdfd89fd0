/* The models that there are: one line each here, one file each beside. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "models.h"

const struct model *const model_table[] = {&postal_model, &max_rate_model, &staircase_model, NULL};

const struct model *model_find(const char *name)
{
    for (size_t i = 0; model_table[i] != NULL; i++)
        if (strcmp(model_table[i]->name, name) == 0)
            return model_table[i];
    return NULL;
}
