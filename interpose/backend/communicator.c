/* Table of communicators and their records, see communicator.h. */
#include "communicator.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "members.h"

struct known {
    uint64_t key;
    uint32_t index;
};

/* By index: what is needed of a communicator after its record was written. */
struct facts {
    uint32_t creations;
    int rank;
    uint8_t is_inter;
    uint8_t foreign; /* has members of another MPI_COMM_WORLD */
};

static struct {
    struct known *live; /* few: searched from the newest */
    size_t n_live, room_live;
    struct facts *all;
    size_t n_all, room_all;
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

/* An array of elements of bytes with room for n + 1, moved and *room doubled where needed; NULL: no memory, and the
 * old one stays. */
static void *with_room(void *array, size_t *room, size_t n, size_t bytes)
{
    if (n < *room)
        return array;
    size_t wanted = *room ? *room * 2 : 64;
    int saved_errno = errno;
    void *wider = realloc(array, wanted * bytes);
    errno = saved_errno;
    if (wider)
        *room = wanted;
    return wider;
}

static int reserve_live(void)
{
    struct known *live = with_room(table.live, &table.room_live, table.n_live, sizeof *live);
    if (live)
        table.live = live;
    return live ? 0 : -1;
}

static int reserve_all(void)
{
    struct facts *all = with_room(table.all, &table.room_all, table.n_all, sizeof *all);
    if (all)
        table.all = all;
    return all ? 0 : -1;
}

/* Under the lock: everything cached about handles is void. */
static void next_epoch(void)
{
    __atomic_store_n(&recorder.communicator_epoch, recorder.communicator_epoch + 1, __ATOMIC_RELEASE);
}

/* Under the lock. */
static uint32_t find(uint64_t key)
{
    for (size_t i = table.n_live; i-- > 0;)
        if (table.live[i].key == key)
            return table.live[i].index;
    return COMMUNICATOR_NONE;
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
        if (reserve_live() != 0 || reserve_all() != 0) {
            unlock_table();
            spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
            return COMMUNICATOR_NONE;
        }
        index = (uint32_t)table.n_all++;
        table.all[index] =
            (struct facts){.rank = members->rank, .is_inter = members->is_inter != 0, .foreign = members->foreign != 0};
        table.live[table.n_live++] = (struct known){key, index};
        next_epoch();
        record->index = index;
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

/* Registers one that was there before this process made any. */
static uint32_t add_given(struct recorder_thread *thread, MPI_Comm comm, enum spool_identity identity,
                          enum mpistair_function function)
{
    struct members members;
    struct spool_communicator record = {.identity = (uint8_t)identity,
                                        .function = (uint16_t)function,
                                        .creation = UINT32_MAX,
                                        .begin_ticks = recorder.spool.header->start.ticks,
                                        .end_ticks = now()};
    return members_describe(comm, identity == SPOOL_BY_TIME, &members) == 0 ? add(thread, comm, &members, &record)
                                                                            : COMMUNICATOR_NONE;
}

/* The world's group, which members are told by from now on, and the communicator to those that spawned it. */
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
    return take_world(recorder_thread ? recorder_thread : recorder_thread_begin());
}

int communicator_init_session(MPI_Group world, int locked)
{
    struct recorder_thread *thread = recorder_thread ? recorder_thread : recorder_thread_begin();
    struct spool_communicator records[2] = {{.function = FN_Session_init, .creation = UINT32_MAX},
                                            {.function = FN_Session_init, .creation = UINT32_MAX}};
    struct members all = {.leader = 0}, self = {.size = 1};
    table.locked = locked;
    if (!thread || PMPI(Group_size)(world, &all.size) != MPI_SUCCESS ||
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
    lock_table();
    uint32_t epoch = recorder.communicator_epoch;
    uint32_t index = find(key);
    unlock_table();
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
    lock_table();
    int rank = table.all[index].rank;
    unlock_table();
    return rank;
}

uint32_t communicator_count_creation(uint32_t parent)
{
    lock_table();
    uint32_t creation = table.all[parent].creations++;
    unlock_table();
    return creation;
}

/* How the communicator is recognised elsewhere; fills in what that takes. */
static void identify(MPI_Comm made, const struct communicator_origin *origin, struct facts parent,
                     const struct members *members, struct spool_communicator *record)
{
    int collective = origin->way == COMMUNICATOR_COLLECTIVE;
    record->identity = SPOOL_BY_CREATION;
    if (collective && !parent.is_inter && !parent.foreign)
        return;
    record->identity = members->foreign ? SPOOL_BY_TIME : SPOOL_BY_MEMBERS;
    if (!members->foreign) {
        record->members_hash = members->hash;
        if (origin->way == COMMUNICATOR_CONNECTED)
            record->creation = 0; /* each side has a parent of its own */
    } else if (origin->parent_comm != MPI_COMM_NULL && !parent.is_inter && !members->is_inter) {
        record->members_hash = members_hash_in(made, origin->parent_comm);
    }
}

uint32_t communicator_created(struct recorder_thread *thread, MPI_Comm made, const struct communicator_origin *origin)
{
    struct facts parent = {0};
    struct members members;
    if (made == MPI_COMM_NULL)
        return COMMUNICATOR_NONE;
    if (origin->parent != COMMUNICATOR_NONE) {
        lock_table();
        parent = table.all[origin->parent];
        unlock_table();
    }
    int all = origin->way != COMMUNICATOR_COLLECTIVE || parent.is_inter || parent.foreign;
    if (members_describe(made, all, &members) != 0)
        return COMMUNICATOR_NONE;
    struct spool_communicator record = {.function = (uint16_t)origin->function,
                                        .parent = origin->parent,
                                        .creation = origin->creation,
                                        .begin_ticks = origin->begin_ticks,
                                        .end_ticks = now()};
    identify(made, origin, parent, &members, &record);
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
    uint64_t key = HANDLE_KEY(comm);
    uint32_t index = COMMUNICATOR_NONE;
    lock_table();
    for (size_t i = table.n_live; i-- > 0;) {
        if (table.live[i].key == key) {
            index = table.live[i].index;
            table.live[i] = table.live[--table.n_live];
            next_epoch();
            break;
        }
    }
    unlock_table();
    return index;
}

void communicator_restore(MPI_Comm comm, uint32_t index)
{
    lock_table();
    if (reserve_live() == 0) {
        table.live[table.n_live++] = (struct known){HANDLE_KEY(comm), index};
        next_epoch();
    }
    unlock_table();
}
