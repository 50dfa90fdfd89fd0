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
 * Numbers of ranges are hexadecimal, those of ticks decimal. The line with ! comes where looks would take more than a
 * small part of the job's time, or there were very many of them. */
#include "interpose/backend/site/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/backend/run/folder.h"
#include "interpose/backend/run/run.h"
#include "interpose/backend/site/module_look.h"
#include "interpose/spool/spool_file.h"
#include "share/base/one_of.h"

/* The text of the history, and its file, which grows with it. The file is there from the start and says at any time
 * what was known, as the process may be killed. It is made as a whole (folder.h); its end is added only to the very
 * file that was made. */
struct module_text {
    char *text; /* all of the file */
    size_t length, room;
    size_t written; /* bytes of it that are in the file */
    dev_t device;   /* of the file as it was made */
    ino_t inode;
    int is_cut;    /* a line could not be kept */
    int owes_loss; /* it has modules that went, of which the file says nothing */
};

#define LINE_BYTES ((size_t)PATH_MAX + 512)

/* Adds a line. */
static __attribute__((format(printf, 2, 3))) void module_text_add(struct module_text *text, const char *format, ...)
{
    va_list arguments;
    if (text->room - text->length < LINE_BYTES) {
        size_t room = 2 * text->room + 4 * LINE_BYTES;
        char *memory = realloc(text->text, room);
        if (!memory) {
            text->is_cut = 1;
            return;
        }
        text->text = memory;
        text->room = room;
    }
    va_start(arguments, format);
    int length = vsnprintf(text->text + text->length, LINE_BYTES, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < LINE_BYTES)
        text->length += (size_t)length;
    else
        text->is_cut = 1;
}

static int write_rest(const struct module_text *text, int out)
{
    for (size_t at = text->written; at < text->length;) {
        ssize_t length = write(out, text->text + at, text->length - at);
        if (length <= 0)
            return -1;
        at += (size_t)length;
    }
    return 0;
}

static int write_new(int out, const void *data)
{
    return write_rest(data, out);
}

/* Opens the file to add to it. Returns -1 if there is none, or another one than we made. */
static int open_file(const struct module_text *text, int folder, const char *name, int flags)
{
    struct stat status;
    int file = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 || text->inode == 0 ||
        (fstat(file, &status) == 0 && status.st_dev == text->device && status.st_ino == text->inode))
        return file;
    close(file);
    return -1;
}

static int add_end(const struct module_text *text, int folder, const char *name)
{
    struct file_limit limit;
    int file = open_file(text, folder, name, O_WRONLY | O_APPEND);
    if (file < 0)
        return -1;
    file_limit_begin(&limit);
    int result = write_rest(text, file);
    file_limit_end(&limit);
    return close(file) == 0 ? result : -1;
}

static int make_anew(struct module_text *text, const struct run *run, int folder, const char *name)
{
    struct stat status;
    text->written = 0;
    text->inode = 0;
    if (folder_write(run, run->maps, write_new, text) != 0)
        return -1;
    int file = open_file(text, folder, name, O_RDONLY);
    if (file >= 0 && fstat(file, &status) == 0) {
        text->device = status.st_dev;
        text->inode = status.st_ino;
    }
    if (file >= 0)
        close(file);
    return 0;
}

/* Brings run->maps up to the text: adds the end, or makes it anew where that fails. A file that would have calls stand
 * under modules that were gone is removed. */
static void module_text_write(struct module_text *text, const struct run *run)
{
    const char *name = strrchr(run->maps, '/');
    int folder = name && text->written < text->length ? folder_open(run) : -1, result = -1;
    if (folder < 0)
        return;
    if (text->written > 0 && text->inode != 0)
        result = add_end(text, folder, name + 1);
    if (result != 0)
        result = make_anew(text, run, folder, name + 1);
    if (result == 0 && !text->is_cut) {
        text->written = text->length;
        text->owes_loss = 0;
    } else if (text->owes_loss || text->is_cut) {
        text->written = 0;
        unlinkat(folder, name + 1, 0);
    }
    close(folder);
}

/* Looks may take so much of the process's time: a part of it, and some for a start. Where they were given up they
 * begin again with a quarter of that. */
#define COST_FREE_NS UINT64_C(250000000)
#define COST_PART    20
#define TEXT_BYTES   ((size_t)4 << 20) /* longer histories are not noted until the end */

uint32_t module_versions[MODULE_BLOCKS];

