/* Words the errors about options once, so that all commands refuse a wrong one in the same way. */
#include "share/base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "share/base/error.h"

size_t option_choice(const char *command, const char *option, const char *value, const char *const *names, size_t n)
{
    char list[256] = "";
    for (size_t i = 0; i < n; i++) {
        if (strcmp(value, names[i]) == 0)
            return i;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", names[i]);
    }
    wrong_usage(command, "%s %s: expected %s", option, value, list);
    return n;
}

int option_refused(const char *command, int option, char **argv)
{
    return wrong_usage(command, "%s: %s", argv[optind - 1],
                       option == ':' ? "a value is missing" : "not an option of this command");
}
