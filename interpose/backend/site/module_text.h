/* Holds the text of a process's history of modules (modules.h), and its file, which grows with it. */
#ifndef MPISTAIR_BACKEND_MODULE_TEXT_H
#define MPISTAIR_BACKEND_MODULE_TEXT_H

#include <stddef.h>

#include "interpose/backend/run/run_facts.h"

struct module_text {
    char *text; /* all of the file */
    size_t length, room;
    size_t written; /* bytes of it that are in the file */
    dev_t device;   /* of the file as it was made */
    ino_t inode;
    int is_cut;    /* a line could not be kept */
    int owes_loss; /* it has modules that went, of which the file says nothing */
};

/* Adds a line. */
__attribute__((format(printf, 2, 3))) void module_text_add(struct module_text *text, const char *format, ...);

/* Brings run->maps up to the text: adds the end, or makes it anew where that fails. A file that would have calls stand
 * under modules that were gone is removed. */
void module_text_write(struct module_text *text, const struct run *run);

#endif