struct history {
    pthread_mutex_t lock; /* never held while the loader is asked */
    int is_open;
    int is_loose;            /* the last line is ! */
    struct module_look last; /* what was noted */
    uint64_t checked;        /* until then it was so */
    struct module_text text;
    struct run *run;
    uint64_t cost_ns, began_ns;
};

static struct history history = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Writes the name of a range's file: the kernel marks a file that has no name any more. */
static void name_file(char path[PATH_MAX + 64], const struct module_range *range)
{
    snprintf(path, PATH_MAX + 64, "%s", range->path);
    size_t length = ends_with(path, " (deleted)");
    if (length > 0 && access(path, F_OK) != 0)
        path[length] = '\0';
}

/* Returns whether the range belongs to the program itself, which the loader names first and never unloads. */
static int is_of_program(const struct module_look *look, const struct module_range *range)
{
    return look->n_objects > 0 && range->begin >= look->objects[0].begin && range->begin < look->objects[0].end;
}

/* Makes stacks through the range's addresses count as new ones from now on. */
static void count_version(const struct module_range *range)
{
    uint64_t first = range->begin >> 16, last = (range->end - 1) >> 16;
    for (uint64_t block = first; block <= last && block < first + MODULE_BLOCKS; block++)
        __atomic_add_fetch(&module_versions[block % MODULE_BLOCKS], 1, __ATOMIC_RELAXED);
}

/* Adds the line of a module that came. */
static void add_range(const struct module_look *look, const struct module_range *range, int memory)
{
    char path[PATH_MAX + 64], identity[256];
    name_file(path, range);
    module_identity(identity, sizeof identity, range, path, memory);
    module_text_add(&history.text, "%c %" PRIx64 " %" PRIx64 " %" PRIx64 " %s %s\n",
                    is_of_program(look, range) ? '*' : '+', range->begin, range->end, range->offset, identity, path);
}

static int is_same_range(const struct module_range *a, const struct module_range *b)
{
    int same_file = (a->device == b->device && a->inode == b->inode) || a->inode == 0 || b->inode == 0;
    return a->begin == b->begin && a->end == b->end && a->offset == b->offset && same_file;
}

static int is_uncertain(const struct module_look *look, size_t first, const struct module_range *range)
{
    for (size_t i = first; i < look->n_objects; i++)
        if (range->begin >= look->objects[i].begin && range->begin < look->objects[i].end)
            return 1;
    return 0;
}

/* Adds the lines of all ranges that went (comes 0), or of all that came (1), since the last look. Objects from index
 * `uncertain` on did both. Returns how many. */
static size_t add_ranges(const struct module_look *look, size_t uncertain, int memory, int comes)
{
    const struct module_look *last = &history.last;
    size_t n = 0;
    for (size_t i = 0, j = 0; i < last->n_ranges || j < look->n_ranges;) {
        const struct module_range *old = i < last->n_ranges ? &last->ranges[i] : NULL;
        const struct module_range *new = j < look->n_ranges ? &look->ranges[j] : NULL;
        int same = old && new ? is_same_range(old, new) : 0;
        int old_first = old && (same || !new || old->begin <= new->begin), new_first = new && (same || !old_first);
        i += (size_t)old_first;
        j += (size_t)new_first;
        if (same && !is_uncertain(look, uncertain, new)) {
            continue;
        } else if (comes && new_first && new->path) {
            add_range(look, new, memory);
            n++;
        } else if (!comes && old_first) {
            module_text_add(&history.text, "- %" PRIx64 "\n", old->begin);
            count_version(old);
            n++;
        }
    }
    return n;
}

/* Adds the paragraph of a look, if it has anything to say. */
static void add_changes(const struct module_look *look)
{
    size_t length = history.text.length, uncertain = module_first_uncertain(look, &history.last);
    int memory = module_memory_open(), hidden = uncertain < look->n_objects;
    module_text_add(&history.text, "%c %" PRIu64 " %" PRIu64 "\n", hidden ? '?' : '=', history.checked, look->ticks);
    size_t went = add_ranges(look, uncertain, memory, 0), came = add_ranges(look, uncertain, memory, 1);
    module_text_add(&history.text, ".\n");
    if (memory >= 0)
        close(memory);
    if (went + came == 0 && !hidden && !history.is_loose)
        history.text.length = length;
    else
        history.is_loose = 0;
    if (went > 0) {
        history.text.owes_loss = 1;
        if (recorder_thread) {
            recorder_thread->idle_end = NULL;
            recorder_thread->n_places = 0;
        }
    }
}

