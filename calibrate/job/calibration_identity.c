/* Samples of two different measurements must not end up in one file, so whatever could make them differ is written down
 * and compared before a calibration is continued. */
#include "calibrate/job/calibration_identity.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"

/* First letters of variables that set MPI libraries and their transports. Those of `launching` are left out: they say
 * how to reach the nodes (host files, temporary folders) and change from one batch job to the next. */
static const char *const settings[] = {"OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "I_MPI_", "MV2_", "UCX_", "FI_"};
static const char *const launching[] = {"OMPI_MCA_orte_", "OMPI_MCA_plm_", "OMPI_MCA_oob_",
                                        "OMPI_MCA_ras_",  "I_MPI_HYDRA_",  "MPICH_INTERFACE_HOSTNAME"};

/* Writes a word as a shell would read it; control characters, which a line of text cannot hold, become '?'. */
static void write_word(FILE *stream, const char *word)
{
    bool plain = word[0] != '\0' && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                      "_-./:,=+@%")] == '\0';
    if (plain) {
        fputs(word, stream);
        return;
    }
    putc('\'', stream);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            fputs("'\\''", stream);
        else
            putc(iscntrl((unsigned char)*word) ? '?' : *word, stream);
    putc('\'', stream);
}

static void append_words(struct text_list *lines, const char *key, char *const *words, size_t n_words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = or_no_memory(open_memstream(&text, &size));
    fputs(key, stream);
    for (size_t i = 0; i < n_words; i++) {
        putc(' ', stream);
        write_word(stream, words[i]);
    }
    if (fclose(stream) != 0)
        no_memory(0);
    text_list_append(lines, text);
    free(text);
}

/* Appends key and word, unless the word is NULL. */
static void append_word(struct text_list *lines, const char *key, const char *word)
{
    char *words[] = {(char *)word};
    if (word != NULL)
        append_words(lines, key, words, 1);
}

static void append_number(struct text_list *lines, const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%s %.9g", key, value);
    text_list_append(lines, text);
}

static bool begins_with_any(const char *text, const char *const *beginnings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static void append_settings(struct text_list *lines)
{
    extern char **environ;
    for (char **variable = environ; *variable != NULL; variable++)
        if (begins_with_any(*variable, settings, sizeof settings / sizeof settings[0]) &&
            !begins_with_any(*variable, launching, sizeof launching / sizeof launching[0]))
            append_word(lines, "environment", *variable);
}

struct text_list calibration_identity(const struct calibration *calibration)
{
    struct text_list lines = {0};
    const char *placement = getenv("MPISTAIR_PLACEMENT");
    append_words(&lines, "launcher", calibration->launcher->words, (size_t)calibration->launcher->n_words);
    append_word(&lines, "mpi", calibration->launcher->mpi);
    append_number(&lines, "seconds", calibration->seconds * calibration->launches);
    append_number(&lines, "launches", calibration->launches);
    if (calibration->cached)
        text_list_append(&lines, "cached");
    append_word(&lines, "shared-link", calibration->shared_link);
    if (calibration->gpu != GPU_NOT)
        text_list_append(&lines, calibration->gpu == GPU_ALSO ? "gpu also" : "gpu only");
    append_word(&lines, "path", calibration->gpu_paths);
    if (calibration->memory != NULL) {
        append_word(&lines, "memory", calibration->memory->placements);
        if (calibration->memory->skip_beyond_peak)
            text_list_append(&lines, "skip-beyond-peak");
        if (calibration->memory->allow_cpu_copy)
            text_list_append(&lines, "allow-cpu-copy");
    }
    if (placement != NULL && placement[0] != '\0')
        append_word(&lines, "placement", placement);
    append_settings(&lines);
    return lines;
}
