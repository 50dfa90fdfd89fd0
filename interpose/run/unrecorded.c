/* A library is preloaded into a process if its environment names it and its loader honours that. Both can be seen from
 * outside: a word of the command, or a line of a script that it names, takes the variable away; a program has no
 * loader, or one that ignores the variable. What cannot be seen is left to the list of likely reasons. See
 * unrecorded.h. */
#include "interpose/run/unrecorded.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "interpose/run/launch.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"

enum { SCRIPT_BYTES = 1 << 20 };

static bool print_reason(const char *subject, const char *what)
{
    fprintf(stderr, "  - %s %s\n", subject, what);
    return true;
}

/* Looks at `env`, whose options stand behind it. */
static bool look_at_env(char *const *words)
{
    for (size_t i = 1; words[i] != NULL && (words[i][0] == '-' || strchr(words[i], '=') != NULL); i++) {
        bool next = strcmp(words[i], "-u") == 0 && words[i + 1] != NULL;
        if (WORD_IS_ONE_OF(words[i], "-i", "-", "--ignore-environment"))
            return print_reason("env", "starts its program with an empty environment, without LD_PRELOAD: omit -i, or "
                                       "set LD_PRELOAD and the variables MPISTAIR_... after it");
        if (strcmp(words[i], "-uLD_PRELOAD") == 0 || strcmp(words[i], "--unset=LD_PRELOAD") == 0 ||
            (next && strcmp(words[i + 1], "LD_PRELOAD") == 0))
            return print_reason("env", "removes LD_PRELOAD from the environment of its program");
        i += next;
    }
    return false;
}

/* Looks at a word of the command that may be a program which hands no environment on. */
static bool look_at_word(char *const *words)
{
    const char *name = file_name(words[0]);
    if (strcmp(name, "env") == 0)
        return look_at_env(words);
    if (WORD_IS_ONE_OF(name, "sudo", "doas", "su", "runuser"))
        return print_reason(name, "does not pass LD_PRELOAD on: start mpistair run after it");
    if (WORD_IS_ONE_OF(name, "docker", "podman", "apptainer", "singularity", "shifter", "ch-run"))
        return print_reason(name, "starts a container: pass LD_PRELOAD and MPISTAIR_... on by its own options, and "
                                  "make mpistair and the folder of the spools visible inside");
    return WORD_IS_ONE_OF(name, "-genvnone", "-envnone") &&
           print_reason(name, "keeps the launcher from passing the environment on");
}

/* True if a line of a script takes LD_PRELOAD away. */
static bool is_clearing(const char *line)
{
    static const char *const texts[] = {"env -i",
                                        "env - ",
                                        "env --ignore-environment",
                                        "unset LD_PRELOAD",
                                        "-u LD_PRELOAD",
                                        "--unset=LD_PRELOAD",
                                        "export -n LD_PRELOAD",
                                        "export LD_PRELOAD=",
                                        "unsetenv LD_PRELOAD"};
    line += strspn(line, " \t");
    if (*line == '#')
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strstr(line, texts[i]) != NULL)
            return true;
    return strncmp(line, "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0;
}

static bool look_at_script(const char *path, char *text)
{
    int number = 1;
    for (char *line = text, *end; line != NULL; line = end, number++) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        if (!is_clearing(line))
            continue;
        fprintf(stderr, "  - %s:%d: this line removes LD_PRELOAD: %.100s\n", path, number, line + strspn(line, " \t"));
        return true;
    }
    return false;
}

/* True if a program of ELF names no loader; bytes of it are at `file`. */
static bool has_no_loader(const unsigned char *file, size_t bytes)
{
    Elf64_Ehdr header;
    if (bytes < sizeof header || file[EI_CLASS] != ELFCLASS64)
        return false;
    memcpy(&header, file, sizeof header);
    if ((header.e_type != ET_EXEC && header.e_type != ET_DYN) || header.e_phentsize != sizeof(Elf64_Phdr) ||
        header.e_phoff > bytes || (bytes - header.e_phoff) / sizeof(Elf64_Phdr) < header.e_phnum)
        return false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, file + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_INTERP)
            return false;
    }
    return header.e_phnum > 0;
}

/* True if the system starts a program with rights of its own, for which loaders ignore LD_PRELOAD. */
static bool has_own_rights(const char *path, const struct stat *status)
{
    return ((status->st_mode & S_ISUID) != 0 && status->st_uid != getuid()) ||
           ((status->st_mode & S_ISGID) != 0 && status->st_gid != getgid()) ||
           (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

static bool look_at_contents(const char *path, unsigned char *bytes, size_t n)
{
    if (n > 2 && bytes[0] == '#' && bytes[1] == '!')
        return look_at_script(path, (char *)bytes);
    if (n < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return false;
    if (bytes[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        return print_reason(
            path, "is a program of another word size than mpistair: the loader cannot preload the library into it");
    return has_no_loader(bytes, n) &&
           print_reason(path, "is statically linked, so no library can be preloaded; link it to the shared libraries");
}

/* Finds the file that a word of the command names, if it is a program. */
static bool find_program(const char *word, char path[PATH_MAX], struct stat *status)
{
    return launch_find_command(word, path) && stat(path, status) == 0 && S_ISREG(status->st_mode) &&
           access(path, X_OK) == 0;
}

static bool look_at_file(const char *path, const struct stat *status)
{
    if (has_own_rights(path, status))
        return print_reason(
            path, "runs with rights of its owner (setuid, setgid or capabilities): the loader ignores LD_PRELOAD "
                  "for it; take a copy without");
    unsigned char *bytes = xmalloc(SCRIPT_BYTES + 1);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, bytes, SCRIPT_BYTES);
    bool found = false;
    if (n > 0) {
        bytes[n] = '\0';
        found = look_at_contents(path, bytes, (size_t)n);
    }
    if (file >= 0)
        close(file);
    free(bytes);
    return found;
}

size_t unrecorded_print(char *const *command)
{
    size_t n = 0;
    bool in_arguments = false; /* of the job's program, which are its own; ':' begins the next one */
    for (size_t i = 0; command[i] != NULL; i++) {
        char path[PATH_MAX];
        struct stat status;
        in_arguments = in_arguments && strcmp(command[i], ":") != 0;
        if (in_arguments)
            continue;
        n += look_at_word(command + i);
        if ((i == 0 && command[1] != NULL) || !find_program(command[i], path, &status))
            continue; /* of a launcher only what it starts is to be recorded */
        n += look_at_file(path, &status);
        in_arguments = strchr(command[i], '/') != NULL && strcmp(file_name(command[i]), "env") != 0;
    }
    return n;
}
