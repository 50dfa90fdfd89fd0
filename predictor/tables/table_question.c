/* The answer to a question goes to a file, which is replaced only by a complete one. */
#include "predictor/tables/table_question.h"

int table_print(const struct table_question *question,
                int (*print)(FILE *stream, enum output_format format, const void *answer, struct error *error),
                const void *answer, struct error *error)
{
    struct output_file output;
    if (output_file_open(&output, question->output, error) != 0)
        return -1;
    return output_file_end(&output, print(output.stream, question->format, answer, error), error);
}
