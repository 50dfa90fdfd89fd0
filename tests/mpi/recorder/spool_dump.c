/* Prints one spool as lines for the tests of the recorder, straight from event.h: it shares no code with ingest.
 *
 *     header rank=0 size=2 ... | lane=0 operation Isend send comm=0 peer=1 ... | lane=0 call Wait completed=1 ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/spool/area.h"
#include "interpose/functions.h"

#define NAME(name, family) #name,
static const char *const names[] = {MPISTAIR_FUNCTIONS(NAME)};

static void print_header(const struct spool_header *h)
{
    printf("header rank=%d size=%d leader=%d end=%u thread=%d family=%u clock=%u chunks=%u finish=%d key=%s "
           "topology=%d maps=%d pid=%u",
           h->rank, h->world_size, h->node_leader, h->end, h->thread_level, h->family, h->clock_source, h->chunks,
           h->finish.ticks != 0, h->run_key, h->topology[0] != '\0', h->maps[0] != '\0', h->pid);
    for (int cause = 0; cause < SPOOL_LOSS_COUNT; cause++)
        if (h->lost[cause] > 0)
            printf(" lost%d=%llu", cause, (unsigned long long)h->lost[cause]);
    printf(" rtt=%llu table=%d eager=%llu,%llu own_cost_ps=%llu\n", (unsigned long long)h->link_init.rtt_ns,
           h->table_hash == MPISTAIR_TABLE_HASH, (unsigned long long)h->eager_limit_bytes,
           (unsigned long long)h->eager_limit_network_bytes, (unsigned long long)h->own_cost_ps);
    for (uint32_t function = 0; function < h->n_functions; function++)
        if (h->calls[function] > 0)
            printf("passed %s %llu\n", names[function], (unsigned long long)h->calls[function]);
}

static void print_operation(const struct spool_operation *o)
{
    printf("operation %s %s comm=%u peer=%d tag=%d bytes=%llu complete=%d flags=%u persistent=%u site=%d cpu=%d,%d "
           "ticks=%llu,%llu\n",
           names[o->function], o->direction == SPOOL_SEND ? "send" : "receive", o->communicator, o->peer, o->tag,
           (unsigned long long)o->bytes, o->complete_ticks != 0, o->flags, o->persistent, o->site != 0, o->cpu_post,
           o->cpu_complete, (unsigned long long)o->post_ticks, (unsigned long long)o->complete_ticks);
}

static void print_communicator(const struct spool_communicator *comm)
{
    printf("communicator index=%u identity=%u parent=%u creation=%u leader=%d size=%d rank=%d remote=%d hash=%d\n",
           comm->index, comm->identity, comm->parent, comm->creation, comm->leader, comm->size, comm->rank,
           comm->remote_size, comm->members_hash != 0);
}

static void print_collective(const struct spool_collective *c)
{
    printf("collective %s comm=%u bytes=%llu root=%d ended=%d flags=%u persistent=%u\n", names[c->function],
           c->communicator, (unsigned long long)c->bytes, c->root, c->end_ticks >= c->begin_ticks, c->flags,
           c->persistent);
}

static void print_persistent(const struct spool_persistent *p)
{
    printf("persistent %s number=%u comm=%u peer=%d tag=%d bytes=%llu partitions=%u site=%d\n", names[p->function],
           p->number, p->communicator, p->peer, p->tag, (unsigned long long)p->bytes, p->partitions, p->site != 0);
}

static void print_access(const struct spool_access *r)
{
    printf("access %s comm=%u object=%u target=%d bytes=%llu ended=%d flags=%u\n", names[r->function], r->communicator,
           r->object, r->target, (unsigned long long)r->bytes, r->end_ticks >= r->begin_ticks, r->flags);
}

/* Prints the record; returns its size, 0 for none. */
static size_t print_record(uint32_t lane, const uint8_t *record)
{
    const struct spool_call *call = (const void *)record;
    const struct spool_idle *idle = (const void *)record;
    const struct spool_partitions *partitions = (const void *)record;
    const struct spool_partition *partition = (const void *)record;
    const struct spool_name *name = (const void *)record;
    const struct spool_stack *stack = (const void *)record;
    const struct spool_region *region = (const void *)record;
    const struct spool_region_name *region_name = (const void *)record;
    if (record[0] == SPOOL_NONE)
        return 0;
    printf("lane=%u ", lane);
    switch (record[0]) {
    case SPOOL_OPERATION:
        print_operation((const void *)record);
        return sizeof(struct spool_operation);
    case SPOOL_CALL:
        printf("call %s completed=%u site=%d\n", names[call->function], call->completed, call->site != 0);
        return sizeof *call;
    case SPOOL_IDLE:
        printf("idle %s calls=%u timed=%u ticks=%llu site=%d\n", names[idle->function], idle->calls, idle->timed,
               (unsigned long long)spool_idle_ticks(idle), idle->site != 0);
        return sizeof *idle;
    case SPOOL_COLLECTIVE:
        print_collective((const void *)record);
        return sizeof(struct spool_collective);
    case SPOOL_COMMUNICATOR:
        print_communicator((const void *)record);
        return sizeof(struct spool_communicator);
    case SPOOL_PERSISTENT:
        print_persistent((const void *)record);
        return sizeof(struct spool_persistent);
    case SPOOL_PARTITIONS:
        printf("partitions number=%u done=%u of=%u first=%d last=%d\n", partitions->number, partitions->done,
               partitions->partitions, partitions->first_ticks != 0, partitions->last_ticks != 0);
        return sizeof *partitions;
    case SPOOL_PARTITION:
        printf("partition %s number=%u partition=%u\n", names[partition->function], partition->number,
               partition->partition);
        return sizeof *partition;
    case SPOOL_ACCESS:
        print_access((const void *)record);
        return sizeof(struct spool_access);
    case SPOOL_MARK:
        printf("mark %d\n", ((const struct spool_mark *)(const void *)record)->number);
        return sizeof(struct spool_mark);
    case SPOOL_NAME:
        printf("name index=%u %s\n", name->index, name->name);
        return sizeof *name;
    case SPOOL_STACK:
        printf("stack number=%u frames=%u\n", stack->number, stack->frames);
        return spool_stack_bytes(stack->frames, stack->timed);
    case SPOOL_REGION:
        printf("region %u flags=%u\n", region->region, region->flags);
        return sizeof *region;
    case SPOOL_REGION_NAME:
        printf("region name %u in=%u \"%.*s\"\n", region_name->region, region_name->parent, (int)region_name->bytes,
               region_name->name);
        return spool_region_name_bytes(region_name->bytes);
    default:
        printf("damaged type=%d\n", record[0]);
        return 0;
    }
}

