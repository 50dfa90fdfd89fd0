#include "asked.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beginnings of variables by which MPI libraries and their transports are set. */
static const char *const settings[] = {"OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPICH_", "MPIR_CVAR_",
                                       "HYDRA_",    "I_MPI_",    "MV2_",      "UCX_",   "FI_"};

/* A word as a shell would read it; control characters, which a line of text cannot hold, as '?'. */
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

/* One line, written by `key`, and words. */
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

static int append_settings(struct text_list *asked)
{
    extern char **environ;
    int result = 0;
    for (char **variable = environ; *variable != NULL && result == 0; variable++)
        for (size_t i = 0; i < sizeof settings / sizeof settings[0] && result == 0; i++)
            if (strncmp(*variable, settings[i], strlen(settings[i])) == 0)
                result = append_words(asked, "environment", variable, 1);
    return result;
}

int asked_list(const struct calibration *calibration, struct text_list *asked)
{
    char *placement = getenv("MPISTAIR_PLACEMENT");
    char *shared_link = (char *)calibration->shared_link;
    char *mpi[] = {(char *)calibration->launcher->mpi};
    int result = append_words(asked, "launcher", calibration->launcher->words, (size_t)calibration->launcher->n_words);
    if (result == 0)
        result = append_words(asked, "mpi", mpi, 1);
    if (result == 0)
        result = append_number(asked, "seconds", calibration->seconds);
    if (result == 0)
        result = append_number(asked, "launches", calibration->launches);
    if (result == 0 && calibration->cached)
        result = text_list_append(asked, "cached");
    if (result == 0 && shared_link != NULL)
        result = append_words(asked, "shared-link", &shared_link, 1);
    if (result == 0 && placement != NULL && placement[0] != '\0')
        result = append_words(asked, "placement", &placement, 1);
    return result == 0 ? append_settings(asked) : -1;
}
