/* Writes an archive, which is a folder, so that a complete one replaces an older one of mpistair, and nothing else. */
#ifndef MPISTAIR_EXPORT_OTF2_FOLDER_H
#define MPISTAIR_EXPORT_OTF2_FOLDER_H

#include "share/base/error.h"

/* The creator in the anchor file of archives that mpistair wrote. */
#define OTF2_FOLDER_CREATOR "mpistair export"

struct otf2_folder {
    char *path, *temporary;
};

/* Makes an empty folder beside path, where the archive is written. Refuses what is at path unless it is nothing, an
 * empty folder, or an archive that mpistair wrote, with nothing else in it. Returns 0, or -1 with the reason. */
int otf2_folder_make(struct otf2_folder *folder, const char *path, struct error *error);
/* Puts it in the place of what is at path, which is removed. Returns 0, or -1 with the reason and path as it was. The
 * folder is released either way. */
int otf2_folder_commit(struct otf2_folder *folder, struct error *error);
/* Removes what was written. */
void otf2_folder_discard(struct otf2_folder *folder);

#endif
