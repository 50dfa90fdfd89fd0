/* Every message names its communicator, so looking one up takes no lock: a handle's slot stays where it is for good,
 * its value, the communicator's facts, is replaced as a whole, and facts never move. Only what makes, frees or meets a
 * communicator takes turns.
 *
 * A program may make and free communicators by the 100,000. Facts lie in groups; one whose communicators are all freed
 * is used again for later ones. It is never given back to the system: who asks for a freed communicator at the same
 * time reads facts of another one, and no memory that is gone. See communicator.h. */
#include "interpose/backend/table/communicator.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "interpose/backend/table/handle_table.h"
#include "interpose/backend/table/members.h"

/* Holds what is needed of a communicator after its record was written. */
struct facts {
    uint32_t index;
    uint32_t creations;
    uint64_t collectives;
    int rank;
    uint8_t is_inter;
    uint8_t foreign; /* has members of another MPI_COMM_WORLD */
};

#define GROUP_FACTS 64U

struct group {
    struct facts facts[GROUP_FACTS]; /* of indices that follow each other, from a multiple of GROUP_FACTS on */
    uint32_t live;                   /* that were made and not freed */
    struct group *next;              /* in table.free */
};

#define FIRST_BLOCK 64U
#define BLOCKS      21U /* for all 32-bit indices */

static struct {
    struct handle_table live;      /* handle -> struct facts */
    struct group **blocks[BLOCKS]; /* groups by index: the first FIRST_BLOCK, then twice as many as before each time */
    struct group *free;            /* groups to use again */
    uint32_t n_all;
    int locked;
    pthread_mutex_t lock;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_table(void)
{
    if (table.locked)
        pthread_mutex_lock(&table.lock);
}

static void unlock_table(void)
{
    if (table.locked)
        pthread_mutex_unlock(&table.lock);
}

/* Returns the block of a group's number; *begin is the first group in it. */
static unsigned block_of(uint32_t number, uint32_t *begin)
{
    unsigned block = 31U - (unsigned)__builtin_clz(number / FIRST_BLOCK + 1);
    *begin = FIRST_BLOCK * ((1U << block) - 1);
    return block;
}

/* Returns the group of an index that the caller was given. */
static struct group *group_of(uint32_t index)
{
    uint32_t begin, number = index / GROUP_FACTS;
    unsigned block = block_of(number, &begin);
    struct group **groups = __atomic_load_n(&table.blocks[block], __ATOMIC_ACQUIRE);
    return __atomic_load_n(&groups[number - begin], __ATOMIC_ACQUIRE);
}

static struct facts *facts_of(uint32_t index)
{
    return &group_of(index)->facts[index % GROUP_FACTS];
}

/* Returns a group for indices from table.n_all on, NULL without memory. */
static struct group *new_group(void)
{
    int saved_errno = errno;
    uint32_t begin, number = table.n_all / GROUP_FACTS;
    unsigned block = block_of(number, &begin);
    if (!table.blocks[block])
        __atomic_store_n(&table.blocks[block], calloc(FIRST_BLOCK << block, sizeof(struct group *)), __ATOMIC_RELEASE);
    struct group *group = NULL;
    if (table.blocks[block]) {
        group = table.free ? table.free : calloc(1, sizeof *group);
        if (group) {
            table.free = group->next;
            __atomic_store_n(&table.blocks[block][number - begin], group, __ATOMIC_RELEASE);
        }
    }
    errno = saved_errno;
    return group;
}

/* Returns room for the next facts, NULL without memory. The caller holds the lock. */
static struct facts *new_facts(void)
{
    struct group *group = NULL;
    if (table.n_all == COMMUNICATOR_NONE)
        return NULL;
    if (table.n_all % GROUP_FACTS != 0)
        group = group_of(table.n_all);
    else
        group = new_group();
    if (!group)
        return NULL;
    group->live++;
    return &group->facts[table.n_all % GROUP_FACTS];
}

/* Makes everything void that is cached about handles. */
static void next_epoch(void)
{
    __atomic_fetch_add(&recorder.communicator_epoch, 1, __ATOMIC_RELEASE);
}

static uint32_t find(uint64_t key)
{
    const struct handle_slot *slot = handle_table_find(&table.live, key);
    const struct facts *facts = slot ? __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE) : NULL;
    return facts ? facts->index : COMMUNICATOR_NONE;
}

/* Sets what the handle stands for from now on, NULL for nothing. Returns what it stood for. The caller holds the lock.
 */
static struct facts *set_live(struct handle_slot *slot, struct facts *facts)
{
    struct facts *before = __atomic_exchange_n(&slot->value, facts, __ATOMIC_ACQ_REL);
    next_epoch();
    return before;
}

