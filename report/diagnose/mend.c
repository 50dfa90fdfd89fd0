/* See mend.h. */
#include "report/diagnose/mend.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/memory.h"

struct run_mend *mend_new(void)
{
    return xcalloc(1, sizeof(struct run_mend));
}

void mend_release(struct run_mend *mend)
{
    if (mend == NULL)
        return;
    free(mend->compute_scale);
    free(mend->compute_most_s);
    free(mend->rest_scale);
    free(mend->site);
    free(mend->calls);
    free(mend);
}

/* Lowers array[at] to value; there the array begins full of others. */
static void mend_lower(float **array, size_t n, size_t at, float others, double value)
{
    if (*array == NULL) {
        *array = xcalloc(n, sizeof **array);
        for (size_t i = 0; i < n; i++)
            (*array)[i] = others;
    }
    (*array)[at] = fminf((*array)[at], (float)value);
}

void mend_site(const struct run_program *program, struct run_mend *mend, uint32_t site, uint8_t how)
{
    if (mend->site == NULL)
        mend->site = xcalloc(program->n_sites, sizeof *mend->site);
    mend->site[site] |= how;
}

void mend_rest(const struct run_program *program, struct run_mend *mend, uint32_t place, double factor)
{
    mend_lower(&mend->rest_scale, program->n_places, place, 1, factor);
}

void mend_rests(const struct run_program *program, struct run_mend *mend, uint32_t site, double factor)
{
    for (size_t i = 0; i < program->n_places; i++)
        if (program->places[i].site == site)
            mend_rest(program, mend, (uint32_t)i, factor);
}

void mend_scale(const struct run_program *program, struct run_mend *mend, uint32_t place, double factor)
{
    if (mend->compute_scale == NULL) {
        mend_lower(&mend->compute_scale, program->n_places, place, 1, 1);
    }
    mend->compute_scale[place] = (float)factor;
}

void mend_most(const struct run_program *program, struct run_mend *mend, uint32_t place, double most_s)
{
    mend_lower(&mend->compute_most_s, program->n_places, place, INFINITY, most_s);
}

void mend_call(struct run_mend *mend, size_t call, double compute_most_s, double rest_most_s)
{
    ARRAY_ADD(mend->calls, mend->n_calls, (struct run_mend_call){call, (float)compute_most_s, (float)rest_most_s});
}

/* Merges the single calls of another one in. */
static void mend_join_calls(struct run_mend *mend, const struct run_mend *other)
{
    struct run_mend joined = {0};
    for (size_t i = 0, k = 0; i < mend->n_calls || k < other->n_calls;) {
        const struct run_mend_call *one = i < mend->n_calls ? &mend->calls[i] : NULL,
                                   *two = k < other->n_calls ? &other->calls[k] : NULL;
        bool takes_one = two == NULL || (one != NULL && one->call <= two->call);
        bool takes_two = one == NULL || (two != NULL && two->call <= one->call);
        struct run_mend_call call = takes_one ? *one : *two;
        if (takes_one && takes_two) {
            call.compute_most_s = fminf(one->compute_most_s, two->compute_most_s);
            call.rest_most_s = fminf(one->rest_most_s, two->rest_most_s);
        }
        ARRAY_ADD(joined.calls, joined.n_calls, call);
        i += takes_one;
        k += takes_two;
    }
    free(mend->calls);
    mend->calls = joined.calls;
    mend->n_calls = joined.n_calls;
}

void mend_join(const struct run_program *program, struct run_mend *mend, const struct run_mend *other)
{
    mend_join_calls(mend, other);
    size_t n = program->n_places;
    for (size_t i = 0; i < n; i++) {
        if (other->compute_scale != NULL && other->compute_scale[i] != 1)
            mend_scale(program, mend, (uint32_t)i, (double)other->compute_scale[i]);
        if (other->compute_most_s != NULL)
            mend_lower(&mend->compute_most_s, n, i, INFINITY, (double)other->compute_most_s[i]);
        if (other->rest_scale != NULL)
            mend_lower(&mend->rest_scale, n, i, 1, (double)other->rest_scale[i]);
    }
    for (size_t i = 0; other->site != NULL && i < program->n_sites; i++)
        mend_site(program, mend, (uint32_t)i, other->site[i]);
}
