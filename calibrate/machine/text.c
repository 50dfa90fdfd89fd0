/* Reads and writes the text form, and finds the table that the user means by --machine. Each line is split into words
 * by blanks, every word is checked, and an error names the line. What is written gives equal values when it is read. */
#include "calibrate/machine/machine.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "share/base/array.h"
#include "share/base/installation.h"
#include "share/base/nearest.h"
#include "share/base/number.h"
#include "share/base/one_of.h"
#include "share/base/text_file.h"

const char *const domain_name[DOMAIN_COUNT] = {"", "l3", "numa", "package"};
const char *const machine_protocol_name[PROTOCOL_COUNT] = {"any", "short", "eager", "rendezvous"};

const char *const memory_quantity_name[MEMORY_PARAMETER_COUNT] = {
    "memory_cores_par", "memory_total_par", "memory_cores_seq",  "memory_total_seq",   "memory_total_par2",
    "memory_alpha",     "memory_loss_left", "memory_loss_right", "memory_computation", "memory_message"};

int machine_parse_protocol(const char *name, enum machine_protocol *protocol)
{
    int found = place_in_names(name, machine_protocol_name, PROTOCOL_COUNT);
    if (found >= 0)
        *protocol = (enum machine_protocol)found;
    return found >= 0 ? 0 : -1;
}

bool machine_name_valid(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strspn(name, letters);
    return length > 0 && name[length] == '\0' && length < sizeof((struct machine *)NULL)->name;
}

void machine_append(struct machine *machine, const struct machine_parameter *parameter)
{
    ARRAY_ADD(machine->parameters, machine->n_parameters, *parameter);
}

void machine_release(struct machine *machine)
{
    free(machine->parameters);
    *machine = (struct machine){0};
}

enum { NAMES_BYTES = 512, MAX_LINE_BYTES = 4096, MAX_ROWS = 100000, MAX_WORDS = 7 };

/* Cuts the line into words, in place. Returns their number, MAX_WORDS standing for that and more. */
static size_t split(char *line, char *words[MAX_WORDS])
{
    size_t n = 0;
    char *rest = line;
    for (char *word; n < MAX_WORDS && (word = strtok_r(n == 0 ? line : NULL, " \t\r\n", &rest)) != NULL;)
        words[n++] = word;
    return n;
}

static int copy_word(char *to, size_t size, const char *word, const char *what, struct error *error)
{
    if (strlen(word) >= size)
        return error_set(error, "%s '%.40s' is longer than %zu letters", what, word, size - 1);
    strcpy(to, word);
    return 0;
}

static int read_real(const char *word, const char *what, double *value, struct error *error)
{
    const char *wrong = number_real(word, value);
    return wrong == NULL ? 0 : error_set(error, "%s '%.40s' %s", what, word, wrong);
}

static int read_count(const char *word, const char *what, uint64_t none, uint64_t *value, struct error *error)
{
    *value = none;
    const char *wrong = strcmp(word, "-") == 0 ? NULL : number_u64(word, value);
    return wrong == NULL ? 0 : error_set(error, "%s '%.40s' %s, nor '-'", what, word, wrong);
}

/* Reads what stands behind `#:`. */
static int read_statistics(char *text, struct machine_parameter *row, struct error *error)
{
    char *words[MAX_WORDS];
    size_t n_words = split(text, words);
    if (n_words != 4)
        return error_set(error, "%zu words behind '#:', expected 4, `ci_low ci_high samples method`", n_words);
    if ((strcmp(words[0], "-") != 0 && read_real(words[0], "ci_low", &row->ci_low, error) != 0) ||
        (strcmp(words[1], "-") != 0 && read_real(words[1], "ci_high", &row->ci_high, error) != 0) ||
        read_count(words[2], "samples", 0, &row->samples, error) != 0 ||
        (strcmp(words[3], "-") != 0 && copy_word(row->method, sizeof row->method, words[3], "method", error) != 0))
        return -1;
    if (row->ci_low > row->ci_high)
        return error_set(error, "ci_low %s is above ci_high %s", words[0], words[1]);
    return 0;
}

