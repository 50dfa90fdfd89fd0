/* Makes the strands and steps of a rank of its calls, and notes what their recorded time went to. */

#include "predictor/run_read/building.h"
#include "share/base/array.h"

enum { MAX_LOOKED_AHEAD = 16 };

/* Holds where a strand is. */
struct walk {
    struct building *building;
    struct places *places;
    int64_t at_ns;                  /* end of the last call */
    uint32_t first, last;           /* of its calls in order */
    uint32_t place;                 /* of the call at hand */
    double compute_s;               /* before it */
    int64_t computes_ns, enters_ns; /* since when, until when */
    uint16_t processor;             /* as of run_step, of the last post; 0: not known, or enough of them */
    bool is_shared;
    size_t first_step; /* of it */
    bool too_large;
};

static uint32_t step_place(struct walk *walk, uint32_t site)
{
    struct places *places = walk->places;
    struct run_program *program = walk->building->reading->program;
    uint32_t rank = walk->building->number;
    if (places->seen[site] != rank + 1) {
        array_grow(&program->measured, program->n_places, sizeof *program->measured);
        array_grow(&program->between_polls_s, program->n_places, sizeof *program->between_polls_s);
        array_grow(&program->moved_polls_s, program->n_places, sizeof *program->moved_polls_s);
        run_program_place(program, rank, site);
        places->seen[site] = rank + 1;
        places->of_site[site] = (uint32_t)program->n_places - 1;
        program->measured[program->n_places - 1] = (struct run_parts){{0}};
        program->between_polls_s[program->n_places - 1] = 0;
        program->moved_polls_s[program->n_places - 1] = 0;
    }
    return places->of_site[site];
}

/* Notes a computation that ended now, on the processor where it was. */
static void note_computing(struct walk *walk, size_t of, int64_t begin_ns, int64_t end_ns, bool is_tail)
{
    struct reading *reading = walk->building->reading;
    uint32_t rank = walk->building->number;
    const struct computing computing = {begin_ns, end_ns,          of,     reading->program->ranks[rank].machine,
                                        rank,     walk->processor, is_tail};
    if (walk->is_shared && walk->processor != 0 && end_ns > begin_ns && computing_note(reading, &computing) != 0)
        walk->too_large = true;
}

/* Adds a step to the call at hand. */
static void add(struct walk *walk, struct run_step step)
{
    struct run_program *program = walk->building->reading->program;
    if (program->n_steps == walk->first_step) {
        step.flags = STEP_ENTERS;
        step.compute_s = walk->compute_s;
        walk->processor = step.processor != 0 ? step.processor : walk->processor;
        note_computing(walk, program->n_steps, walk->computes_ns, walk->enters_ns, false);
    }
    step.place = walk->place;
    if (run_program_step(program, &step) != 0)
        walk->too_large = true;
}

static void add_object(struct walk *walk, enum run_step_kind kind, uint32_t object, uint16_t processor)
{
    add(walk, (struct run_step){.object = object, .kind = (uint8_t)kind, .processor = processor});
}

static void add_posts(struct walk *walk, const struct call *call)
{
    const struct reading *reading = walk->building->reading;
    for (uint32_t i = call->first_item; i < call->first_item + call->n_items; i++) {
        const struct read_item *item = &walk->building->items[i];
        if (!item_operates(item))
            continue;
        if (item->kind == ITEM_SEND || item->kind == ITEM_ONE_SIDED)
            add_object(walk, STEP_SEND, item->object, item->processor);
        else if (item->kind == ITEM_RECEIVE)
            add_object(walk, STEP_RECEIVE, item->object, item->processor);
        else if (reading->members[item->object].nonblocking)
            add_object(walk, STEP_BEGIN, reading->members[item->object].member, item->processor);
    }
}

static void add_wait(struct walk *walk, const struct call *call)
{
    const struct reading *reading = walk->building->reading;
    struct run_program *program = reading->program;
    if (call->n_waits == 0)
        return;
    struct run_step step = {.object = (uint32_t)program->n_waits, .count = call->n_waits, .kind = STEP_WAIT};
    for (uint32_t i = 0; i < call->n_waits; i++) {
        const struct read_item *item = &walk->building->items[walk->building->waits[call->first_wait + i]];
        uint32_t operation =
            item->kind == ITEM_COLLECTIVE
                ? run_operation(reading->members[item->object].member, OPERATION_MEMBER)
                : run_operation(item->object, item->kind == ITEM_RECEIVE ? OPERATION_RECEIVE : OPERATION_SEND);
        run_program_wait(program, operation);
    }
    add(walk, step);
}

static void add_blocking_collectives(struct walk *walk, const struct call *call)
{
    const struct reading *reading = walk->building->reading;
    for (uint32_t i = call->first_item; i < call->first_item + call->n_items; i++) {
        const struct read_item *item = &walk->building->items[i];
        if (item->kind == ITEM_COLLECTIVE && !reading->members[item->object].nonblocking)
            add_object(walk, STEP_COLLECTIVE, reading->members[item->object].member, item->processor);
    }
}

