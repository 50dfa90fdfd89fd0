#include "command.h"
#include "error.h"

int cmd_calibrate(int argc, char **argv)
{
    (void)argc;
    return fail("%s: to come", argv[0]);
}