static int read_row(char *words[], size_t n_words, char *statistics, struct machine_parameter *row, struct error *error)
{
    *row = (struct machine_parameter){.ci_low = NAN, .ci_high = NAN};
    if (n_words != 6)
        return error_set(error, "%s%zu words, expected 6, `level protocol quantity n value unit`",
                         n_words == MAX_WORDS ? "at least " : "", n_words);
    if (level_parse(words[0], &row->level) != 0)
        return error_set(error, "level '%.40s', expected self, intra_socket, inter_socket, inter_node or any",
                         words[0]);
    if (machine_parse_protocol(words[1], &row->protocol) != 0)
        return error_set(error, "protocol '%.40s', expected any, short, eager or rendezvous", words[1]);
    if (copy_word(row->quantity, sizeof row->quantity, words[2], "quantity", error) != 0 ||
        read_count(words[3], "n", MACHINE_NO_N, &row->n, error) != 0 ||
        read_real(words[4], "value", &row->value, error) != 0 ||
        copy_word(row->unit, sizeof row->unit, words[5], "unit", error) != 0)
        return -1;
    if (statistics != NULL && read_statistics(statistics, row, error) != 0)
        return -1;
    return machine_check_parameter(row, error);
}

static int read_name(struct machine *machine, char *words[], size_t n_words, struct error *error)
{
    if (machine->name[0] != '\0')
        return error_set(error, "a second name, expected one");
    if (n_words != 2 || !machine_name_valid(words[1]))
        return error_set(error, "expected `name N`, N of letters, digits, '.', '_', '-', at most %zu",
                         sizeof machine->name - 1);
    return copy_word(machine->name, sizeof machine->name, words[1], "name", error);
}

static int read_source(struct machine *machine, const char *text, struct error *error)
{
    if (machine->source[0] != '\0')
        return error_set(error, "a second source, expected one");
    text += strspn(text, " \t");
    size_t length = strcspn(text, "\r\n");
    if (length == 0)
        return error_set(error, "an empty source, expected where the values are from");
    if (length >= sizeof machine->source)
        return error_set(error, "the source is longer than %zu bytes", sizeof machine->source - 1);
    memcpy(machine->source, text, length);
    machine->source[length] = '\0';
    return 0;
}

/* The table while it is read. */
struct reading {
    struct machine machine;
    size_t line;   /* number of the current one, from 1 */
    size_t *lines; /* [n_parameters] where each row stands */
};

static int take_row(struct reading *reading, const struct machine_parameter *row, struct error *error)
{
    size_t n = reading->machine.n_parameters;
    if (n == MAX_ROWS)
        return error_set(error, "more than %d values", MAX_ROWS);
    array_grow(&reading->lines, n, sizeof *reading->lines);
    machine_append(&reading->machine, row);
    reading->lines[n] = reading->line;
    return 0;
}

static int read_line(void *context, char *line, struct error *error)
{
    struct reading *reading = context;
    struct machine *machine = &reading->machine;
    reading->line++;
    char *text = line + strspn(line, " \t\r\n");
    static const char source[] = "source";
    size_t keyword = sizeof source - 1;
    if (machine->name[0] != '\0' && strncmp(text, source, keyword) == 0 && strchr(" \t\r\n", text[keyword]) != NULL)
        return read_source(machine, text + keyword, error); /* the rest of the line is taken whole: a '#' may be part of
                                                             * it */
    char *comment = strchr(text, '#');
    char *statistics = comment != NULL && comment[1] == ':' ? comment + 2 : NULL;
    if (comment != NULL)
        *comment = '\0';
    char *words[MAX_WORDS];
    size_t n_words = split(text, words);
    if (n_words == 0)
        return 0;
    if (strcmp(words[0], "name") == 0)
        return read_name(machine, words, n_words, error);
    if (machine->name[0] == '\0' || machine->source[0] == '\0')
        return error_set(error, "expected a line `%s` before this one",
                         machine->name[0] == '\0' ? "name N" : "source ...");
    struct machine_parameter row;
    return read_row(words, n_words, statistics, &row, error) == 0 ? take_row(reading, &row, error) : -1;
}

