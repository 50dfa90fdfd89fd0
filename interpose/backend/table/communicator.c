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
#include "share/base/hash.h"

/* Who belongs to a communicator is found by local calls of MPI alone, as nothing may be communicated where the
 * application makes one: ranks in MPI_COMM_WORLD, and a hash of them that is the same in all members of the same
 * world. A process of another MPI_COMM_WORLD has no rank in ours; it counts as MPI_UNDEFINED, and makes the
 * communicator foreign. */
struct members {
    int size; /* size of the local group */
    int rank; /* own rank in it */
    int remote_size;
    int leader; /* world rank of the local group's rank 0, -1: in another world */
    int is_inter;
    /* The next two describe all members, where they were asked for. */
    int foreign; /* some are of another world */
    uint64_t hash;
};

static MPI_Group world_group;
static int has_world;

void communicator_set_world(MPI_Group world)
{
    if (has_world)
        PMPI(Group_free)(&world_group);
    world_group = world;
    has_world = world != MPI_GROUP_NULL;
}

static uint64_t hash_ranks(uint64_t hash, const int *ranks, int n)
{
    return hash_bytes(hash, ranks, (size_t)n * sizeof *ranks);
}

/* Translates the ranks [0, n) of group into ranks of another group; room is for n more integers. */
static int translate(MPI_Group group, int n, MPI_Group other, int *ranks, int *room)
{
    for (int i = 0; i < n; i++)
        room[i] = i;
    return PMPI(Group_translate_ranks)(group, n, room, other, ranks) == MPI_SUCCESS ? 0 : -1;
}

/* Hashes both groups and finds whether they are foreign. The group with the smaller first rank goes first, so that both
 * sides agree. */
static int ask_all(MPI_Group local, MPI_Group remote, struct members *members)
{
    int n_local = members->size, n_remote = members->remote_size;
    size_t n = (size_t)n_local + (size_t)n_remote;
    int *ranks = malloc(2 * n * sizeof *ranks);
    if (!ranks || translate(local, n_local, world_group, ranks, ranks + n) != 0 ||
        (n_remote > 0 && translate(remote, n_remote, world_group, ranks + n_local, ranks + n) != 0)) {
        free(ranks);
        return -1;
    }
    members->foreign = 0;
    for (size_t i = 0; i < n; i++)
        members->foreign |= ranks[i] == MPI_UNDEFINED;
    int swapped = n_remote > 0 && ranks[n_local] < ranks[0];
    members->hash = swapped ? hash_ranks(hash_ranks(HASH_BASIS, ranks + n_local, n_remote), ranks, n_local)
                            : hash_ranks(HASH_BASIS, ranks, n_local + n_remote);
    free(ranks);
    return 0;
}

static int ask_leader(MPI_Group local, struct members *members)
{
    int first = 0;
    if (PMPI(Group_translate_ranks)(local, 1, &first, world_group, &members->leader) != MPI_SUCCESS)
        return -1;
    if (members->leader == MPI_UNDEFINED)
        members->leader = -1;
    return 0;
}

/* Describes comm. all asks for the last two fields too, at a cost that grows with the number of members. Returns 0, or
 * -1 where MPI refuses or there is no memory. */
static int members_describe(MPI_Comm comm, int all, struct members *members)
{
    int saved_errno = errno;
    MPI_Group local, remote = MPI_GROUP_NULL;
    *members = (struct members){0};
    if (PMPI(Comm_size)(comm, &members->size) != MPI_SUCCESS || PMPI(Comm_rank)(comm, &members->rank) != MPI_SUCCESS ||
        PMPI(Comm_test_inter)(comm, &members->is_inter) != MPI_SUCCESS || PMPI(Comm_group)(comm, &local) != MPI_SUCCESS)
        return -1;
    if (members->is_inter && (PMPI(Comm_remote_size)(comm, &members->remote_size) != MPI_SUCCESS ||
                              PMPI(Comm_remote_group)(comm, &remote) != MPI_SUCCESS)) {
        PMPI(Group_free)(&local);
        return -1;
    }
    int failed = ask_leader(local, members) != 0 || (all && ask_all(local, remote, members) != 0);
    PMPI(Group_free)(&local);
    if (members->is_inter)
        PMPI(Group_free)(&remote);
    errno = saved_errno;
    return failed ? -1 : 0;
}

/* Returns FNV-1a over the ranks in parent of all members of comm, both intracommunicators; 0 if it is not known. It is
 * the same in processes of different worlds. */
