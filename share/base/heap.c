/* The event-driven models change keys of entries deep in the heap, so entries move by holes and, where asked for, their
 * places are known. See heap.h. */
#include "share/base/heap.h"

#include "share/base/array.h"

static void put(struct heap *heap, size_t at, struct heap_entry entry)
{
    heap->entries[at] = entry;
    if (heap->place != NULL)
        heap->place[entry.id] = at;
}

static void rise(struct heap *heap, size_t at, struct heap_entry entry)
{
    while (at > 0 && entry.key < heap->entries[(at - 1) / 2].key) {
        put(heap, at, heap->entries[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(heap, at, entry);
}

static void sink(struct heap *heap, size_t at, struct heap_entry entry)
{
    for (size_t child = 2 * at + 1; child < heap->n; child = 2 * at + 1) {
        if (child + 1 < heap->n && heap->entries[child + 1].key < heap->entries[child].key)
            child++;
        if (!(heap->entries[child].key < entry.key))
            break;
        put(heap, at, heap->entries[child]);
        at = child;
    }
    put(heap, at, entry);
}

/* Puts an entry where another one was. */
static void move(struct heap *heap, size_t at, struct heap_entry entry)
{
    if (at > 0 && entry.key < heap->entries[(at - 1) / 2].key)
        rise(heap, at, entry);
    else
        sink(heap, at, entry);
}

void heap_push(struct heap *heap, double key, uint32_t id)
{
    array_reserve(&heap->entries, &heap->room, heap->n + 1, sizeof *heap->entries);
    rise(heap, heap->n++, (struct heap_entry){key, id});
}

struct heap_entry heap_pop(struct heap *heap)
{
    struct heap_entry first = heap->entries[0];
    heap_remove_at(heap, 0);
    return first;
}

void heap_set(struct heap *heap, double key, uint32_t id, bool is_in)
{
    size_t place = heap->place[id];
    if (is_in && place == HEAP_ABSENT)
        heap_push(heap, key, id);
    else if (is_in)
        move(heap, place, (struct heap_entry){key, id});
    else if (place != HEAP_ABSENT)
        heap_remove_at(heap, place);
}

void heap_remove_at(struct heap *heap, size_t at)
{
    if (heap->place != NULL)
        heap->place[heap->entries[at].id] = HEAP_ABSENT;
    if (at != --heap->n)
        move(heap, at, heap->entries[heap->n]);
}
