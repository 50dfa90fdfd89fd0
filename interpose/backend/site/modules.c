/* An address says which file was called from only together with a time. Two looks at the process bound what happened
 * between them: a module that only one of them has came or went in that time. The tighter the two looks, the fewer
 * calls lie between them; around dlclose they lie right before and after it, so that no call can be taken for one of
 * the module that comes next. What the loader unloads on other ways (its own modules, a dlclose that another library
 * calls past us) shows in its generation, at the next look.
 *
 * Each look adds a paragraph to the file:
 *
 *     = CHECKED TICKS        what follows happened after CHECKED and was so at TICKS
 *     ? CHECKED TICKS        the same, and modules may have come and gone between, unseen
 *     - BEGIN                the module at BEGIN went
 *     + BEGIN END OFFSET IDENTITY PATH     this one came
 *     * BEGIN END OFFSET IDENTITY PATH     the same, and it stays to the end
 *     .                      ends the paragraph
 *     ! CHECKED              changes from here on are not noted until the next look
 *
 * Numbers of ranges are hexadecimal, those of ticks decimal. The last line is the one of a job that makes looks for more
 * than a small part of its time, or very many of them. */
#include "interpose/backend/site/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interpose/backend/process/folder.h"
#include "interpose/backend/process/run.h"
#include "interpose/backend/recorder/recorder.h"
#include "interpose/backend/recorder/sum.h"
#include "interpose/backend/site/module_identity.h"
#include "interpose/backend/site/module_look.h"
#include "interpose/spool/file_limit.h"

/* Looks may take so much of the process's time. */
#define COST_FREE_NS UINT64_C(250000000)
#define COST_PART    64
#define TEXT_BYTES   ((size_t)4 << 20) /* longer histories are not noted until the end */
#define LINE_BYTES   (PATH_MAX + 512)

uint32_t module_versions[MODULE_BLOCKS];

struct history {
    pthread_mutex_t lock; /* never held while the loader is asked */
    int is_open;
    int is_loose;                /* the last line is ! */
    struct module_look last;     /* what was noted */
    uint64_t checked;            /* until then it was so */
    struct module_range *former; /* [n_former] ranges that nothing has now, with the last that had them */
    size_t n_former, former_room;
    char *text; /* all of the file */
    size_t length, room, written;
    int has_lost_text; /* it could not be kept */
    int owes_loss;     /* it has modules that went, which the file has not */
    uint64_t cost_ns, began_ns;
};

static struct history history = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((format(printf, 1, 2))) static void add_text(const char *format, ...)
{
    va_list arguments;
    if (history.room - history.length < LINE_BYTES) {
        size_t room = 2 * history.room + 4 * LINE_BYTES;
        char *text = realloc(history.text, room);
        if (!text) {
            history.has_lost_text = 1;
            return;
        }
        history.text = text;
        history.room = room;
    }
    va_start(arguments, format);
    int length = vsnprintf(history.text + history.length, LINE_BYTES, format, arguments);
    va_end(arguments);
    if (length > 0 && length < LINE_BYTES)
        history.length += (size_t)length;
    else
        history.has_lost_text = 1;
}

/* Writes the name of a range's file: the kernel marks a file that has no name any more. */
static void name_file(char path[PATH_MAX + 64], const struct module_range *range)
{
    static const char mark[] = " (deleted)";
    snprintf(path, PATH_MAX + 64, "%s", range->path);
    size_t length = strlen(path);
    if (length > strlen(mark) && strcmp(path + length - strlen(mark), mark) == 0 && access(path, F_OK) != 0)
        path[length - strlen(mark)] = '\0';
}

/* Says whether the range belongs to the program itself, which the loader names first and never unloads. */
static int is_of_program(const struct module_look *look, const struct module_range *range)
{
    return look->n_objects > 0 && range->begin >= look->objects[0].begin && range->begin < look->objects[0].end;
}

static void count_version(const struct module_range *range)
{
    uint64_t first = range->begin >> 16, last = (range->end - 1) >> 16;
    for (uint64_t block = first; block <= last && block < first + MODULE_BLOCKS; block++)
        __atomic_add_fetch(&module_versions[block % MODULE_BLOCKS], 1, __ATOMIC_RELAXED);
}

