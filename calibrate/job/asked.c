/* Samples of two different measurements must never end up in one file, so everything that could make them differ is
 * written down and compared before a calibration goes on. */
#include "calibrate/job/asked.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists the beginnings of variables by which MPI libraries and their transports are set. Those that say how to reach
 * the nodes are left out, as they change from one batch job to the next (host files, temporary folders). */
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

/* Appends one line of `key` and words. */
static int append_words(struct text_list *asked, const char *key, char *const *words, size_t n_words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return -1;
    fputs(key, stream);
    for (size_t i = 0; i < n_words; i++) {
        putc(' ', stream);
        write_word(stream, words[i]);
    }
    int result = fclose(stream) == 0 ? text_list_append(asked, text) : -1;
    free(text);
    return result;
}

static int append_number(struct text_list *asked, const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%s %.9g", key, value);
    return text_list_append(asked, text);
}

static bool begins_with_any(const char *text, const char *const *beginnings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static int append_settings(struct text_list *asked)
{
    extern char **environ;
    int result = 0;
    for (char **variable = environ; *variable != NULL && result == 0; variable++)
        if (begins_with_any(*variable, settings, sizeof settings / sizeof settings[0]) &&
            !begins_with_any(*variable, launching, sizeof launching / sizeof launching[0]))
            result = append_words(asked, "environment", variable, 1);
    return result;
}

static int append_memory(struct text_list *asked, const struct memory_request *memory)
{
    char *placements = (char *)memory->placements;
    int result = append_words(asked, "memory", &placements, 1);
    if (result == 0 && memory->skip_beyond_peak)
        result = text_list_append(asked, "skip-beyond-peak");
    if (result == 0 && memory->allow_cpu_copy)
        result = text_list_append(asked, "allow-cpu-copy");
    return result;
}

int asked_list(const struct calibration *calibration, struct text_list *asked)
{
    char *placement = getenv("MPISTAIR_PLACEMENT");
    char *shared_link = (char *)calibration->shared_link;
    char *gpu_paths = (char *)calibration->gpu_paths;
    char *mpi[] = {(char *)calibration->launcher->mpi};
    int result = append_words(asked, "launcher", calibration->launcher->words, (size_t)calibration->launcher->n_words);
    if (result == 0)
        result = append_words(asked, "mpi", mpi, 1);
    if (result == 0)
        result = append_number(asked, "seconds", calibration->seconds * calibration->launches);
    if (result == 0)
        result = append_number(asked, "launches", calibration->launches);
    if (result == 0 && calibration->cached)
        result = text_list_append(asked, "cached");
    if (result == 0 && shared_link != NULL)
        result = append_words(asked, "shared-link", &shared_link, 1);
    if (result == 0 && calibration->gpu != GPU_NOT)
        result = text_list_append(asked, calibration->gpu == GPU_ALSO ? "gpu also" : "gpu only");
    if (result == 0 && calibration->gpu_paths != NULL)
        result = append_words(asked, "path", &gpu_paths, 1);
    if (result == 0 && calibration->memory != NULL)
        result = append_memory(asked, calibration->memory);
    if (result == 0 && placement != NULL && placement[0] != '\0')
        result = append_words(asked, "placement", &placement, 1);
    return result == 0 ? append_settings(asked) : -1;
}