static uint64_t thread_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Stops noting changes, and says in the file from when on. */
static void let_loose(void)
{
    if (history.is_loose)
        return;
    history.is_loose = 1;
    module_text_add(&history.text, "! %" PRIu64 "\n", history.checked);
    module_text_write(&history.text, history.run);
}

/* Notes what a look has. One that is older than the last says nothing new. */
static void note(struct module_look *look)
{
    if (look->ticks <= history.checked)
        return;
    module_find_new(look, &history.last);
    add_changes(look);
    struct module_look last = history.last;
    history.last = *look;
    history.checked = look->ticks;
    *look = last;
    module_text_write(&history.text, history.run);
}

/* Takes a look, a whole one where that is asked for or needed, and notes it. */
static void look_and_note(int whole)
{
    struct module_look look = {0};
    uint64_t began_ns = thread_ns();
    int result = whole ? -1 : module_look_objects(&look);
    pthread_mutex_lock(&history.lock);
    if (result == 0 && look.ticks > history.checked)
        result = module_apply_changes(&look, &history.last);
    if (result != 0) {
        pthread_mutex_unlock(&history.lock); /* it is never held while the loader is asked */
        result = module_look(&look);
        pthread_mutex_lock(&history.lock);
    }
    if (result == 0)
        note(&look);
    else
        let_loose();
    history.cost_ns += thread_ns() - began_ns;
    pthread_mutex_unlock(&history.lock);
    module_look_release(&look);
}

void modules_open(struct run *run)
{
    history.run = run;
    history.began_ns = clock_monotonic_ns();
    look_and_note(1);
    if (history.text.written == 0)
        run->maps[0] = '\0';
    else
        run->made_maps = 1;
    __atomic_store_n(&history.is_open, history.text.written > 0, __ATOMIC_RELEASE);
}

/* Takes a look if anything changed. Returns whether it did. */
static int note_changes(void)
{
    if (!__atomic_load_n(&history.is_open, __ATOMIC_ACQUIRE) || recorder.pid != getpid())
        return 0;
    int saved_errno = errno, is_due;
    uint64_t ticks = now_ticks();
    struct module_generation generation = module_generation();
    pthread_mutex_lock(&history.lock);
    is_due = !generation_equal(generation, history.last.generation);
    if (!is_due && ticks > history.checked)
        history.checked = ticks;
    uint64_t allowed_ns = COST_FREE_NS + (clock_monotonic_ns() - history.began_ns) / COST_PART;
    allowed_ns -= history.is_loose ? COST_FREE_NS / 4 : 0;
    if (is_due && (history.cost_ns > allowed_ns || history.text.length > TEXT_BYTES)) {
        is_due = 0;
        let_loose();
    }
    pthread_mutex_unlock(&history.lock);
    if (is_due)
        look_and_note(0);
    errno = saved_errno;
    return is_due;
}

void modules_note(void)
{
    (void)note_changes();
}

/* Calls of MPI that look for a change after a dlclose; it may have unloaded nothing. */
#define AWAITED_CALLS 64
static int awaited_calls;

void modules_expect_change(void)
{
    modules_note();
    if (!__atomic_load_n(&history.is_open, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&awaited_calls, AWAITED_CALLS, __ATOMIC_SEQ_CST);
    __atomic_store_n(&recorder.window_ticks, 0, __ATOMIC_SEQ_CST);
}

int modules_are_awaited(void)
{
    return __atomic_load_n(&awaited_calls, __ATOMIC_SEQ_CST) > 0;
}

int modules_settle(void)
{
    if (!modules_are_awaited())
        return 0;
    int changed = note_changes();
    if (changed)
        __atomic_store_n(&awaited_calls, 0, __ATOMIC_SEQ_CST);
    else
        __atomic_sub_fetch(&awaited_calls, 1, __ATOMIC_SEQ_CST);
    return changed;
}

int modules_close(struct run *run)
{
    if (!__atomic_exchange_n(&history.is_open, 0, __ATOMIC_ACQ_REL))
        return run->made_maps ? 0 : -1;
    pthread_mutex_lock(&history.lock);
    history.text.written = 0; /* the file is written again from the start */
    pthread_mutex_unlock(&history.lock);
    look_and_note(1);
    return 0;
}