static uint64_t members_hash_in(MPI_Comm comm, MPI_Comm parent)
{
    int n, saved_errno = errno;
    uint64_t hash = 0;
    MPI_Group members, others;
    if (PMPI(Comm_size)(comm, &n) != MPI_SUCCESS || PMPI(Comm_group)(comm, &members) != MPI_SUCCESS)
        return 0;
    if (PMPI(Comm_group)(parent, &others) == MPI_SUCCESS) {
        int *ranks = malloc(2 * (size_t)n * sizeof *ranks);
        if (ranks && translate(members, n, others, ranks, ranks + n) == 0)
            hash = hash_ranks(HASH_BASIS, ranks, n);
        free(ranks);
        PMPI(Group_free)(&others);
    }
    PMPI(Group_free)(&members);
    errno = saved_errno;
    return hash;
}

/* What is needed of a communicator after its record was written. */
struct facts {
    uint32_t index;
    uint32_t creations;
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
} communicators = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_table(void)
{
    if (communicators.locked)
        pthread_mutex_lock(&communicators.lock);
}

static void unlock_table(void)
{
    if (communicators.locked)
        pthread_mutex_unlock(&communicators.lock);
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
    struct group **groups = __atomic_load_n(&communicators.blocks[block], __ATOMIC_ACQUIRE);
    return __atomic_load_n(&groups[number - begin], __ATOMIC_ACQUIRE);
}

static struct facts *facts_of(uint32_t index)
{
    return &group_of(index)->facts[index % GROUP_FACTS];
}

/* Returns a group for indices from table.n_all on, NULL without memory. */
static struct group *new_group(void)
{
    uint32_t begin, number = communicators.n_all / GROUP_FACTS;
    unsigned block = block_of(number, &begin);
    struct group **groups = communicators.blocks[block];
    if (!groups) {
        groups = recorder_allocate((FIRST_BLOCK << block) * sizeof *groups);
        __atomic_store_n(&communicators.blocks[block], groups, __ATOMIC_RELEASE);
    }
    if (!groups)
        return NULL;
    struct group *group = communicators.free ? communicators.free : recorder_allocate(sizeof *group);
    if (!group)
        return NULL;
    communicators.free = group->next;
    __atomic_store_n(&groups[number - begin], group, __ATOMIC_RELEASE);
    return group;
}

/* Returns room for the next facts, NULL without memory. The caller holds the lock. */
static struct facts *new_facts(void)
{
    if (communicators.n_all == COMMUNICATOR_NONE)
        return NULL;
    struct group *group = communicators.n_all % GROUP_FACTS != 0 ? group_of(communicators.n_all) : new_group();
    if (!group)
        return NULL;
    group->live++;
    return &group->facts[communicators.n_all % GROUP_FACTS];
}

/* Makes everything void that is cached about handles. */
static void next_epoch(void)
{
    __atomic_fetch_add(&recorder.communicator_epoch, 1, __ATOMIC_RELEASE);
}

