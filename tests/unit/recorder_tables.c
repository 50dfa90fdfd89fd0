/* Random programs of operations on the recorder's tables of handles, against plain arrays: request_table.h, on which
 * the completion of every request stands, handle_table.h below it, and handle_table.h of messages and windows. Handles
 * are few and used again and again, as MPIs do; half collide. Then threads go at the tables without locks: what they
 * put in is what they and the rest take out. Runs under ThreadSanitizer, or under the sanitizers of the build. */
#include <pthread.h>
#include <stdlib.h>

#include "interpose/backend/table/handle_table.h"
#include "interpose/backend/table/pending.h"
#include "interpose/backend/table/request_table.h"
#include "tests/unit/random_programs.h"

#define HANDLES 1600 /* so many that the table makes a second and a third segment: the first takes 512 */
#define STEPS   6000
#define THREADS 4

static uint64_t handles[HANDLES];

/* Finds the handles: every second one collides with all others of those, in the first segments. */
static void make_handles(void)
{
    uint64_t next = 0;
    for (size_t i = 0; i < HANDLES; i++) {
        do
            handles[i] = next++;
        while (i % 2 == 0 && (handle_hash(handles[i]) & 127) != 0);
    }
}

/* A value to put in: not NULL, and different each time. */
static void *fresh_value(void)
{
    static uintptr_t last;
    return (void *)(last += 8);
}

static void use_handle_table(struct random_program *program)
{
    static struct handle_table table; /* a table lives as long as its process */
    void *values[HANDLES] = {NULL};
    bool known[HANDLES] = {false};
    random_expect(program, handle_table_init(&table) == 0, "no table");
    for (program->step = 0; program->step < STEPS && !program->different; program->step++) {
        unsigned i = random_choice(program, HANDLES), what = random_choice(program, 3);
        struct handle_slot *slot =
            what == 0 ? handle_table_add(&table, handles[i]) : handle_table_find(&table, handles[i]);
        known[i] = known[i] || what == 0;
        random_expect(program, (slot != NULL) == known[i], "a handle was lost or invented");
        random_expect(program, !slot || slot->value == values[i], "another value");
        if (slot && what == 0)
            slot->value = values[i] = fresh_value();
        if (slot && values[i] && what == 1) {
            if (!random_drops(program))
                slot->value = NULL;
            values[i] = NULL;
        }
    }
    for (size_t i = 0; i < HANDLES; i++) {
        struct handle_slot *slot = handle_table_find(&table, handles[i]);
        random_expect(program, slot ? known[i] && slot->value == values[i] : !known[i], "another table in the end");
        random_expect(program, !slot || !handle_table_next(&table, slot, handles[i]), "a handle has two slots");
    }
}

/* Of a handle the array keeps a value in front, and those that were put while there was one, in order. */
#define WAITING 64
struct live_model {
    void *front, *waiting[WAITING];
    size_t n_waiting;
};

static void *live_model_take(struct live_model *model)
{
    void *value = model->front ? model->front : model->n_waiting > 0 ? model->waiting[0] : NULL;
    if (!model->front && value) {
        for (size_t i = 1; i < model->n_waiting; i++)
            model->waiting[i - 1] = model->waiting[i];
        model->n_waiting--;
    }
    model->front = NULL;
    return value;
}