static uint8_t class_of(const struct walk *walk, const struct call *call)
{
    return function_of_site(walk->building->reading, call->site)->class;
}

/* Returns the first receive that the call posted of a message whose send was posted until then, or NULL. */
static const struct read_item *received(const struct building *building, const struct call *call, int64_t until_ns)
{
    for (uint32_t i = call->first_item; i < call->first_item + call->n_items; i++) {
        const struct read_item *item = &building->items[i];
        if (item->kind == ITEM_RECEIVE && item->object != NO_OBJECT &&
            read_item_send_ns(building->reading, item) <= until_ns)
            return item;
    }
    return NULL;
}

/* Returns the receive of the message that a call which probed saw, or NULL: the next one on the strand. Unless that
 * is a blocking one right behind the probe, its send was posted before the probe was over: else what the probe waited
 * for could depend on what comes behind it. at: the call's place in order. */
static const struct read_item *probed_message(const struct walk *walk, uint32_t at)
{
    const struct building *building = walk->building;
    const struct call *call = &building->calls[building->order[at]];
    uint8_t class = class_of(walk, call);
    if (call->idle > 0 || class == FUNCTION_OTHER || class == FUNCTION_TEST)
        return NULL;
    if (class == FUNCTION_MATCHED_PROBE)
        return received(building, call, INT64_MAX);
    const struct read_item *receive = NULL;
    for (uint32_t k = at + 1; receive == NULL && k < walk->last && k <= at + MAX_LOOKED_AHEAD; k++) {
        const struct call *next = &building->calls[building->order[k]];
        receive = received(building, next, k == at + 1 && next->n_waits > 0 ? INT64_MAX : call->end_ns);
    }
    return receive;
}

/* Adds a call's time to what was measured at the place at hand. */
static void add_measured(struct walk *walk, uint32_t site, int64_t begin_ns, int64_t end_ns,
                         const struct run_parts *parts)
{
    const struct reading *reading = walk->building->reading;
    int64_t shift_ns = reading->bursts[walk->building->burst].shift_ns;
    run_parts_add(&reading->program->measured[walk->place], parts);
    if (reading->want.calls != NULL)
        reading->want.calls->call(reading->want.calls->context, reading->program,
                                  &(struct run_call){.rank = walk->building->number,
                                                     .site = site,
                                                     .begin_s = reading_seconds(begin_ns - shift_ns),
                                                     .end_s = reading_seconds(end_ns - shift_ns),
                                                     .n_steps = reading->program->n_steps,
                                                     .part_s = *parts});
}

/* Adds a call's steps, and its time to what was measured at its place. */
static void add_step_call(struct walk *walk, struct call *call, const struct read_item *probed)
{
    struct run_program *program = walk->building->reading->program;
    call->begin_ns = call->begin_ns < walk->at_ns ? walk->at_ns : call->begin_ns;
    call->end_ns = call->end_ns < call->begin_ns ? call->begin_ns : call->end_ns;
    walk->compute_s = reading_seconds(call->begin_ns - walk->at_ns);
    walk->computes_ns = walk->at_ns;
    walk->enters_ns = call->begin_ns;
    walk->place = step_place(walk, call->site);
    walk->first_step = program->n_steps;
    if (probed != NULL)
        add_object(walk, STEP_PROBE, probed->object, 0);
    add_posts(walk, call);
    add_wait(walk, call);
    add_blocking_collectives(walk, call);
    if (program->n_steps == walk->first_step)
        add(walk, (struct run_step){.spent_s = reading_seconds(call->end_ns - call->begin_ns), .kind = STEP_SPEND});
    walk->at_ns = call->end_ns;
    program->steps[program->n_steps - 1].flags |= STEP_LEAVES;
    struct run_parts parts = {{0}};
    parts.part_s[RUN_COMPUTATION] = walk->compute_s;
    measure_call(walk->building, call, probed, &parts);
    add_measured(walk, call->site, call->begin_ns, call->end_ns, &parts);
    program->between_polls_s[walk->place] += reading_seconds(call->between_ns);
}

/* Returns the first of the failed tests from `from` to `to` in order that the successful one at `to` may have waited
 * for: that of the same function and call site. Those before ask for something else, while the program works. */
static uint32_t first_of_loop(const struct walk *walk, uint32_t from, uint32_t to)
{
    const struct building *building = walk->building;
    while (from < to && building->calls[building->order[from]].site != building->calls[building->order[to]].site)
        from++;
    return from;
}

/* Notes that the polls of other call sites from `from` to `to` in order are measured with the call at `to`. */
static void move_polls(struct walk *walk, uint32_t from, uint32_t to)
{
    const struct building *building = walk->building;
    uint32_t site = building->calls[building->order[to]].site;
    for (uint32_t i = from; i < to; i++) {
        const struct call *call = &building->calls[building->order[i]];
        double inside_s = reading_seconds(call->end_ns - call->begin_ns);
        if (call->site == site)
            continue;
        uint32_t own = step_place(walk, call->site), other = step_place(walk, site);
        building->reading->program->moved_polls_s[own] += inside_s;
        building->reading->program->moved_polls_s[other] -= inside_s;
    }
}