static uint32_t find_index(uint64_t key)
{
    const struct handle_slot *slot = handle_table_find(&communicators.live, key);
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

/* Gives comm the next index and writes its record. Returns the index, or COMMUNICATOR_NONE. */
static uint32_t add_communicator(MPI_Comm comm, const struct members *members, struct spool_communicator *record)
{
    uint64_t key = HANDLE_KEY(comm);
    record->leader = members->leader;
    record->size = members->size;
    record->rank = members->rank;
    record->remote_size = members->remote_size;
    lock_table();
    /* Another thread may have met it just now. */
    uint32_t index = record->identity == SPOOL_BY_MEETING ? find_index(key) : COMMUNICATOR_NONE;
    if (index == COMMUNICATOR_NONE) {
        struct handle_slot *slot = handle_table_add(&communicators.live, key);
        struct facts *facts = slot ? new_facts() : NULL;
        if (!facts) {
            unlock_table();
            spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
            return COMMUNICATOR_NONE;
        }
        index = communicators.n_all++;
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
        struct spool_communicator *stored = spool_definition_reserve(&recorder.spool, sizeof *stored);
        if (stored) {
            record->type = SPOOL_NONE;
            *stored = *record;
            spool_definition_publish(&recorder.spool, stored, SPOOL_COMMUNICATOR);
        }
    }
    unlock_table();
    return index;
}

/* Registers a communicator that was there before this process made any. */
static uint32_t add_given(MPI_Comm comm, enum spool_identity identity, enum mpistair_function function)
{
    struct members members;
    struct spool_communicator record = {.identity = (uint8_t)identity,
                                        .function = (uint16_t)function,
                                        .creation = UINT32_MAX,
                                        .begin_ticks = recorder.init_ticks,
                                        .end_ticks = now_ticks()};
    return members_describe(comm, identity == SPOOL_BY_TIME, &members) == 0 ? add_communicator(comm, &members, &record)
                                                                            : COMMUNICATOR_NONE;
}

/* Takes the world's group, in which ranks of members are expressed from now on, and the communicator to the processes
 * that spawned this world. */
static int take_world(struct recorder_thread *thread)
{
    MPI_Group world;
    MPI_Comm parents = MPI_COMM_NULL;
    if (!thread || PMPI(Comm_group)(MPI_COMM_WORLD, &world) != MPI_SUCCESS)
        return -1;
    communicator_set_world(world);
    if (PMPI(Comm_get_parent)(&parents) != MPI_SUCCESS)
        parents = MPI_COMM_NULL;
    if (communicators.n_all == 0 && (add_given(MPI_COMM_WORLD, SPOOL_BY_CREATION, FN_Init) != 0 ||
                                     add_given(MPI_COMM_SELF, SPOOL_BY_CREATION, FN_Init) != 1))
        return -1;
    if (parents != MPI_COMM_NULL)
        add_given(parents, SPOOL_BY_TIME, FN_Comm_get_parent);
    return 0;
}

int communicator_init(struct recorder_thread *thread, int locked)
{
    communicators.locked = locked;
    if (handle_table_init(&communicators.live) != 0)
        return -1;
    return take_world(thread);
}

int communicator_init_session(struct recorder_thread *thread, MPI_Group world, int locked)
{
    struct spool_communicator record = {.function = FN_Session_init,
                                        .creation = UINT32_MAX,
                                        .begin_ticks = recorder.spool.header->start.ticks,
                                        .end_ticks = now_ticks()};
    struct spool_communicator records[2] = {record, record};
    struct members all = {.leader = 0}, self = {.size = 1};
    communicators.locked = locked;
    if (handle_table_init(&communicators.live) != 0 || !thread || PMPI(Group_size)(world, &all.size) != MPI_SUCCESS ||
        PMPI(Group_rank)(world, &all.rank) != MPI_SUCCESS)
        return -1;
    self.leader = all.rank;
    communicator_set_world(world);
    return add_communicator(MPI_COMM_WORLD, &all, &records[0]) == 0 &&
                   add_communicator(MPI_COMM_SELF, &self, &records[1]) == 1
               ? 0
               : -1;
}

int communicator_init_world(struct recorder_thread *thread)
{
    return take_world(thread);
}

uint32_t communicator_look_up(struct recorder_thread *thread, MPI_Comm comm)
{
    uint64_t key = HANDLE_KEY(comm);
    if (comm == MPI_COMM_NULL)
        return COMMUNICATOR_NONE;
    uint32_t epoch = __atomic_load_n(&recorder.communicator_epoch, __ATOMIC_ACQUIRE);
    uint32_t index = find_index(key);
    if (index == COMMUNICATOR_NONE) {
        struct spool_communicator record = {
            .identity = SPOOL_BY_MEETING, .begin_ticks = now_ticks(), .parent = SPOOL_NO_COMMUNICATOR};
        struct members members;
        if (members_describe(comm, 1, &members) != 0)
            return COMMUNICATOR_NONE;
        record.end_ticks = record.begin_ticks;
        record.members_hash = members.hash;
        return add_communicator(comm, &members, &record);
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
static void identify_made(MPI_Comm made, const struct communicator_origin *origin, const struct members *members,
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

uint32_t communicator_created(MPI_Comm made, const struct communicator_origin *origin)
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
                                        .end_ticks = now_ticks()};
    identify_made(made, origin, &members, &record);
    return add_communicator(made, &members, &record);
}

void communicator_named(uint32_t index, const char *name)
{
    struct spool_name *record = spool_definition_reserve(&recorder.spool, sizeof *record);
    if (!record)
        return;
    record->index = index;
    strncpy(record->name, name, sizeof record->name - 1);
    spool_definition_publish(&recorder.spool, record, SPOOL_NAME);
}

uint32_t communicator_forget(MPI_Comm comm)
{
    struct handle_slot *slot = handle_table_find(&communicators.live, HANDLE_KEY(comm));
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
    if (--group->live == 0 && (index | (GROUP_FACTS - 1)) < communicators.n_all) {
        group->next = communicators.free;
        communicators.free = group;
    }
    unlock_table();
}

void communicator_restore(MPI_Comm comm, uint32_t index)
{
    struct handle_slot *slot = handle_table_find(&communicators.live, HANDLE_KEY(comm));
    if (!slot)
        return;
    lock_table();
    set_live(slot, facts_of(index));
    unlock_table();
}
