/* A tool of OMPT that somebody preloads: it writes how many parallel regions there were to standard error. */
#include <stdio.h>

typedef void (*look_up_function)(void);

static int regions;

static void on_begin(void *task, const void *frame, void *data, unsigned requested, int flags, const void *code)
{
    (void)task, (void)frame, (void)data, (void)requested, (void)flags, (void)code;
    regions++;
}

static int tool_begin(look_up_function (*look_up)(const char *name), int device, void *tool)
{
    (void)device, (void)tool;
    ((int (*)(int, look_up_function))look_up("ompt_set_callback"))(3, (look_up_function)on_begin);
    return 1;
}

static void tool_end(void *tool)
{
    (void)tool;
    fprintf(stderr, "the tool saw %d regions\n", regions);
}

extern void *ompt_start_tool(unsigned version, const char *runtime);
void *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct {
        int (*begin)(look_up_function (*)(const char *), int, void *);
        void (*end)(void *);
        void *data;
    } own = {tool_begin, tool_end, NULL};
    (void)version, (void)runtime;
    return &own;
}
