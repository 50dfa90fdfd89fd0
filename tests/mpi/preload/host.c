/* A program without MPI that gets it from plugins, loaded RTLD_LOCAL as an interpreter loads its extension modules.
 * host RUN PLUGIN...: loads all PLUGINs and runs that of number RUN (0, 1, ...). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int (*run)(void) = NULL;
    for (int i = 2; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (plugin == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        if (i - 2 == atoi(argv[1]))
            *(void **)&run = dlsym(plugin, "run");
    }
    return run != NULL ? run() : 1;
}
