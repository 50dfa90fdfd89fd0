/* A trace while it is made: nobody sees it before it is whole. */
#ifndef MPISTAIR_DATABASE_NEW_DATABASE_H
#define MPISTAIR_DATABASE_NEW_DATABASE_H

#include "share/base/error.h"

#define NEW_DATABASE_PRAGMAS                                                                                           \
    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-8192;"

/* Returns the whole schema for free(); NULL with the reason. */
char *new_database_schema(struct error *error);

#endif
