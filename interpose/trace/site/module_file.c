/* A program may be built anew between its run and ingest, and the same offsets then are other lines. The build id tells
 * that; it survives what leaves the code as it is, such as strip. A file without one must be unchanged: its length, its
 * time of change and, where both were seen on one file system, its inode. */
#include "interpose/trace/site/module_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"

__attribute__((format(printf, 2, 3))) static bool refuse(struct trace_module *module, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (module->reason == NULL && vasprintf(&module->reason, format, arguments) < 0)
        no_memory(0);
    va_end(arguments);
    return false;
}

static bool has_status(const struct module_identity *ran, const struct stat *status)
{
    uint64_t mtime_ns = (uint64_t)status->st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)status->st_mtim.tv_nsec;
    return ran->size == (uint64_t)status->st_size && ran->mtime_ns == mtime_ns &&
           (ran->device != (uint64_t)status->st_dev || ran->inode == (uint64_t)status->st_ino);
}

bool module_file_is(struct trace_module *module, const struct stat *status, const char *build_id)
{
    switch (module->identity.evidence) {
    case MODULE_TRUSTED:
        if (module->build_id == NULL && build_id != NULL)
            module->build_id = xstrdup(build_id);
        return true;
    case MODULE_BUILD_ID:
        if (build_id == NULL)
            return refuse(module, "its file was replaced since: it has no build id now, what ran had %s",
                          module->build_id);
        return strcmp(build_id, module->build_id) == 0 ||
               refuse(module, "its file was replaced since: it has build id %s now, what ran had %s", build_id,
                      module->build_id);
    case MODULE_STATUS:
        return has_status(&module->identity, status) ||
               refuse(module, "its file was changed since, and it had no build id by which to know the lines again");
    case MODULE_DELETED:
        return refuse(module, "its file was replaced or deleted while it ran, and it had no build id");
    default:
        return refuse(module, "the job could not see its file, and it had no build id");
    }
}

void module_file_is_missing(struct trace_module *module, int error)
{
    refuse(module, "its file cannot be read here: %s", strerror(error));
}