/* Notes that the range is free now. */
static void add_former(const struct module_range *range)
{
    if (module_make_room(&history.former, &history.former_room, history.n_former + 1, sizeof *history.former) == 0)
        history.former[history.n_former++] = *range;
    else
        count_version(range);
}

/* Removes what lay before where the range lies now; its addresses stand for other code unless it is the same again. */
static void replace_former(const struct module_range *range)
{
    size_t kept = 0;
    for (size_t i = 0; i < history.n_former; i++) {
        const struct module_range *former = &history.former[i];
        if (former->end <= range->begin || former->begin >= range->end)
            history.former[kept++] = *former;
        else if (former->begin != range->begin || former->identity != range->identity)
            count_version(range);
    }
    history.n_former = kept;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Adds the line of a module that came, and ends what is known of others at its addresses. */
static void add_range(const struct module_look *look, struct module_range *range, int memory)
{
    char path[PATH_MAX + 64], identity[256];
    name_file(path, range);
    module_identity(identity, sizeof identity, range, path, memory);
    range->identity = hash_text(hash_text(UINT64_C(0xcbf29ce484222325) ^ range->offset, identity), path);
    replace_former(range);
    add_text("%c %" PRIx64 " %" PRIx64 " %" PRIx64 " %s %s\n", is_of_program(look, range) ? '*' : '+', range->begin,
             range->end, range->offset, identity, path);
}

static int is_same_range(const struct module_range *a, const struct module_range *b)
{
    return a->begin == b->begin && a->end == b->end && a->offset == b->offset && a->device == b->device &&
           a->inode == b->inode;
}

static int is_same_object(const struct module_object *a, const struct module_object *b)
{
    return a->begin == b->begin && a->end == b->end && a->headers == b->headers;
}

/* Returns how many objects the last look had not. Most stand in the same order in both. */
static size_t count_new(const struct module_look *look)
{
    const struct module_look *last = &history.last;
    size_t n = 0, from = 0;
    for (size_t i = 0; i < look->n_objects; i++) {
        size_t j = from, seen = 0;
        for (; seen < last->n_objects && !is_same_object(&look->objects[i], &last->objects[j % last->n_objects]);
             seen++)
            j++;
        if (seen == last->n_objects)
            n++;
        else
            from = j + 1;
    }
    return n;
}

/* Returns the index from which on objects may have been loaded since the last look although it had them: where more
 * was loaded than is new, something was unloaded in between, and what is loaded stands at the end of the list. */
static size_t first_uncertain(const struct module_look *look)
{
    struct module_generation now = look->generation, then = history.last.generation;
    uint64_t loads = now.adds - then.adds;
    int only_loads = now.subs == then.subs || history.last.n_objects == 0;
    if (only_loads || loads <= count_new(look))
        return look->n_objects;
    return loads < look->n_objects ? look->n_objects - loads : 1;
}

static int is_uncertain(const struct module_look *look, size_t first, const struct module_range *range)
{
    for (size_t i = first; i < look->n_objects; i++)
        if (range->begin >= look->objects[i].begin && range->begin < look->objects[i].end)
            return 1;
    return 0;
}

/* Adds the paragraph of a look, if it has anything to say. */
static void add_changes(struct module_look *look)
{
    const struct module_look *last = &history.last;
    size_t length = history.length, from = first_uncertain(look), changes = 0;
    int memory = module_memory_open(), hidden = from < look->n_objects, went = 0;
    add_text("%c %" PRIu64 " %" PRIu64 "\n", hidden ? '?' : '=', history.checked, look->ticks);
    for (size_t i = 0, j = 0; i < last->n_ranges || j < look->n_ranges;) {
        const struct module_range *old = i < last->n_ranges ? &last->ranges[i] : NULL;
        struct module_range *new = j < look->n_ranges ? &look->ranges[j] : NULL;
        int same = old && new &&is_same_range(old, new);
        int goes = old && (same || !new || old->begin <= new->begin), comes = new && (same || !goes);
        i += (size_t)goes;
        j += (size_t)comes;
        if (same && !is_uncertain(look, from, new)) {
            new->identity = old->identity;
            continue;
        }
        changes++;
        if (goes) {
            add_text("- %" PRIx64 "\n", old->begin);
            add_former(old);
            went = 1;
        }
        if (comes)
            add_range(look, new, memory);
    }
    if (memory >= 0)
        close(memory);
    add_text(".\n");
    if (changes == 0 && !hidden && !history.is_loose)
        history.length = length;
    else
        history.is_loose = 0;
    if (went) {
        history.owes_loss = 1;
        sum_end_all();
        if (recorder_thread)
            recorder_thread->n_idle = 0;
    }
}

static int write_all(int out, const void *data)
{
    const struct history *from = data;
    for (size_t at = from->written; at < from->length;) {
        ssize_t length = write(out, from->text + at, from->length - at);
        if (length <= 0)
            return -1;
        at += (size_t)length;
    }
    return 0;
}

/* Removes a file that would have calls stand under modules that were gone. */
static void remove_file(const struct run *run, const char *name)
{
    int folder = folder_open(run);
    if (folder >= 0) {
        unlinkat(folder, name, 0);
        close(folder);
    }
}

/* Brings the file up to the text: adds the end, or makes it anew where that fails. */
static int write_text(struct run *run)
{
    struct file_limit limit;
    const char *name = strrchr(run->maps, '/');
    int result = -1;
    if (!name || history.written == history.length)
        return name ? 0 : -1;
    int folder = history.written > 0 ? folder_open(run) : -1;
    int out = folder < 0 ? -1 : openat(folder, name + 1, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    if (out >= 0) {
        file_limit_begin(&limit);
        result = write_all(out, &history);
        file_limit_end(&limit);
        close(out);
    }
    if (folder >= 0)
        close(folder);
    if (result != 0) {
        history.written = 0;
        result = folder_write(run, run->maps, write_all, &history);
    }
    if (result == 0 && !history.has_lost_text) {
        history.written = history.length;
        history.owes_loss = 0;
    } else if (history.owes_loss || history.has_lost_text) {
        history.written = 0;
        remove_file(run, name + 1);
    }
    return result;
}

static uint64_t thread_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Says that what happens now is not noted; the file tells it. */
static void let_loose(void)
{
    if (history.is_loose)
        return;
    history.is_loose = 1;
    add_text("! %" PRIu64 "\n", history.checked);
    write_text(&recorder_run);
}

/* Takes a look and notes what it has. A look that is older than the last one says nothing new. */
static void look_and_note(void)
{
    struct module_look look = {0};
    uint64_t began_ns = thread_ns();
    int result = module_look(&look);
    pthread_mutex_lock(&history.lock);
    if (result == 0 && look.ticks > history.checked) {
        add_changes(&look);
        struct module_look last = history.last;
        history.last = look;
        history.checked = look.ticks;
        look = last;
        write_text(&recorder_run);
    } else if (result != 0) {
        let_loose();
    }
    history.cost_ns += thread_ns() - began_ns;
    pthread_mutex_unlock(&history.lock);
    module_look_release(&look);
}

void modules_open(struct run *run)
{
    (void)run;
    history.began_ns = clock_monotonic_ns();
    look_and_note();
    if (history.written == 0)
        recorder_run.maps[0] = '\0';
    else
        recorder_run.made_maps = 1;
    __atomic_store_n(&history.is_open, history.written > 0, __ATOMIC_RELEASE);
}

void modules_note(void)
{
    if (!__atomic_load_n(&history.is_open, __ATOMIC_ACQUIRE) || recorder.pid != getpid())
        return;
    int saved_errno = errno, is_due;
    uint64_t ticks = clock_ticks(recorder.clock_source);
    struct module_generation generation = module_generation();
    pthread_mutex_lock(&history.lock);
    is_due = !generation_equal(generation, history.last.generation);
    if (!is_due && ticks > history.checked)
        history.checked = ticks;
    uint64_t allowed_ns = COST_FREE_NS + (clock_monotonic_ns() - history.began_ns) / COST_PART;
    if (is_due && (history.cost_ns > allowed_ns || history.length > TEXT_BYTES)) {
        is_due = 0;
        let_loose();
    }
    pthread_mutex_unlock(&history.lock);
    if (is_due)
        look_and_note();
    errno = saved_errno;
}

int modules_close(struct run *run)
{
    if (!__atomic_exchange_n(&history.is_open, 0, __ATOMIC_ACQ_REL))
        return run->made_maps ? 0 : -1;
    look_and_note();
    return 0;
}
