/* Numbers that are not finite, rows without end and full disks break JSON in ways that its reader cannot repair, so
 * every command writes through these few calls. */
#include "share/base/json.h"

#include <math.h>

json_t *json_count(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

json_t *json_finite(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void json_rows_add(struct json_rows *rows, json_t *row)
{
    fputs(rows->begun ? ",\n" : "[\n", rows->stream);
    rows->begun = true;
    rows->failed |= row == NULL || json_dumpf(row, rows->stream, 0) != 0;
    json_decref(row);
}

/* Leaves a stream that cannot be written to whoever closes it, who knows its name. */
static int failure(FILE *stream, struct error *error)
{
    return ferror(stream) ? 0 : error_set(error, "the JSON cannot be made: no memory, or no UTF-8 text");
}

int json_rows_end(struct json_rows *rows, struct error *error)
{
    fputs(rows->begun ? "\n]\n" : "[]\n", rows->stream);
    return rows->failed ? failure(rows->stream, error) : 0;
}

int json_write(FILE *stream, json_t *value, struct error *error)
{
    int result = value == NULL ? -1 : json_dumpf(value, stream, JSON_INDENT(2));
    json_decref(value);
    return result == 0 && fputc('\n', stream) != EOF ? 0 : failure(stream, error);
}
