/* Integers are added modulo 2^64, and a carry counts how often that went beyond an end, so that a window can take
 * values out again. Reals are added with the error of each addition carried along (Neumaier, 1974), as SQLite does from
 * 3.43 on. See saturating_sum.h. */
#include "interpose/database/saturating_sum.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

struct sum {
    int64_t n, n_reals; /* values that are not NULL, and those of them that are no integers */
    int64_t low, carry; /* the integers are low + 2^64 carry */
    double real, error;
};

static void add_integer(struct sum *sum, int64_t value, int direction)
{
    int64_t before = sum->low;
    int is_out = direction > 0 ? __builtin_add_overflow(before, value, &sum->low)
                               : __builtin_sub_overflow(before, value, &sum->low);
    if (is_out)
        sum->carry += before < 0 ? -1 : 1; /* only beyond the end on whose side it was before */
}

static void add_real(struct sum *sum, double value)
{
    double total = sum->real + value;
    if (fabs(sum->real) > fabs(value))
        sum->error += (sum->real - total) + value;
    else
        sum->error += (value - total) + sum->real;
    sum->real = total;
}

/* Puts a value in (direction 1), or takes it out (-1). */
static void change(sqlite3_context *context, sqlite3_value *value, int direction)
{
    struct sum *sum = sqlite3_aggregate_context(context, sizeof *sum);
    int type = sqlite3_value_numeric_type(value);
    if (!sum || type == SQLITE_NULL)
        return;
    sum->n += direction;
    if (type == SQLITE_INTEGER) {
        add_integer(sum, sqlite3_value_int64(value), direction);
        return;
    }
    sum->n_reals += direction;
    add_real(sum, direction * sqlite3_value_double(value));
}

static void sum_step(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
    (void)n_arguments;
    change(context, arguments[0], 1);
}

static void sum_inverse(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
    (void)n_arguments;
    change(context, arguments[0], -1);
}

static void sum_value(sqlite3_context *context)
{
    const struct sum *sum = sqlite3_aggregate_context(context, 0);
    if (!sum || sum->n == 0) {
        sqlite3_result_null(context);
    } else if (sum->n_reals == 0) {
        sqlite3_result_int64(context, sum->carry == 0 ? sum->low : sum->carry > 0 ? INT64_MAX : INT64_MIN);
    } else {
        double real = isfinite(sum->error) ? sum->real + sum->error : sum->real; /* of infinities there is no error */
        sqlite3_result_double(context, real + ldexp((double)sum->carry, 64) + (double)sum->low);
    }
}

int saturating_sum_open(sqlite3 *database)
{
    return sqlite3_create_window_function(database, "sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                          NULL, sum_step, sum_value, sum_value, sum_inverse, NULL);
}