/* Prints what the recorder has added up, of a process that ended well. */
static void print_totals(FILE *file, const struct spool_header *header)
{
    static struct spool_area area;
    if (header->totals_bytes == 0 || fread(&area, 1, sizeof area, file) != sizeof area)
        return;
    for (int i = 0; i < TOTALS_SLOTS; i++)
        if (area.slots[i].calls > 0)
            printf("total %s peer=%d flags=%d calls=%llu bytes=%llu\n", names[area.slots[i].function],
                   area.slots[i].peer, area.slots[i].flags, (unsigned long long)area.slots[i].calls,
                   (unsigned long long)area.slots[i].bytes);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    static uint8_t header[SPOOL_HEADER_BYTES], chunk[SPOOL_CHUNK_BYTES];
    if (!file || fread(header, 1, sizeof header, file) != sizeof header) {
        fprintf(stderr, "usage: spool_dump SPOOL\n");
        return 2;
    }
    const struct spool_header *h = (const void *)header;
    if (h->magic != SPOOL_MAGIC)
        return 1;
    print_header(h);
    print_totals(file, h);
    if (fseek(file, SPOOL_CHUNKS_BEGIN, SEEK_SET) != 0)
        return 1;
    for (uint32_t i = 0; i < h->chunks; i++) {
        memset(chunk, 0, sizeof chunk);
        size_t bytes = fread(chunk, 1, sizeof chunk, file);
        const struct spool_chunk *c = (const void *)chunk;
        if (bytes == 0)
            break;
        if (c->magic != SPOOL_CHUNK_MAGIC)
            continue;
        for (size_t at = sizeof *c, size; at < bytes && (size = print_record(c->lane, chunk + at)) > 0; at += size)
            ;
    }
    fclose(file);
    return 0;
}
