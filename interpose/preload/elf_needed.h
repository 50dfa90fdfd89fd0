/* Reads what a program or shared object needs and defines without loading it. */
#ifndef MPISTAIR_PRELOAD_ELF_NEEDED_H
#define MPISTAIR_PRELOAD_ELF_NEEDED_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the first needed library whose name begins with `prefix` into name[size]. Returns 1 if there is one, 0 if
 * there is none, -1 if the file cannot be read or is no shared object of this machine's word size. */
int elf_needed(const char *path, const char *prefix, char *name, size_t size);

/* Says whether the file's own symbol table, which a stripped one lacks, defines a symbol of that name. */
bool elf_defines(const char *path, const char *name);

#endif
