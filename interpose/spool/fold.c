/* A step changes the totals in place, and notes before in the journal what they were: so the steps of a chunk need
 * no second table. Ghosts are only ever appended; one that replaces its neighbours contains them. See fold.h. */
#include "interpose/spool/fold.h"

#include <string.h>
#include <sys/mman.h>

enum {
    GHOST_ENTRIES = (GHOST_BYTES - sizeof(struct spool_ghost)) / sizeof(struct spool_ghost_entry),
    GHOST_SLOTS = 16384, /* a power of two, above GHOST_ENTRIES */
    GHOST_TIGHT_BYTES = GHOST_BYTES / 4 * 3,
};

/* What the chunk counts for matching, with its neighbours. */
struct ghost_table {
    uint32_t n;
    int full;                                        /* there were more entries */
    uint16_t slots[GHOST_SLOTS];                     /* number of an entry + 1, 0: free */
    struct spool_ghost_entry entries[GHOST_ENTRIES]; /* [n] */
};

/* The process may be killed between any two stores: what stands before this is stored before what follows. */
static void fold_in_order(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void journal_set_state(struct spool_journal *journal, enum spool_journal_state state)
{
    fold_in_order();
    __atomic_store_n(&journal->state, state, __ATOMIC_RELEASE);
    fold_in_order();
}

/* Notes a slot as it is. A step changes one slot a record at most, and may note one twice: the first counts. */
static void journal_note_slot(void *context, uint32_t slot)
{
    const struct fold *fold = context;
    struct spool_journal *journal = &fold->area->journal;
    if (journal->state != JOURNAL_FOLDING || journal->n_slots >= JOURNAL_STEP)
        return;
    journal->slots[journal->n_slots].number = slot;
    journal->slots[journal->n_slots].slot = fold->area->slots[slot];
    fold_in_order();
    journal->n_slots++;
    fold_in_order();
}

void fold_open(struct fold *fold, struct spool_header *header, struct spool_area *area)
{
    *fold = (struct fold){.header = header, .area = area};
    pthread_mutex_init(&fold->lock, NULL);
    pthread_mutex_init(&fold->chunk_lock, NULL);
    if (!area)
        return;
    fold->totals = (struct totals){.slots = area->slots,
                                   .course = &area->course,
                                   .n_slots = TOTALS_SLOTS,
                                   .start_ticks = header->start.ticks,
                                   .changing = journal_note_slot,
                                   .context = fold};
}

void fold_record(struct fold *fold, const void *record)
{
    if (!fold->area)
        return;
    pthread_mutex_lock(&fold->lock);
    totals_add_record(&fold->totals, record);
    pthread_mutex_unlock(&fold->lock);
}

static uint32_t ghost_slot(const struct spool_ghost_entry *key)
{
    uint64_t hash = ((uint64_t)key->communicator << 32 | (uint32_t)key->peer) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ ((uint64_t)key->sort << 32 | (uint32_t)key->tag)) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(hash >> 40) % GHOST_SLOTS;
}

static void ghost_count(struct ghost_table *table, const struct spool_ghost_entry *one)
{
    for (uint32_t at = ghost_slot(one);; at = (at + 1) % GHOST_SLOTS) {
        if (table->slots[at] == 0) {
            if (table->n == GHOST_ENTRIES) {
                table->full = 1;
                return;
            }
            table->entries[table->n++] = *one;
            table->slots[at] = (uint16_t)table->n;
            return;
        }
        struct spool_ghost_entry *entry = &table->entries[table->slots[at] - 1];
        if (entry->communicator == one->communicator && entry->peer == one->peer && entry->tag == one->tag &&
            entry->sort == one->sort) {
            entry->count += one->count;
            return;
        }
    }
}

static struct spool_ghost *ghost_at(struct spool_area *area, uint32_t half, uint32_t at)
{
    return (void *)((uint8_t *)area->ghosts[half] + at);
}

/* Finds the ghosts that end right before the chunk and begin right behind it; NULL: none. Of those that contain each
 * other the last is the largest. */
static void ghost_neighbours(const struct fold *fold, const struct spool_chunk *chunk, struct spool_ghost *found[2])
{
    struct spool_area *area = fold->area;
    found[0] = found[1] = NULL;
    for (uint32_t at = 0; at < area->ghosts_bytes;) {
        struct spool_ghost *ghost = ghost_at(area, area->ghosts_half, at);
        at += (uint32_t)spool_ghost_bytes(ghost->n);
        if (ghost->lane != chunk->lane)
            continue;
        if (ghost->last_sequence + 1 == chunk->sequence)
            found[0] = ghost;
        else if (ghost->first_sequence == chunk->sequence + 1)
            found[1] = ghost;
    }
}

static int ghost_contains(const struct spool_ghost *a, const struct spool_ghost *b)
{
    return a->lane == b->lane && a->first_sequence <= b->first_sequence && a->last_sequence >= b->last_sequence;
}

/* Copies what lives to the other half, without what the next ghost will contain. Returns the bytes. */
static uint32_t ghosts_move(const struct fold *fold, const struct spool_ghost *next)
{
    struct spool_area *area = fold->area;
    uint32_t end = area->ghosts_bytes, to = 0;
    for (uint32_t at = 0; at < end;) {
        const struct spool_ghost *ghost = ghost_at(area, area->ghosts_half, at);
        uint32_t bytes = (uint32_t)spool_ghost_bytes(ghost->n), later = at + bytes;
        at = later;
        int is_dead = ghost_contains(next, ghost);
        while (later < end && !is_dead) {
            const struct spool_ghost *other = ghost_at(area, area->ghosts_half, later);
            is_dead = ghost_contains(other, ghost);
            later += (uint32_t)spool_ghost_bytes(other->n);
        }
        if (is_dead)
            continue;
        memcpy(ghost_at(area, 1 - area->ghosts_half, to), ghost, bytes);
        to += bytes;
    }
    return to;
}