/* Checks what no single line shows; the error has the place. */
static int check(const struct reading *reading, const char *path, struct error *error)
{
    const struct machine *machine = &reading->machine;
    struct error reason;
    size_t first, again;
    if (reading->line == 0)
        return error_set(error, "%s: is empty; expected a machine table", path);
    if (machine->name[0] == '\0')
        return error_set(error, "%s: no line `name N`, not a machine table", path);
    if (machine->n_parameters == 0)
        return error_set(error, "%s: no values; expected rows `level protocol quantity n value unit`", path);
    if (machine_check(machine, &reason) == 0)
        return 0;
    if (machine_find_repeated(machine, &first, &again))
        return error_set(error, "%s:%zu: %s, first in line %zu", path, reading->lines[again], reason.text,
                         reading->lines[first]);
    return error_set(error, "%s: %s", path, reason.text);
}

int machine_read(const char *path, struct machine *machine, struct error *error)
{
    struct reading reading = {.machine = {.name = ""}};
    int result = text_file_lines(path, MAX_LINE_BYTES - 1, read_line, &reading, error);
    if (result == 0)
        result = check(&reading, path, error);
    if (result == 0)
        *machine = reading.machine;
    else
        machine_release(&reading.machine);
    free(reading.lines);
    return result;
}

/* Appends to a list, "a, b, c". */
static int add_name(void *context, const char *name, const char *path, struct error *error)
{
    (void)path, (void)error;
    char *names = context;
    size_t used = strlen(names);
    snprintf(names + used, NAMES_BYTES - used, "%s%s", used > 0 ? ", " : "", name);
    return 0;
}

int machine_find(const char *name_or_path, struct machine *machine, struct error *error)
{
    char path[PATH_MAX], names[NAMES_BYTES] = "";
    if (installation_named("machines", ".tbl", name_or_path, path, sizeof path) == 0)
        return machine_read(path, machine, error);
    struct stat file;
    if (stat(name_or_path, &file) == 0 && S_ISREG(file.st_mode))
        return machine_read(name_or_path, machine, error);
    struct nearest nearest = nearest_to(name_or_path);
    installation_each("machines", ".tbl", nearest_add_named, &nearest, NULL);
    if (nearest_hint(&nearest)[0] != '\0')
        return error_set(error, "machine '%.64s': not among the shipped ones, nor a .tbl file%s", name_or_path,
                         nearest_hint(&nearest));
    installation_each("machines", ".tbl", add_name, names, NULL);
    return error_set(error, "machine '%.64s': not among the shipped ones (%s), nor a .tbl file", name_or_path,
                     names[0] != '\0' ? names : "none");
}

static void write_optional(FILE *file, double value)
{
    if (isnan(value))
        fputs(" -", file);
    else
        fprintf(file, " %.17g", value);
}

int machine_write(FILE *file, const struct machine *machine)
{
    fprintf(file, "name %s\nsource %s\n", machine->name, machine->source);
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        fprintf(file, "%s %s %s ", level_text(row->level), machine_protocol_name[row->protocol], row->quantity);
        if (row->n == MACHINE_NO_N)
            fputc('-', file);
        else
            fprintf(file, "%llu", (unsigned long long)row->n);
        fprintf(file, " %.17g %s", row->value, row->unit);
        bool known = !isnan(row->ci_low) || !isnan(row->ci_high) || row->samples > 0 || row->method[0] != '\0';
        if (known) {
            fputs(" #:", file);
            write_optional(file, row->ci_low);
            write_optional(file, row->ci_high);
            if (row->samples > 0)
                fprintf(file, " %llu", (unsigned long long)row->samples);
            else
                fputs(" -", file);
            fprintf(file, " %s", row->method[0] != '\0' ? row->method : "-");
        }
        fputc('\n', file);
    }
    return ferror(file) ? -1 : 0;
}