static void use_live_table(struct random_program *program)
{
    enum { FEW = 12 };
    static struct live_model models[FEW];
    static struct live_table table = LIVE_TABLE_INITIALIZER; /* as long as its process */
    for (program->step = 0; program->step < STEPS && !program->different; program->step++) {
        unsigned i = random_choice(program, FEW), what = random_choice(program, 3);
        struct live_model *model = &models[i];
        if (what == 0 && model->n_waiting < WAITING) {
            void *value = fresh_value();
            random_expect(program, live_table_put(&table, handles[i], value) == 0, "a value was not put in");
            if (!model->front)
                model->front = value;
            else
                model->waiting[model->n_waiting++] = value;
        } else if (what == 1) {
            void *expected = model->front ? model->front : model->n_waiting > 0 ? model->waiting[0] : NULL;
            random_expect(program, live_table_get(&table, handles[i]) == expected, "get gives another value");
        } else if (what == 2) {
            void *expected = live_model_take(model);
            if (!expected || !random_drops(program))
                random_expect(program, live_table_take(&table, handles[i]) == expected, "take gives another value");
        }
    }
    for (size_t i = 0; i < FEW; i++)
        for (void *expected = &table; expected;) {
            expected = live_model_take(&models[i]);
            random_expect(program, live_table_take(&table, handles[i]) == expected, "another table in the end");
        }
    free(table.more);
}

/* What is posted. A program posts at most one at each step. */
static struct posted {
    struct pending_callback pending;
    int owner; /* whose queue it is in, where its handle is shared */
} posted[STEPS + 1];
static size_t n_posted, n_abandoned, n_expected; /* how many the table gave up, and should have */

static void note_abandoned(struct pending_callback *self, struct recorder_thread *thread, int ok, uint64_t ticks)
{
    (void)self, (void)thread, (void)ok, (void)ticks;
    n_abandoned++;
}

static struct posted *post_new(int thread)
{
    posted[n_posted] = (struct posted){{PENDING_CALLBACK, note_abandoned}, thread};
    return &posted[n_posted++];
}

/* What the array knows of a handle. Of a handle that MPI gives to many, all that is complete at once, any number lives;
 * of others one, or a persistent request. */
#define REQUESTS     60 /* handles */
#define AT_ONCE      20 /* of them, those of requests that are complete at once: more than can be told apart */
#define LIVE_AT_MOST 100
struct request_model {
    struct posted *live[LIVE_AT_MOST]; /* in order of their posts */
    size_t n_live;
    bool is_shared;
    struct persistent *persistent;
};

static int request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    (void)status;
    uint64_t handle = HANDLE_KEY(request);
    *flag = 0;
    for (size_t i = 0; i < AT_ONCE; i++)
        *flag = *flag || handles[i] == handle;
    return MPI_SUCCESS;
}

/* The one that a thread takes: the newest of its own, else the oldest. Removes it. */
static struct posted *request_model_take(struct request_model *model, int thread)
{
    size_t i = 0;
    if (model->n_live == 0)
        return NULL;
    for (size_t j = 0; j < model->n_live; j++)
        if (model->live[j]->owner == thread)
            i = j;
    struct posted *taken = model->live[i];
    for (model->n_live--; i < model->n_live; i++)
        model->live[i] = model->live[i + 1];
    return taken;
}

/* The table gives up what lives behind a handle: its end was not seen. */
static void request_model_abandon(struct request_model *model)
{
    n_expected += model->n_live;
    model->n_live = 0;
}

/* Holds the threads of a program, which runs as one: what they do comes in a known order. */
static struct recorder_thread threads[2];
static int n_shared;

static void post_request(struct request_model *model, size_t i, int thread)
{
    if (model->n_live == LIVE_AT_MOST)
        return;
    struct posted *newest = post_new(thread);
    request_table_add(&threads[thread], handles[i], newest);
    if (model->persistent) { /* it was freed unseen; persistent_free frees what the program knows of it */
        model->persistent = NULL;
        request_model_abandon(model);
    } else if (i < AT_ONCE && !model->is_shared && model->n_live == 1 && n_shared < (int)SHARED_HANDLES) {
        model->is_shared = true;
        model->live[0]->owner = thread; /* who finds out has both */
        n_shared++;
    }
    if (!model->is_shared)
        request_model_abandon(model);
    model->live[model->n_live++] = newest;
}