static uint64_t now(void)
{
    return clock_ticks(recorder.clock_source);
}

/* Gives comm the next index and writes its record. Returns the index, or COMMUNICATOR_NONE. */
static uint32_t add(struct recorder_thread *thread, MPI_Comm comm, const struct members *members,
                    struct spool_communicator *record)
{
    uint64_t key = HANDLE_KEY(comm);
    record->leader = members->leader;
    record->size = members->size;
    record->rank = members->rank;
    record->remote_size = members->remote_size;
    lock_table();
    /* Another thread may have met it just now. */
    uint32_t index = record->identity == SPOOL_BY_MEETING ? find(key) : COMMUNICATOR_NONE;
    if (index == COMMUNICATOR_NONE) {
        struct handle_slot *slot = handle_table_add(&table.live, key);
        struct facts *facts = slot ? new_facts() : NULL;
        if (!facts) {
            unlock_table();
            spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
            return COMMUNICATOR_NONE;
        }
        index = table.n_all++;
        *facts = (struct facts){.index = index,
                                .rank = members->rank,
                                .is_inter = members->is_inter != 0,
                                .foreign = members->foreign != 0};
        set_live(slot, facts);
        record->index = index;
        if (record->identity == SPOOL_BY_TIME) {
            recorder.connected = 1;
            recorder.spool.header->connected = 1;
        }
        struct spool_communicator *stored = spool_lane_reserve(thread->lane, sizeof *stored);
        if (stored) {
            record->type = SPOOL_NONE;
            *stored = *record;
            spool_record_publish(stored, SPOOL_COMMUNICATOR);
        }
    }
    unlock_table();
    return index;
}

/* Registers a communicator that was there before this process made any. */
static uint32_t add_given(struct recorder_thread *thread, MPI_Comm comm, enum spool_identity identity,
                          enum mpistair_function function)
{
    struct members members;
    struct spool_communicator record = {.identity = (uint8_t)identity,
                                        .function = (uint16_t)function,
                                        .creation = UINT32_MAX,
                                        .begin_ticks = recorder.init_ticks,
                                        .end_ticks = now()};
    return members_describe(comm, identity == SPOOL_BY_TIME, &members) == 0 ? add(thread, comm, &members, &record)
                                                                            : COMMUNICATOR_NONE;
}

/* Takes the world's group, by which members are told from now on, and the communicator to those that spawned it. */
static int take_world(struct recorder_thread *thread)
{
    MPI_Group world;
    MPI_Comm parents = MPI_COMM_NULL;
    if (!thread || PMPI(Comm_group)(MPI_COMM_WORLD, &world) != MPI_SUCCESS)
        return -1;
    members_set_world(world);
    if (PMPI(Comm_get_parent)(&parents) != MPI_SUCCESS)
        parents = MPI_COMM_NULL;
    if (table.n_all == 0 && (add_given(thread, MPI_COMM_WORLD, SPOOL_BY_CREATION, FN_Init) != 0 ||
                             add_given(thread, MPI_COMM_SELF, SPOOL_BY_CREATION, FN_Init) != 1))
        return -1;
    if (parents != MPI_COMM_NULL)
        add_given(thread, parents, SPOOL_BY_TIME, FN_Comm_get_parent);
    return 0;
}

int communicator_init(int locked)
{
    table.locked = locked;
    if (handle_table_init(&table.live) != 0)
        return -1;
    return take_world(recorder_thread ? recorder_thread : recorder_thread_begin());
}

int communicator_init_session(MPI_Group world, int locked)
{
    struct recorder_thread *thread = recorder_thread ? recorder_thread : recorder_thread_begin();
    struct spool_communicator record = {.function = FN_Session_init,
                                        .creation = UINT32_MAX,
                                        .begin_ticks = recorder.spool.header->start.ticks,
                                        .end_ticks = now()};
    struct spool_communicator records[2] = {record, record};
    struct members all = {.leader = 0}, self = {.size = 1};
    table.locked = locked;
    if (handle_table_init(&table.live) != 0 || !thread || PMPI(Group_size)(world, &all.size) != MPI_SUCCESS ||
        PMPI(Group_rank)(world, &all.rank) != MPI_SUCCESS)
        return -1;
    self.leader = all.rank;
    members_set_world(world);
    return add(thread, MPI_COMM_WORLD, &all, &records[0]) == 0 && add(thread, MPI_COMM_SELF, &self, &records[1]) == 1
               ? 0
               : -1;
}

int communicator_init_world(void)
{
    return take_world(recorder_thread ? recorder_thread : recorder_thread_begin());
}

