/* SQLite takes a file that is empty or cut off for a database without tables or a damaged one. */
#include "interpose/database/file_fault.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Returns how many bytes an SQLite file has by its first 100 bytes (sqlite.org/fileformat2.html, 1.3): pages of a size,
 * 1 for 65536; 0 where the number of pages is not valid. */
static int64_t told_bytes(const unsigned char header[100])
{
    int64_t page_bytes = header[16] << 8 | header[17];
    bool is_valid = memcmp(header, "SQLite format 3", 16) == 0 && big_endian(header + 24) == big_endian(header + 92);
    return is_valid ? (page_bytes == 1 ? 65536 : page_bytes) * big_endian(header + 28) : 0;
}

enum file_state file_fault(const char *path, char text[FILE_FAULT_BYTES])
{
    struct stat status;
    text[0] = '\0';
    if (stat(path, &status) != 0 || (!S_ISDIR(status.st_mode) && access(path, R_OK) != 0)) {
        snprintf(text, FILE_FAULT_BYTES, "cannot be opened: %s", strerror(errno));
        return FILE_UNOPENED;
    }
    if (S_ISDIR(status.st_mode)) {
        snprintf(text, FILE_FAULT_BYTES, "is a folder");
        return FILE_FOLDER;
    }
    if (!S_ISREG(status.st_mode))
        return FILE_SOUND;
    if (status.st_size == 0) {
        snprintf(text, FILE_FAULT_BYTES, "is empty");
        return FILE_EMPTY;
    }
    unsigned char header[100];
    FILE *stream = fopen(path, "re");
    bool is_read = stream != NULL && fread(header, 1, sizeof header, stream) == sizeof header;
    if (stream != NULL)
        fclose(stream);
    if (!is_read || told_bytes(header) <= status.st_size)
        return FILE_SOUND;
    snprintf(text, FILE_FAULT_BYTES, "is cut off: it has %lld of %lld bytes", (long long)status.st_size,
             (long long)told_bytes(header));
    return FILE_CUT_OFF;
}
