/* What is wrong with a file that should be an SQLite database, as far as its size and its header tell. */
#ifndef MPISTAIR_DATABASE_FILE_FAULT_H
#define MPISTAIR_DATABASE_FILE_FAULT_H

#include <stdbool.h>

enum file_state { FILE_SOUND, FILE_UNOPENED, FILE_FOLDER, FILE_EMPTY, FILE_CUT_OFF };

enum { FILE_FAULT_BYTES = 160 };

/* Returns the state of a file; of one that is not sound, text becomes what is wrong: "is empty", "cannot be opened: No
 * such file or directory", "is cut off: it has 10 of 20 bytes", ... */
enum file_state file_fault(const char *path, char text[FILE_FAULT_BYTES]);

#endif