static void start_persistent(struct random_program *program, struct request_model *model, size_t i, int thread)
{
    if (!model->persistent) {
        struct persistent *persistent = calloc(1, sizeof *persistent);
        if (!persistent)
            exit(2);
        request_table_add_persistent(&threads[thread], handles[i], persistent);
        request_model_abandon(model);
        model->persistent = persistent;
    }
    random_expect(program, request_table_persistent(handles[i]) == model->persistent, "another persistent request");
    if (model->n_live > 0 || !model->persistent)
        return;
    random_expect(program, !model->persistent->active, "the last start is still active");
    model->persistent->active = model->live[model->n_live++] = post_new(thread);
}

static void free_persistent(struct random_program *program, struct request_model *model, size_t i, int thread)
{
    struct persistent *persistent = request_table_take_persistent(handles[i]);
    random_expect(program, persistent == model->persistent, "another persistent request is taken out");
    if (persistent) {
        persistent_free(persistent, &threads[thread]);
        request_model_abandon(model);
    }
    model->persistent = NULL;
}

/* A completion call: takes out what the handle stands for, before MPI's call where several threads call MPI. */
static void complete_request(struct random_program *program, struct request_model *model, size_t i, int thread)
{
    struct posted *expected = request_model_take(model, thread), *taken;
    if (expected && random_drops(program))
        return;
    if (recorder.multiple) {
        void *value = request_table_take_before(handles[i]);
        taken = value ? request_table_claim(&threads[thread], value) : NULL;
    } else {
        taken = request_table_take(&threads[thread], handles[i]);
    }
    random_expect(program, taken == expected, "take gives another operation");
}

/* A completion call that completes nothing, while another thread posts under the same handle. */
static void put_back(struct random_program *program, struct request_model *model, size_t i, int thread)
{
    void *value = request_table_take_before(handles[i]);
    bool is_alone = value && !((uintptr_t)value & REQUEST_TAGS);
    random_expect(program, is_alone == (model->n_live == 1 && !model->is_shared && !model->persistent),
                  "another kind of request is taken before the call");
    if (is_alone && i < AT_ONCE && n_shared < (int)SHARED_HANDLES && random_choice(program, 2) == 0) {
        struct posted *older = model->live[0];
        model->n_live = 0;
        post_request(model, i, 1 - thread);
        request_table_put_back(&threads[thread], handles[i], value);
        model->live[1] = model->live[0];
        model->live[0] = older;
        model->n_live = 2;
        model->is_shared = true;
        n_shared++;
        model->live[0]->owner = model->live[1]->owner = thread;
    } else if (value) {
        request_table_put_back(&threads[thread], handles[i], value);
    }
}

static void peek(struct random_program *program, struct request_model *model, size_t i, int thread)
{
    struct posted *expected = NULL;
    for (size_t j = 0; j < model->n_live; j++)
        if (!model->is_shared || (!recorder.multiple && model->live[j]->owner == thread))
            expected = model->live[j];
    random_expect(program, request_table_peek(&threads[thread], handles[i]) == expected,
                  "peek gives another operation");
}

static void use_request_table(struct random_program *program)
{
    static struct request_model models[REQUESTS];
    static mpistair_code *functions[FN_COUNT];
    static const struct mpistair_host host = {.n_functions = FN_COUNT, .next = functions, .pnext = functions};
    functions[FN_Request_get_status] = (mpistair_code *)request_get_status;
    recorder.host = &host;
    recorder.multiple = (int)random_choice(program, 2);
    random_expect(program, request_table_init() == 0, "no table");
    for (program->step = 0; program->step < STEPS && !program->different; program->step++) {
        unsigned i = random_choice(program, REQUESTS), what = random_choice(program, 8);
        int thread = (int)random_choice(program, 2);
        struct request_model *model = &models[i];
        if (what < 3)
            post_request(model, i, thread);
        else if (what < 5)
            complete_request(program, model, i, thread);
        else if (what == 5)
            peek(program, model, i, thread);
        else if (what == 6 && recorder.multiple)
            put_back(program, model, i, thread);
        else if (i >= AT_ONCE && random_choice(program, 3) > 0)
            start_persistent(program, model, i, thread);
        else if (i >= AT_ONCE)
            free_persistent(program, model, i, thread);
        random_expect(program, n_abandoned == n_expected, "an operation was given up, or not, whose handle came back");
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        free_persistent(program, &models[i], i, 0);
        for (size_t left = models[i].n_live + 1; left > 0; left--) /* once more than there are */
            complete_request(program, &models[i], i, 0);
    }
    shared_queue_release(&threads[0]);
    shared_queue_release(&threads[1]);
}