uint32_t communicator_look_up(struct recorder_thread *thread, MPI_Comm comm)
{
    uint64_t key = HANDLE_KEY(comm);
    if (comm == MPI_COMM_NULL)
        return COMMUNICATOR_NONE;
    uint32_t epoch = __atomic_load_n(&recorder.communicator_epoch, __ATOMIC_ACQUIRE);
    uint32_t index = find(key);
    if (index == COMMUNICATOR_NONE) {
        struct spool_communicator record = {
            .identity = SPOOL_BY_MEETING, .begin_ticks = now(), .parent = SPOOL_NO_COMMUNICATOR};
        struct members members;
        if (members_describe(comm, 1, &members) != 0)
            return COMMUNICATOR_NONE;
        record.end_ticks = record.begin_ticks;
        record.members_hash = members.hash;
        return add(thread, comm, &members, &record);
    }
    thread->communicator_key = key;
    thread->communicator_index = index;
    thread->communicator_epoch = epoch;
    return index;
}

int communicator_rank(uint32_t index)
{
    return facts_of(index)->rank;
}

uint64_t communicator_count_collective(uint32_t index)
{
    return __atomic_fetch_add(&facts_of(index)->collectives, 1, __ATOMIC_RELAXED);
}

uint32_t communicator_count_creation(uint32_t parent)
{
    return __atomic_fetch_add(&facts_of(parent)->creations, 1, __ATOMIC_RELAXED);
}

void communicator_set_parent(struct communicator_origin *origin, uint32_t parent)
{
    origin->parent = parent;
    origin->parent_is_inter = parent != COMMUNICATOR_NONE && facts_of(parent)->is_inter;
    origin->parent_foreign = parent != COMMUNICATOR_NONE && facts_of(parent)->foreign;
}

/* Decides how the communicator is recognised elsewhere, and fills in what that takes. */
static void identify(MPI_Comm made, const struct communicator_origin *origin, const struct members *members,
                     struct spool_communicator *record)
{
    int collective = origin->way == COMMUNICATOR_COLLECTIVE;
    record->identity = SPOOL_BY_CREATION;
    if (collective && !origin->parent_is_inter && !origin->parent_foreign)
        return;
    record->identity = members->foreign ? SPOOL_BY_TIME : SPOOL_BY_MEMBERS;
    if (!members->foreign) {
        record->members_hash = members->hash;
        if (origin->way == COMMUNICATOR_CONNECTED)
            record->creation = 0; /* each side has a parent of its own */
    } else if (origin->parent_comm != MPI_COMM_NULL && !origin->parent_is_inter && !members->is_inter) {
        record->members_hash = members_hash_in(made, origin->parent_comm);
    }
}

uint32_t communicator_created(struct recorder_thread *thread, MPI_Comm made, const struct communicator_origin *origin)
{
    struct members members;
    if (made == MPI_COMM_NULL)
        return COMMUNICATOR_NONE;
    int all = origin->way != COMMUNICATOR_COLLECTIVE || origin->parent_is_inter || origin->parent_foreign;
    if (members_describe(made, all, &members) != 0)
        return COMMUNICATOR_NONE;
    struct spool_communicator record = {.function = (uint16_t)origin->function,
                                        .parent = origin->parent,
                                        .creation = origin->creation,
                                        .begin_ticks = origin->begin_ticks,
                                        .end_ticks = now()};
    identify(made, origin, &members, &record);
    return add(thread, made, &members, &record);
}

void communicator_named(struct recorder_thread *thread, uint32_t index, const char *name)
{
    struct spool_name *record = spool_lane_reserve(thread->lane, sizeof *record);
    if (!record)
        return;
    record->index = index;
    strncpy(record->name, name, sizeof record->name - 1);
    spool_record_publish(record, SPOOL_NAME);
}

uint32_t communicator_forget(MPI_Comm comm)
{
    struct handle_slot *slot = handle_table_find(&table.live, HANDLE_KEY(comm));
    const struct facts *facts = NULL;
    if (slot) {
        lock_table();
        facts = set_live(slot, NULL);
        unlock_table();
    }
    return facts ? facts->index : COMMUNICATOR_NONE;
}

void communicator_freed(uint32_t index)
{
    lock_table();
    struct group *group = group_of(index);
    /* One that still gets indices is not used again before it is full and all of these are freed. */
    if (--group->live == 0 && (index | (GROUP_FACTS - 1)) < table.n_all) {
        group->next = table.free;
        table.free = group;
    }
    unlock_table();
}

void communicator_restore(MPI_Comm comm, uint32_t index)
{
    struct handle_slot *slot = handle_table_find(&table.live, HANDLE_KEY(comm));
    if (!slot)
        return;
    lock_table();
    set_live(slot, facts_of(index));
    unlock_table();
}
