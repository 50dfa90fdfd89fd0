/* The level of a message: how far it goes. */
#ifndef MPISTAIR_BASE_LEVEL_H
#define MPISTAIR_BASE_LEVEL_H

enum level {
    LEVEL_SELF = 0,
    LEVEL_INTRA_SOCKET,
    LEVEL_INTER_SOCKET,
    LEVEL_INTER_NODE,
    LEVEL_COUNT,
};
extern const char *const level_name[LEVEL_COUNT];

/* Turns a name into its level, `any` into LEVEL_COUNT. Returns 0, or -1 if there is no such level. */
int level_parse(const char *name, enum level *level);
/* Returns the name, `any` for LEVEL_COUNT. */
const char *level_text(enum level level);

#endif
