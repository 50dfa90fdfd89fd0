/* Messages and windows are rare enough for one table each, but several threads may use them, and one handle may stand
 * for several things at once. See live_table.h. */
#include "interpose/backend/table/live_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes the table's first segment, unless it has one. Returns 0 or -1. */
static int begin(struct live_table *table)
{
    struct handle_table made = {NULL};
    struct handle_segment *none = NULL;
    if (__atomic_load_n(&table->first.newest, __ATOMIC_ACQUIRE))
        return 0;
    if (handle_table_init(&made) != 0)
        return -1;
    if (!__atomic_compare_exchange_n(&table->first.newest, &none, made.newest, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        free(made.newest); /* another thread was first */
    return 0;
}

/* Adds to the list. Returns 0 or -1. */
static int put_behind(struct live_table *table, uint64_t key, void *value)
{
    int saved_errno = errno, result = 0;
    pthread_mutex_lock(&table->lock);
    if (table->n_more == table->room) {
        size_t room = table->room ? table->room * 2 : 16;
        struct live_handle *wider = realloc(table->more, room * sizeof *wider);
        if (wider) {
            table->more = wider;
            table->room = room;
        }
        result = wider ? 0 : -1;
    }
    if (result == 0) {
        table->more[table->n_more] = (struct live_handle){key, value};
        __atomic_store_n(&table->n_more, table->n_more + 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&table->lock);
    errno = saved_errno;
    return result;
}

/* Returns the oldest entry of the handle in the list, and takes it out unless it `stays`; NULL if there is none. */
static void *find_behind(struct live_table *table, uint64_t key, int stays)
{
    void *value = NULL;
    if (__atomic_load_n(&table->n_more, __ATOMIC_RELAXED) == 0)
        return NULL;
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->n_more && !value; i++) {
        if (table->more[i].key == key) {
            value = table->more[i].value;
            if (stays)
                break;
            memmove(&table->more[i], &table->more[i + 1], (table->n_more - i - 1) * sizeof *table->more);
            __atomic_store_n(&table->n_more, table->n_more - 1, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&table->lock);
    return value;
}

int live_table_put(struct live_table *table, uint64_t key, void *value)
{
    void *none = NULL;
    struct handle_slot *slot = begin(table) == 0 ? handle_table_add(&table->first, key) : NULL;
    if (!slot)
        return -1;
    if (__atomic_compare_exchange_n(&slot->value, &none, value, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return 0;
    return put_behind(table, key, value);
}

void *live_table_get(struct live_table *table, uint64_t key)
{
    for (struct handle_slot *slot = handle_table_find(&table->first, key); slot;
         slot = handle_table_next(&table->first, slot, key)) {
        void *value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
        if (value)
            return value;
    }
    return find_behind(table, key, 1);
}

void *live_table_take(struct live_table *table, uint64_t key)
{
    for (struct handle_slot *slot = handle_table_find(&table->first, key); slot;
         slot = handle_table_next(&table->first, slot, key)) {
        void *value = __atomic_exchange_n(&slot->value, NULL, __ATOMIC_ACQ_REL);
        if (value)
            return value;
    }
    return find_behind(table, key, 0);
}
