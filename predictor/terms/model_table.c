/* Registers the models: each has one line here, and one file in models/ or terms/. */
#include "predictor/models/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/models/flow.h"
#include "predictor/models/staircase.h"
#include "predictor/pattern/traffic.h"
#include "predictor/terms/topology.h"
#include "share/base/memory.h"

const struct model *const model_table[] = {&postal_model,    &max_rate_model,      &node_aware_model,
                                           &staircase_model, &staircase_max_model, &serial_model,
                                           &flow_model,      &flow_window_model,   NULL};

const struct model_term *const term_table[] = {&queue_term, &contention_term, &memory_term, NULL};

const struct model *model_find(const char *name)
{
    for (size_t i = 0; model_table[i] != NULL; i++)
        if (strcmp(model_table[i]->name, name) == 0)
            return model_table[i];
    return NULL;
}

const char *model_hint(const char *name, struct nearest *nearest)
{
    *nearest = nearest_to(name);
    for (size_t i = 0; model_table[i] != NULL; i++) {
        char with_term[64];
        nearest_add(nearest, model_table[i]->name);
        for (size_t k = 0; strchr(name, '+') != NULL && term_table[k] != NULL; k++) {
            snprintf(with_term, sizeof with_term, "%s+%s", model_table[i]->name, term_table[k]->name);
            nearest_add(nearest, with_term);
        }
    }
    return nearest_hint(nearest);
}

/* Adds the term of that name. Returns -1 if there is none, or it is there already. */
static int add_term(struct model_choice *choice, const char *name, size_t length)
{
    size_t number = 0;
    while (term_table[number] != NULL &&
           (strlen(term_table[number]->name) != length || memcmp(term_table[number]->name, name, length) != 0))
        number++;
    const struct model_term *term = term_table[number];
    for (size_t i = 0; i < choice->n_terms; i++)
        if (choice->terms[i] == term)
            return -1;
    if (term == NULL)
        return -1;
    choice->terms[choice->n_terms++] = term;
    choice->topology = choice->topology || term->topology;
    choice->computing = choice->computing || term->computing;
    return 0;
}

int model_choose(const char *name, struct model_choice *choice)
{
    struct model_choice chosen = {0};
    size_t length = strcspn(name, "+");
    if (strlen(name) >= sizeof chosen.name)
        return -1;
    memcpy(chosen.name, name, length);
    chosen.model = model_find(chosen.name);
    if (chosen.model == NULL)
        return -1;
    for (const char *at = name + length; *at == '+'; at += 1 + length) {
        length = strcspn(at + 1, "+");
        if (add_term(&chosen, at + 1, length) != 0)
            return -1;
    }
    strcpy(chosen.name, name);
    *choice = chosen;
    return 0;
}

int model_round_init(struct model_round *round, const struct pattern *pattern, const struct placement *placement,
                     const struct machine *machine, const struct model_options *options,
                     const struct model_choice *models, size_t n_models, size_t n_threads, struct error *error)
{
    unsigned staircases = 0;
    *round = (struct model_round){.traffic = xcalloc(1, sizeof *round->traffic)};
    if (traffic_init(round->traffic, pattern, placement, machine, n_threads, error) != 0) {
        free(round->traffic);
        return -1;
    }
    bool by_node = false;
    for (size_t m = 0; m < n_models; m++) {
        staircases |= models[m].model->staircases;
        by_node = by_node || models[m].model->by_node;
    }
    round->input = (struct model_input){.traffic = round->traffic,
                                        .staircases = round->staircases,
                                        .placement = placement,
                                        .machine = machine,
                                        .options = options};
    staircases_predict(&round->input, staircases, n_threads, round->staircases);
    if (by_node)
        round->input.by_node = round->by_node = flow_orders(round->traffic, placement, n_threads);
    return 0;
}

void model_round_release(struct model_round *round)
{
    for (size_t part = 0; part < STAIRCASE_PARTS; part++)
        prediction_release(&round->staircases[part]);
    flow_orders_release(round->by_node);
    if (round->traffic != NULL)
        traffic_release(round->traffic);
    free(round->traffic);
    *round = (struct model_round){0};
}

int model_round_predict(const struct model_round *round, const struct model_choice *choice,
                        struct prediction *prediction, struct error *error)
{
    const struct model_input *input = &round->input;
    prediction_clear(prediction);
    choice->model->predict(input, prediction);
    if (prediction_sum(prediction, error) != 0)
        return -1;
    for (size_t i = 0; i < choice->n_terms; i++)
        if (choice->terms[i]->add(input, prediction, error) != 0)
            return -1;
    return choice->n_terms > 0 ? prediction_sum(prediction, error) : 0;
}

int model_choice_predict(const struct model_choice *choice, const struct pattern *pattern,
                         const struct placement *placement, const struct machine *machine,
                         const struct model_options *options, struct prediction *prediction, struct error *error)
{
    struct model_round round;
    if (model_round_init(&round, pattern, placement, machine, options, choice, 1, 1, error) != 0)
        return -1;
    int result = model_round_predict(&round, choice, prediction, error);
    model_round_release(&round);
    return result;
}

const char *model_options_text(const struct model_choice *choice, const struct model_options *options,
                               struct model_options_text *text)
{
    static const char *const sides[] = {"", "latency=out ", "latency=max "};
    bool routed = options->topology != NULL && choice->topology;
    size_t length = 0;
    if (choice->model->latency_side)
        length += (size_t)sprintf(text->text, "%s", sides[options->latency]);
    if (routed)
        length += (size_t)sprintf(text->text + length, "topology=%s ", options->topology->name);
    if (options->repetitions > 0 && choice->model->repeats)
        length += (size_t)sprintf(text->text + length, "repetitions=%zu ", options->repetitions);
    text->text[length > 0 ? length - 1 : 0] = '\0'; /* the last blank; the longest take 120 of 160 bytes */
    return text->text;
}

void model_choice_note(const struct model_choice *model, const struct machine *machine, size_t extrapolated)
{
    if (extrapolated > 0)
        inform(
            "note: %s: %zu bandwidths lie beyond the ends of the table of '%s'; its end values were taken, or n BW(1) "
            "where it has that and injection limits alone",
            model->name, extrapolated, machine->name);
}

void model_choice_note_memory(const struct model_choice *model, const struct machine *machine,
                              const struct prediction_memory *memory)
{
    if (!model->computing)
        return;
    if (memory->n_messages == 0 && memory->n_other > 0)
        inform("note: %s: nothing changes: the memory_... rows of '%s' are for messages between nodes, which a NIC "
               "writes, and all messages are within a node",
               model->name, machine->name);
    if (memory->n_small > 0)
        inform("note: %s: outside the calibrated range: %zu of %zu messages are smaller than 1 MB", model->name,
               memory->n_small, memory->n_messages);
}
