/* A program without MPI gets it from plugins, loaded RTLD_LOCAL as an interpreter loads its extension modules. host
 * RUNS PLUGIN... loads all PLUGINs and runs those of the numbers that RUNS has as its digits. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int (*run[10])(void) = {NULL};
    for (int i = 2; i < argc && i < 12; i++) {
        void *plugin = dlopen(argv[i], RTLD_LAZY | RTLD_LOCAL);
        if (plugin == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        *(void **)&run[i - 2] = dlsym(plugin, "run");
    }
    int status = 1;
    for (const char *digit = argv[1]; *digit >= '0' && *digit <= '9' && run[*digit - '0'] != NULL; digit++)
        status = run[*digit - '0']();
    return status;
}
