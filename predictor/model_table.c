/* The models that there are: one line each here, one file each beside. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "terms.h"

const struct model *const model_table[] = {&postal_model,    &max_rate_model, &node_aware_model,
                                           &staircase_model, &flow_model,     NULL};

const struct model *model_find(const char *name)
{
    for (size_t i = 0; model_table[i] != NULL; i++)
        if (strcmp(model_table[i]->name, name) == 0)
            return model_table[i];
    return NULL;
}

int model_choose(const char *name, struct model_choice *choice)
{
    struct model_choice chosen = {.queue = false};
    size_t length = strcspn(name, "+");
    if (strlen(name) >= sizeof chosen.name)
        return -1;
    memcpy(chosen.name, name, length);
    chosen.model = model_find(chosen.name);
    if (chosen.model == NULL || (name[length] == '+' && strcmp(name + length, "+queue") != 0))
        return -1;
    chosen.queue = name[length] == '+';
    strcpy(chosen.name, name);
    *choice = chosen;
    return 0;
}

int model_choice_predict(const struct model_choice *choice, const struct pattern *pattern,
                         const struct placement *placement, const struct machine *machine,
                         const struct model_options *options, struct prediction *prediction, struct error *error)
{
    int result = choice->model->predict(pattern, placement, machine, options, prediction, error);
    if (result == 0 && choice->queue)
        result = queue_add(pattern, machine, prediction, error);
    return result == 0 && choice->queue ? prediction_sum(prediction, error) : result;
}
