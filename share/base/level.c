/* The names of levels are those of the columns and tables that mpistair reads and writes. */
#include "share/base/level.h"

#include <string.h>

const char *const level_name[LEVEL_COUNT] = {"self", "intra_socket", "inter_socket", "inter_node"};

int level_parse(const char *name, enum level *level)
{
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(name, level_name[i]) == 0) {
            *level = (enum level)i;
            return 0;
        }
    }
    if (strcmp(name, "any") != 0)
        return -1;
    *level = LEVEL_COUNT;
    return 0;
}

const char *level_text(enum level level)
{
    return level < LEVEL_COUNT ? level_name[level] : "any";
}