/* Lets the call at `to` in order begin with the failed tests from `from` on, if these and it are all that the program
 * does meanwhile, or if it sleeps between them. Returns whether it is so. */
static bool join_loop(struct walk *walk, uint32_t from, uint32_t to)
{
    const struct building *building = walk->building;
    struct call *end = &building->calls[building->order[to]];
    int64_t first_ns = building->calls[building->order[from]].begin_ns, inside_ns = 0, n = 0;
    int64_t begin_ns = first_ns < walk->at_ns ? walk->at_ns : first_ns; /* tests for something else lie before it */
    for (uint32_t i = from; i < to; i++) {
        const struct call *call = &building->calls[building->order[i]];
        inside_ns += call->end_ns - call->begin_ns;
        n += call->idle;
    }
    int64_t short_ns = inside_ns > n * POLL_SHORT_GAP_NS ? inside_ns : n * POLL_SHORT_GAP_NS;
    int64_t between_ns = end->begin_ns - begin_ns - inside_ns;
    if (between_ns > short_ns && !building->sleeps)
        return false;
    end->begin_ns = begin_ns;
    end->between_ns = between_ns > 0 ? between_ns : 0;
    move_polls(walk, from, to);
    return true;
}

/* Lays failed tests at `at` in order behind those of other call sites that were made in turn with them, and lets them
 * last until the next call, if the program sleeps between them. `to`: the first call behind all of them. */
static void lay_failed(const struct walk *walk, uint32_t at, uint32_t to)
{
    const struct building *building = walk->building;
    struct call *call = &building->calls[building->order[at]];
    if (call->begin_ns < walk->at_ns) {
        call->end_ns += walk->at_ns - call->begin_ns;
        call->begin_ns = walk->at_ns;
    }
    if (to < walk->last && call->end_ns > building->calls[building->order[to]].begin_ns)
        call->end_ns = building->calls[building->order[to]].begin_ns;
    if (!building->sleeps || call->idle < 2 || at + 1 >= walk->last)
        return;
    int64_t next_ns = building->calls[building->order[at + 1]].begin_ns;
    int64_t begin_ns = call->end_ns > walk->at_ns ? call->end_ns : walk->at_ns;
    call->between_ns = next_ns > begin_ns ? next_ns - begin_ns : 0;
    call->end_ns += call->between_ns;
}

static void add_calls(struct walk *walk)
{
    struct building *building = walk->building;
    for (uint32_t at = walk->first, failed; at < walk->last; at++) {
        for (failed = at; at < walk->last && building->calls[building->order[at]].idle > 0;)
            at++;
        struct call *call = at < walk->last ? &building->calls[building->order[at]] : NULL;
        const struct read_item *probed = call != NULL ? probed_message(walk, at) : NULL;
        bool succeeds = call != NULL && ((class_of(walk, call) == FUNCTION_TEST && call->completed > 0) ||
                                         (class_of(walk, call) != FUNCTION_OTHER && probed != NULL));
        for (uint32_t loop = succeeds ? first_of_loop(walk, failed, at) : at; failed < at; failed++) {
            if (failed == loop && join_loop(walk, loop, at))
                break;
            lay_failed(walk, failed, at);
            add_step_call(walk, &building->calls[building->order[failed]], NULL);
        }
        if (call != NULL)
            add_step_call(walk, call, probed);
    }
}

int steps_make(struct building *building, struct places *places)
{
    struct run_program *program = building->reading->program;
    struct walk walk = {.building = building, .places = places};
    int32_t processor = program->ranks[building->number].processor;
    walk.is_shared = computing_is_shared(building->reading, building->number);
    for (size_t i = 0; i < building->n_strands && !walk.too_large; i++) {
        walk.processor = processor >= 0 && processor < UINT16_MAX ? (uint16_t)(processor + 1) : 0;
        walk.first = building->strand_calls[i];
        walk.last = building->strand_calls[i + 1];
        int64_t first_ns = walk.first < walk.last ? building->calls[building->order[walk.first]].begin_ns : INT64_MAX;
        walk.at_ns = i > 0 || first_ns < building->span->from_ns ? first_ns : building->span->from_ns;
        run_program_strand(program, building->number,
                           reading_seconds(walk.at_ns - building->reading->bursts[building->burst].shift_ns));
        program->strands[program->n_strands - 1].burst = building->burst;
        add_calls(&walk);
        struct run_strand *strand = &program->strands[program->n_strands - 1];
        strand->tail_place = walk.place = step_place(&walk, places->end_site);
        if (i == 0 && building->span->to_ns > walk.at_ns)
            strand->tail_s = reading_seconds(building->span->to_ns - walk.at_ns);
        if (strand->tail_s > 0)
            note_computing(&walk, program->n_strands - 1, walk.at_ns, building->span->to_ns, true);
        struct run_parts parts = {{0}};
        parts.part_s[RUN_COMPUTATION] = strand->tail_s;
        add_measured(&walk, places->end_site, building->span->to_ns, building->span->to_ns, &parts);
    }
    return walk.too_large ? reading_too_large(building->reading) : 0;
}
