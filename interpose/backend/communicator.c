/* Table of communicators and their records, see communicator.h. */
#include "communicator.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct known {
    uint64_t key;
    uint32_t index;
};

/* By index: what is needed of a communicator after its record was written. */
struct facts {
    uint32_t creations;
    int rank;
};

static struct {
    struct known *live; /* few: searched from the newest */
    size_t n_live, room_live;
    struct facts *all;
    size_t n_all, room_all;
    MPI_Group world;
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

/* World ranks of ranks [first, first + n) of the group; MPI_UNDEFINED for processes of another world. */
static int to_world(MPI_Group group, int first, int n, int *world)
{
    int *ranks = malloc((size_t)n * sizeof *ranks);
    if (!ranks)
        return -1;
    for (int i = 0; i < n; i++)
        ranks[i] = first + i;
    int result = PMPI(Group_translate_ranks)(group, n, ranks, table.world, world);
    free(ranks);
    return result == MPI_SUCCESS ? 0 : -1;
}

static uint64_t hash_ranks(uint64_t hash, const int *world, int n)
{
    const uint8_t *bytes = (const uint8_t *)world;
    for (size_t i = 0; i < (size_t)n * sizeof *world; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* FNV-1a over the members' world ranks; of an intercommunicator the group with the smaller first rank leads, so that
 * both sides agree. */
static uint64_t members_hash(MPI_Group local, int n_local, MPI_Group remote, int n_remote)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int *world = malloc((size_t)(n_local + n_remote) * sizeof *world);
    if (!world || to_world(local, 0, n_local, world) != 0 ||
        (n_remote > 0 && to_world(remote, 0, n_remote, world + n_local) != 0)) {
        free(world);
        return hash;
    }
    if (n_remote > 0 && world[n_local] < world[0]) {
        hash = hash_ranks(hash, world + n_local, n_remote);
        hash = hash_ranks(hash, world, n_local);
    } else {
        hash = hash_ranks(hash, world, n_local + n_remote);
    }
    free(world);
    return hash;
}

/* Asks MPI about comm. Returns 0, or -1 where MPI refuses. */
static int describe(MPI_Comm comm, struct spool_communicator *record)
{
    int size, rank, is_inter, leader, remote_size = 0;
    MPI_Group local, remote = MPI_GROUP_NULL;
    if (PMPI(Comm_size)(comm, &size) != MPI_SUCCESS || PMPI(Comm_rank)(comm, &rank) != MPI_SUCCESS ||
        PMPI(Comm_test_inter)(comm, &is_inter) != MPI_SUCCESS || PMPI(Comm_group)(comm, &local) != MPI_SUCCESS)
        return -1;
    if (is_inter && (PMPI(Comm_remote_size)(comm, &remote_size) != MPI_SUCCESS ||
                     PMPI(Comm_remote_group)(comm, &remote) != MPI_SUCCESS)) {
        PMPI(Group_free)(&local);
        return -1;
    }
    int failed = to_world(local, 0, 1, &leader);
    record->leader = failed || leader == MPI_UNDEFINED ? -1 : leader;
    record->size = size;
    record->rank = rank;
    record->remote_size = remote_size;
    if (record->identity == SPOOL_BY_MEETING)
        record->members_hash = members_hash(local, size, remote, remote_size);
    PMPI(Group_free)(&local);
    if (is_inter)
        PMPI(Group_free)(&remote);
    return failed;
}

/* Gives comm the next index and writes its record. Returns the index, or COMMUNICATOR_NONE. */
static uint32_t add(struct recorder_thread *thread, MPI_Comm comm, struct spool_communicator *record)
{
    uint64_t key = HANDLE_KEY(comm);
    if (describe(comm, record) != 0)
        return COMMUNICATOR_NONE;
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
        table.all[index] = (struct facts){0, record->rank};
        table.live[table.n_live++] = (struct known){key, index};
        next_epoch();
        record->index = index;
        record->begin_ticks = clock_ticks(recorder.clock_source);
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

int communicator_init(int locked)
{
    struct spool_communicator world = {.creation = UINT32_MAX};
    struct spool_communicator self = {.creation = UINT32_MAX};
    struct recorder_thread *thread = recorder_thread ? recorder_thread : recorder_thread_begin();
    table.locked = locked;
    if (!thread || PMPI(Comm_group)(MPI_COMM_WORLD, &table.world) != MPI_SUCCESS)
        return -1;
    return add(thread, MPI_COMM_WORLD, &world) == 0 && add(thread, MPI_COMM_SELF, &self) == 1 ? 0 : -1;
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
        struct spool_communicator record = {.identity = SPOOL_BY_MEETING};
        return add(thread, comm, &record);
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

void communicator_created(struct recorder_thread *thread, MPI_Comm made, enum mpistair_function function,
                          uint32_t parent, uint32_t creation)
{
    struct spool_communicator record = {.function = (uint16_t)function, .parent = parent, .creation = creation};
    if (made != MPI_COMM_NULL)
        add(thread, made, &record);
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
