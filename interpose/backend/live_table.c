/* See live_table.h. */
#include "live_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int live_table_put(struct live_table *table, uint64_t key, uint64_t value)
{
    int saved_errno = errno, result = 0;
    pthread_mutex_lock(&table->lock);
    if (table->n == table->room) {
        size_t room = table->room ? table->room * 2 : 64;
        struct live_handle *wider = realloc(table->live, room * sizeof *wider);
        if (wider) {
            table->live = wider;
            table->room = room;
        }
        result = wider ? 0 : -1;
    }
    if (result == 0)
        table->live[table->n++] = (struct live_handle){key, value};
    pthread_mutex_unlock(&table->lock);
    errno = saved_errno;
    return result;
}

static uint64_t find(struct live_table *table, uint64_t key, int take)
{
    uint64_t value = 0;
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->n; i++) {
        if (table->live[i].key == key) {
            value = table->live[i].value;
            if (take) {
                table->n--;
                memmove(&table->live[i], &table->live[i + 1], (table->n - i) * sizeof *table->live);
            }
            break;
        }
    }
    pthread_mutex_unlock(&table->lock);
    return value;
}

uint64_t live_table_get(struct live_table *table, uint64_t key)
{
    return find(table, key, 0);
}

uint64_t live_table_take(struct live_table *table, uint64_t key)
{
    return find(table, key, 1);
}
