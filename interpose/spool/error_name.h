/* The names of errors for which a system refuses room for a spool. The C library has such names only since glibc
 * 2.32, and its texts differ by language. */
#ifndef MPISTAIR_SPOOL_ERROR_NAME_H
#define MPISTAIR_SPOOL_ERROR_NAME_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes the name of an errno value, as EPERM, or its number where it has none here. */
static inline void error_name(char *name, size_t size, uint32_t error)
{
    static const struct {
        uint32_t error;
        const char *name;
    } names[] = {{EPERM, "EPERM"},   {EACCES, "EACCES"}, {EDQUOT, "EDQUOT"},         {EROFS, "EROFS"},
                 {EIO, "EIO"},       {ESTALE, "ESTALE"}, {EOPNOTSUPP, "EOPNOTSUPP"}, {ENOSYS, "ENOSYS"},
                 {EINVAL, "EINVAL"}, {ENODEV, "ENODEV"}, {ENXIO, "ENXIO"},           {EFAULT, "EFAULT"},
                 {EAGAIN, "EAGAIN"}, {ENFILE, "ENFILE"}, {ESPIPE, "ESPIPE"},         {EHWPOISON, "EHWPOISON"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].error == error) {
            snprintf(name, size, "%s", names[i].name);
            return;
        }
    snprintf(name, size, "%u", error);
}

#endif