/* Appends the ghost of the chunk and its neighbours, within a step. */
static void ghost_append(struct fold *fold, const struct spool_chunk *chunk)
{
    struct spool_area *area = fold->area;
    struct ghost_table *table = fold->ghosts;
    struct spool_ghost *beside[2];
    struct spool_ghost ghost = {chunk->lane, chunk->sequence, chunk->sequence, 0};
    if (fold->header->ghosts_full)
        return;
    ghost_neighbours(fold, chunk, beside);
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; beside[i] && k < beside[i]->n; k++)
            ghost_count(table, &beside[i]->entries[k]);
    if (beside[0])
        ghost.first_sequence = beside[0]->first_sequence;
    if (beside[1])
        ghost.last_sequence = beside[1]->last_sequence;
    ghost.n = table->n;
    uint32_t bytes = (uint32_t)spool_ghost_bytes(ghost.n), half = area->ghosts_half, at = area->ghosts_bytes;
    if (at + bytes > GHOST_BYTES) {
        at = ghosts_move(fold, &ghost);
        __atomic_store_n(&fold->live_bytes, at, __ATOMIC_RELAXED);
        half = 1 - half;
    }
    if (at + bytes > GHOST_BYTES || table->full) {
        fold->header->ghosts_full = 1;
        return;
    }
    struct spool_ghost *stored = ghost_at(area, half, at);
    *stored = ghost;
    memcpy(stored->entries, table->entries, ghost.n * sizeof *table->entries);
    fold_in_order();
    area->ghosts_half = half;
    area->ghosts_bytes = at + bytes;
}

/* Folds up to JOURNAL_STEP records of the chunk. Returns where the next one begins; SPOOL_CHUNK_BYTES: that was all. */
static uint32_t fold_step(struct fold *fold, const uint8_t *chunk, uint32_t at, uint32_t number)
{
    struct spool_area *area = fold->area;
    struct spool_journal *journal = &area->journal;
    struct spool_ghost_entry entry;
    pthread_mutex_lock(&fold->lock);
    journal->n_slots = 0;
    journal->course = area->course;
    journal->ghosts_half = area->ghosts_half;
    journal->ghosts_bytes = area->ghosts_bytes;
    journal_set_state(journal, JOURNAL_FOLDING);
    for (uint32_t i = 0; i < JOURNAL_STEP && at < SPOOL_CHUNK_BYTES; i++) {
        uint32_t bytes = (uint32_t)spool_record_bytes(chunk + at, SPOOL_CHUNK_BYTES - at);
        if (bytes > 0) {
            totals_add_record(&fold->totals, chunk + at);
            if (spool_ghost_of(chunk + at, &entry))
                ghost_count(fold->ghosts, &entry);
        }
        at = bytes > 0 ? at + bytes : SPOOL_CHUNK_BYTES;
    }
    if (at == SPOOL_CHUNK_BYTES)
        ghost_append(fold, (const void *)chunk);
    journal->chunk = number;
    journal->until = at;
    journal_set_state(journal, JOURNAL_FOLDED);
    pthread_mutex_unlock(&fold->lock);
    return at;
}

/* Returns the table, emptied; NULL without memory. mmap, as malloc gives a thread that uses it first much address
 * space. */
static struct ghost_table *fold_take_table(struct fold *fold)
{
    if (!fold->ghosts) {
        void *memory = mmap(NULL, sizeof *fold->ghosts, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fold->ghosts = memory == MAP_FAILED ? NULL : memory;
    }
    if (!fold->ghosts)
        return NULL;
    fold->ghosts->n = 0;
    fold->ghosts->full = 0;
    memset(fold->ghosts->slots, 0, sizeof fold->ghosts->slots);
    return fold->ghosts;
}

int fold_chunk(struct fold *fold, uint8_t *chunk, uint32_t number)
{
    struct spool_chunk *head = (void *)chunk;
    if (!fold->area)
        return -1;
    pthread_mutex_lock(&fold->chunk_lock);
    if (!fold_take_table(fold)) {
        pthread_mutex_unlock(&fold->chunk_lock);
        return -1;
    }
    struct spool_journal *journal = &fold->area->journal;
    for (uint32_t at = sizeof *head; (at = fold_step(fold, chunk, at, number)) < SPOOL_CHUNK_BYTES;) {
        head->folded = at;
        journal_set_state(journal, JOURNAL_EMPTY);
    }
    __atomic_store_n(&head->magic, 0, __ATOMIC_RELEASE);
    fold_in_order();
    memset(chunk, 0, SPOOL_CHUNK_BYTES);
    fold->header->folded_chunks++;
    journal_set_state(journal, JOURNAL_EMPTY);
    pthread_mutex_unlock(&fold->chunk_lock);
    return 0;
}

int fold_is_tight(const struct fold *fold)
{
    return __atomic_load_n(&fold->live_bytes, __ATOMIC_RELAXED) > GHOST_TIGHT_BYTES;
}

void fold_relieved(struct fold *fold)
{
    __atomic_store_n(&fold->live_bytes, 0, __ATOMIC_RELAXED);
}