/* What a thread of the next two does, and the sums of what it put in and took out. */
struct worker {
    struct random_program program;
    struct handle_table *handles;
    struct live_table *live;
    uint64_t put, taken;
};

/* Takes a value out of any slot of the handle; 0: there is none. */
static uint64_t take_of_slots(struct handle_table *table, uint64_t handle)
{
    for (struct handle_slot *slot = handle_table_find(table, handle); slot;
         slot = handle_table_next(table, slot, handle)) {
        void *value = __atomic_exchange_n(&slot->value, NULL, __ATOMIC_ACQ_REL);
        if (value)
            return (uintptr_t)value;
    }
    return 0;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int step = 0; step < STEPS; step++) {
        uint64_t i = random_choice(&worker->program, worker->live ? 16 : HANDLES), handle = handles[i];
        uintptr_t value = 1 + random_choice(&worker->program, 1000000);
        if (random_choice(&worker->program, 2) == 0) {
            void *none = NULL;
            bool is_put = worker->live
                              ? live_table_put(worker->live, handle, (void *)value) == 0
                              : __atomic_compare_exchange_n(&handle_table_add(worker->handles, handle)->value, &none,
                                                            (void *)value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
            worker->put += is_put ? value : 0;
        } else if (random_drops(&worker->program)) {
            worker->taken += value;
        } else {
            worker->taken += worker->live ? (uintptr_t)live_table_take(worker->live, handle)
                                          : take_of_slots(worker->handles, handle);
        }
    }
    return NULL;
}

/* Lets threads put in and take out at once: in sum, what was put in is what they and the end take out. */
static void use_by_threads(struct random_program *program, struct handle_table *table, struct live_table *live)
{
    struct worker workers[THREADS];
    pthread_t ids[THREADS];
    uint64_t put = 0, taken = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            {.state = program->state + (uint64_t)i, .drops_a_removal = program->drops_a_removal && i == 0},
            table,
            live,
            0,
            0};
        if (pthread_create(&ids[i], NULL, work, &workers[i]) != 0)
            exit(2);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        put += workers[i].put;
        taken += workers[i].taken;
    }
    for (size_t i = 0; i < HANDLES; i++)
        for (uint64_t value = 1; value != 0; taken += value)
            value = live ? (uintptr_t)live_table_take(live, handles[i]) : take_of_slots(table, handles[i]);
    random_expect(program, put == taken, "the threads took out other values than they put in");
}

static void use_handle_table_by_threads(struct random_program *program)
{
    static struct handle_table table; /* a table lives as long as its process */
    random_expect(program, handle_table_init(&table) == 0, "no table");
    use_by_threads(program, &table, NULL);
}

static void use_live_table_by_threads(struct random_program *program)
{
    static struct live_table table = LIVE_TABLE_INITIALIZER; /* as long as its process */
    use_by_threads(program, NULL, &table);
    free(table.more);
}

int main(void)
{
    make_handles();
    int wrong = random_programs_run("handle_table", 10, use_handle_table);
    wrong += random_programs_run("live_table", 10, use_live_table);
    wrong += random_programs_run("request_table", 12, use_request_table);
    wrong += random_programs_run("handle_table by threads", 5, use_handle_table_by_threads);
    wrong += random_programs_run("live_table by threads", 5, use_live_table_by_threads);
    return wrong != 0;
}
