#include "command.h"
#include "error.h"

int cmd_ingest(int argc, char **argv)
{
    (void)argc;
    return fail("%s: to come", argv[0]);
}
