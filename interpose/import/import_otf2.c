/* Reads an OTF2 archive, as Score-P writes it, by libotf2: the events of one location after the other, ranks in the
 * order of MPI_COMM_WORLD. A record of a message stands between Enter and Leave of the MPI function that made it. */
#include <errno.h>
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/import/import.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/trial.h"

enum { ANCHOR_SECONDS = 5 };

struct location {
    OTF2_LocationRef id;
    OTF2_LocationGroupRef group;
    int32_t rank;    /* -1: of no process of MPI */
    uint32_t thread; /* in its process */
    uint64_t n_events;
};
struct place { /* a location group or a node of the system */
    uint32_t id, parent;
    OTF2_StringRef name, kind;
};
struct group {
    OTF2_GroupRef id;
    OTF2_GroupType type;
    uint64_t *members; /* [n] */
    uint32_t n;
};
struct otf2_communicator {
    OTF2_CommRef id;
    OTF2_GroupRef group;
    uint32_t index; /* in the process that is read; UINT32_MAX: not known to it yet */
};

struct archive {
    const char *path;
    struct import_run *run;
    struct error *error;
    bool failed;
    char file[4096];   /* that is read */
    uint64_t n_before; /* events before the one that is read */
    char **strings;    /* [n_strings] by reference; NULL: none */
    size_t n_strings;
    OTF2_StringRef *region_names; /* [n_regions] by reference */
    size_t n_regions;
    int *functions; /* [n_regions] number of the MPI function, -1: another region */
    struct location *locations;
    size_t n_locations;
    struct place *groups_of_locations, *nodes;
    size_t n_groups_of_locations, n_nodes;
    struct group *groups;
    size_t n_groups;
    struct otf2_communicator *communicators;
    size_t n_communicators;
    uint64_t ticks_per_s, start_ticks, length_ticks, unix_ns;
    uint64_t others; /* records that are not imported */

    /* Of the process that is read. */
    struct import_process *process;
    int32_t rank;
    uint32_t n_indices;
    uint64_t last_ns;
    struct import_call call; /* the MPI call that lasts */
    bool in_call;
    struct spool_operation **done, **posted; /* [n_done], [n_posted] by it; they end with it */
    size_t n_done, n_posted;
    struct {
        bool is_there;
        OTF2_CommRef comm;
        uint64_t bytes;
        uint32_t root;
    } collective;
};

static const char *string_of(const struct archive *archive, OTF2_StringRef reference)
{
    return reference < archive->n_strings && archive->strings[reference] ? archive->strings[reference] : "";
}

/* References of a damaged archive may be anything. */
enum { MOST_REFERENCE = 1 << 26 };

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef self, const char *string)
{
    struct archive *archive = data;
    if (self >= MOST_REFERENCE)
        return OTF2_CALLBACK_SUCCESS;
    while (archive->n_strings <= self)
        ARRAY_ADD(archive->strings, archive->n_strings, NULL);
    free(archive->strings[self]);
    archive->strings[self] = xstrdup(string);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_clock(void *data, uint64_t resolution, uint64_t offset, uint64_t length, uint64_t realtime)
{
    struct archive *archive = data;
    archive->ticks_per_s = resolution;
    archive->start_ticks = offset;
    archive->length_ticks = length;
    archive->unix_ns = realtime != OTF2_UNDEFINED_TIMESTAMP ? realtime : 0;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type,
                                     uint64_t n_events, OTF2_LocationGroupRef group)
{
    struct archive *archive = data;
    (void)name;
    if (type == OTF2_LOCATION_TYPE_CPU_THREAD)
        ARRAY_ADD(archive->locations, archive->n_locations,
                  (struct location){.id = self, .group = group, .rank = -1, .n_events = n_events});
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location_group(void *data, OTF2_LocationGroupRef self, OTF2_StringRef name,
                                           OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent,
                                           OTF2_LocationGroupRef creator)
{
    struct archive *archive = data;
    (void)type;
    (void)creator;
    ARRAY_ADD(archive->groups_of_locations, archive->n_groups_of_locations, (struct place){self, parent, name, 0});
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_node(void *data, OTF2_SystemTreeNodeRef self, OTF2_StringRef name, OTF2_StringRef kind,
                                 OTF2_SystemTreeNodeRef parent)
{
    struct archive *archive = data;
    ARRAY_ADD(archive->nodes, archive->n_nodes, (struct place){self, parent, name, kind});
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_region(void *data, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef canonical,
                                   OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin, uint32_t end)
{
    struct archive *archive = data;
    (void)canonical, (void)description, (void)role, (void)paradigm, (void)flags, (void)file, (void)begin, (void)end;
    if (self >= MOST_REFERENCE)
        return OTF2_CALLBACK_SUCCESS;
    while (archive->n_regions <= self)
        ARRAY_ADD(archive->region_names, archive->n_regions, OTF2_UNDEFINED_STRING);
    archive->region_names[self] = name;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_group(void *data, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t n, const uint64_t *members)
{
    struct archive *archive = data;
    (void)name;
    (void)flags;
    if (paradigm != OTF2_PARADIGM_MPI)
        return OTF2_CALLBACK_SUCCESS;
    struct group group = {.id = self, .type = type, .n = n, .members = xcalloc(n, sizeof *group.members)};
    if (n > 0)
        memcpy(group.members, members, n * sizeof *members);
    ARRAY_ADD(archive->groups, archive->n_groups, group);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_communicator(void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                         OTF2_CommRef parent, OTF2_CommFlag flags)
{
    struct archive *archive = data;
    (void)name, (void)parent, (void)flags;
    ARRAY_ADD(archive->communicators, archive->n_communicators, (struct otf2_communicator){self, group, UINT32_MAX});
    return OTF2_CALLBACK_SUCCESS;
}

static const struct group *group_of_type(const struct archive *archive, OTF2_GroupType type)
{
    for (size_t i = 0; i < archive->n_groups; i++)
        if (archive->groups[i].type == type)
            return &archive->groups[i];
    return NULL;
}

static const struct group *find_group(const struct archive *archive, OTF2_GroupRef id)
{
    for (size_t i = 0; i < archive->n_groups; i++)
        if (archive->groups[i].id == id)
            return &archive->groups[i];
    return NULL;
}

static struct location *find_location(const struct archive *archive, OTF2_LocationRef id)
{
    for (size_t i = 0; i < archive->n_locations; i++)
        if (archive->locations[i].id == id)
            return &archive->locations[i];
    return NULL;
}

static const struct place *find_place(const struct place *places, size_t n, uint32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (places[i].id == id)
            return &places[i];
    return NULL;
}

/* Returns the name of the node of a process: of the innermost part of the system that is called one. */
static const char *host_of(const struct archive *archive, OTF2_LocationGroupRef group)
{
    const struct place *process = find_place(archive->groups_of_locations, archive->n_groups_of_locations, group);
    const struct place *at = process ? find_place(archive->nodes, archive->n_nodes, process->parent) : NULL;
    const char *host = at ? string_of(archive, at->name) : NULL;
    for (size_t i = 0; at && i < archive->n_nodes; i++) {
        if (strcmp(string_of(archive, at->kind), "node") == 0)
            return string_of(archive, at->name);
        at = find_place(archive->nodes, archive->n_nodes, at->parent);
    }
    return host && *host ? host : NULL;
}

/* Numbers the processes of MPI, and threads in them. */
static int number_locations(struct archive *archive)
{
    const struct group *world = group_of_type(archive, OTF2_GROUP_TYPE_COMM_LOCATIONS);
    if (!world || world->n == 0 || world->n > IMPORT_MOST_RANKS)
        return error_set(archive->error, "%s: no MPI in this archive: expected a group of MPI's locations",
                         archive->file);
    for (uint32_t rank = 0; rank < world->n; rank++) {
        struct location *location = find_location(archive, world->members[rank]);
        if (location)
            location->rank = (int32_t)rank;
    }
    for (size_t i = 0; i < archive->n_locations; i++) {
        struct location *thread = &archive->locations[i];
        uint32_t n = 1;
        for (size_t k = 0; k < archive->n_locations && thread->rank < 0; k++) {
            const struct location *main = &archive->locations[k];
            if (k != i && main->group == thread->group && main->rank >= 0 && main->thread == 0) {
                thread->rank = main->rank;
                for (size_t j = 0; j < i; j++)
                    n += archive->locations[j].rank == main->rank && archive->locations[j].thread > 0;
                thread->thread = n;
            }
        }
    }
    archive->run->n_ranks = (int32_t)world->n;
    return 0;
}

/* Returns the process's index of a communicator, which is described to the spool at its first use. */
static uint32_t otf2_index(struct archive *archive, OTF2_CommRef id)
{
    struct otf2_communicator *communicator = NULL;
    for (size_t i = 0; i < archive->n_communicators && !communicator; i++)
        if (archive->communicators[i].id == id)
            communicator = &archive->communicators[i];
    if (!communicator)
        return SPOOL_NO_COMMUNICATOR;
    if (communicator->index != UINT32_MAX)
        return communicator->index;
    const struct group *group = find_group(archive, communicator->group);
    if (!group)
        return SPOOL_NO_COMMUNICATOR;
    int32_t *members = xcalloc(group->n, sizeof *members); /* -1: the group has no such member */
    bool is_whole = group->n == (uint32_t)archive->run->n_ranks;
    for (uint32_t i = 0; i < group->n; i++) {
        members[i] = group->members[i] < IMPORT_MOST_RANKS ? (int32_t)group->members[i] : -1;
        is_whole = is_whole && members[i] == (int32_t)i;
    }
    struct import_communicator is =
        import_members(archive->process, archive->n_indices, id, members, (int32_t)group->n);
    free(members);
    if (group->type == OTF2_GROUP_TYPE_COMM_SELF) {
        communicator->index = 1;
    } else if (is_whole && communicator == archive->communicators) {
        communicator->index = 0;
    } else if (is.rank < 0 || is.leader < 0) {
        return SPOOL_NO_COMMUNICATOR;
    } else {
        communicator->index = archive->n_indices++;
        import_communicator(archive->process, &is, archive->call.begin_ns);
    }
    return communicator->index;
}

static uint64_t ns_of(struct archive *archive, OTF2_TimeStamp time)
{
    uint64_t ticks = time > archive->start_ticks ? time - archive->start_ticks : 0;
    uint64_t most_ns = UINT64_C(1) << 57;
    double exact_ns = (double)ticks * (1e9 / (double)archive->ticks_per_s);
    uint64_t ns = exact_ns < (double)most_ns ? (uint64_t)exact_ns : most_ns;
    archive->last_ns = ns > archive->last_ns ? ns : archive->last_ns;
    return ns;
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct archive *archive = data;
    (void)location, (void)position, (void)attributes;
    uint64_t ns = ns_of(archive, time);
    archive->n_before = position;
    if (archive->in_call || region >= archive->n_regions || archive->functions[region] < 0)
        return OTF2_CALLBACK_SUCCESS;
    archive->call = (struct import_call){(enum mpistair_function)archive->functions[region], ns, 0};
    archive->in_call = true;
    archive->n_done = archive->n_posted = 0;
    archive->collective.is_there = false;
    return OTF2_CALLBACK_SUCCESS;
}

static bool is_completion(enum mpistair_function function)
{
    return IS_ONE_OF(function, FN_Wait, FN_Waitall, FN_Waitany, FN_Waitsome, FN_Test, FN_Testall, FN_Testany,
                     FN_Testsome, FN_Probe, FN_Iprobe, FN_Cancel);
}

static OTF2_CallbackCode on_leave(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                  OTF2_AttributeList *attributes, OTF2_RegionRef region)
{
    struct archive *archive = data;
    (void)location, (void)position, (void)attributes;
    uint64_t ns = ns_of(archive, time);
    archive->n_before = position;
    if (!archive->in_call || region >= archive->n_regions || archive->functions[region] != (int)archive->call.function)
        return OTF2_CALLBACK_SUCCESS;
    archive->call.end_ns = ns > archive->call.begin_ns ? ns : archive->call.begin_ns + 1;
    for (size_t i = 0; i < archive->n_posted; i++)
        import_returned(archive->posted[i], archive->call.end_ns);
    for (size_t i = 0; i < archive->n_done; i++)
        import_complete(archive->done[i], archive->call.end_ns);
    if (is_completion(archive->call.function))
        import_timed_call(archive->process, &archive->call, (uint32_t)archive->n_done);
    if (archive->collective.is_there) {
        bool has_root = archive->collective.root < IMPORT_MOST_RANKS;
        import_collective(archive->process, &archive->call, otf2_index(archive, archive->collective.comm),
                          archive->collective.bytes, has_root ? (int32_t)archive->collective.root : -1);
    }
    archive->in_call = false;
    return OTF2_CALLBACK_SUCCESS;
}

/* Records of messages outside of an MPI call stand for a call of no length. */
static const struct import_call *call_at(struct archive *archive, OTF2_TimeStamp time, enum mpistair_function function)
{
    uint64_t ns = ns_of(archive, time);
    if (!archive->in_call)
        archive->call = (struct import_call){function, ns, ns + 1};
    return &archive->call;
}

static int32_t otf2_tag(uint32_t tag)
{
    return tag <= INT32_MAX ? (int32_t)tag : SPOOL_ANY;
}

static int32_t otf2_peer(uint32_t peer)
{
    return peer <= INT32_MAX ? (int32_t)peer : SPOOL_PROC_NULL;
}

static struct spool_operation *otf2_post(struct archive *archive, OTF2_TimeStamp time, enum mpistair_function function,
                                         enum spool_direction direction, OTF2_CommRef comm, uint32_t peer, uint32_t tag,
                                         uint64_t bytes, bool blocking)
{
    const struct import_call *call = call_at(archive, time, function);
    struct spool_operation *record = import_post(archive->process, call, direction, otf2_index(archive, comm),
                                                 otf2_peer(peer), otf2_tag(tag), bytes, blocking);
    bool is_sendrecv = IS_ONE_OF(call->function, FN_Sendrecv, FN_Sendrecv_replace);
    if (archive->in_call && is_sendrecv && direction == SPOOL_RECEIVE && archive->n_posted == 1)
        import_same_call(record);
    if (archive->in_call && record)
        ARRAY_ADD(archive->posted, archive->n_posted, record);
    return record;
}

/* Notes that the call reported a request. Returns its record; NULL if it is not known. */
static struct spool_operation *otf2_report(struct archive *archive, OTF2_TimeStamp time, uint64_t request)
{
    struct spool_operation *record = import_close(archive->process, request);
    if (record && archive->in_call)
        ARRAY_ADD(archive->done, archive->n_done, record);
    else
        import_complete(record, ns_of(archive, time));
    return record;
}

static OTF2_CallbackCode on_send(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                 OTF2_AttributeList *attributes, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes)
{
    (void)location, (void)position, (void)attributes;
    otf2_post(data, time, FN_Send, SPOOL_SEND, comm, receiver, tag, bytes, true);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_recv(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                 OTF2_AttributeList *attributes, uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes)
{
    (void)location, (void)position, (void)attributes;
    otf2_post(data, time, FN_Recv, SPOOL_RECEIVE, comm, sender, tag, bytes, true);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                  OTF2_AttributeList *attributes, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t request)
{
    (void)location, (void)position, (void)attributes;
    struct spool_operation *record = otf2_post(data, time, FN_Isend, SPOOL_SEND, comm, receiver, tag, bytes, false);
    import_open(((struct archive *)data)->process, request, record);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend_complete(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                           void *data, OTF2_AttributeList *attributes, uint64_t request)
{
    (void)location, (void)position, (void)attributes;
    otf2_report(data, time, request);
    return OTF2_CALLBACK_SUCCESS;
}

/* What it receives is known when it is complete. */
static OTF2_CallbackCode on_irecv_request(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                          OTF2_AttributeList *attributes, uint64_t request)
{
    struct archive *archive = data;
    (void)location, (void)position, (void)attributes;
    const struct import_call *call = call_at(archive, time, FN_Irecv);
    struct spool_operation *record =
        import_post(archive->process, call, SPOOL_RECEIVE, 0, SPOOL_ANY, SPOOL_ANY, 0, false);
    if (archive->in_call && record)
        ARRAY_ADD(archive->posted, archive->n_posted, record);
    import_open(archive->process, request, record);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_irecv(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                  OTF2_AttributeList *attributes, uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t request)
{
    struct archive *archive = data;
    (void)location, (void)position, (void)attributes;
    uint32_t index = otf2_index(archive, comm);
    struct spool_operation *record = otf2_report(archive, time, request);
    if (!record)
        return OTF2_CALLBACK_SUCCESS;
    record->communicator = index;
    record->peer = otf2_peer(sender);
    record->tag = otf2_tag(tag);
    record->bytes = bytes;
    record->flags = (uint16_t)(record->flags & ~(unsigned)(SPOOL_ANY_SOURCE | SPOOL_ANY_TAG));
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_cancelled(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                      OTF2_AttributeList *attributes, uint64_t request)
{
    (void)location, (void)position, (void)attributes;
    struct spool_operation *record = otf2_report(data, time, request);
    if (record)
        record->flags |= SPOOL_CANCELLED;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_collective_end(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                           void *data, OTF2_AttributeList *attributes, OTF2_CollectiveOp operation,
                                           OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received)
{
    struct archive *archive = data;
    (void)location, (void)position, (void)attributes, (void)time;
    bool takes_received = operation == OTF2_COLLECTIVE_OP_BCAST || operation == OTF2_COLLECTIVE_OP_SCATTER;
    if (!archive->in_call) {
        archive->others++;
        return OTF2_CALLBACK_SUCCESS;
    }
    archive->collective.is_there = true;
    archive->collective.comm = comm;
    archive->collective.bytes = sent > 0 || !takes_received ? sent : received;
    archive->collective.root = root;
    return OTF2_CALLBACK_SUCCESS;
}

/* Counts what is not imported: calls on windows and files. */
static OTF2_CallbackCode on_rma(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data,
                                OTF2_AttributeList *attributes, OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes,
                                uint64_t matching)
{
    struct archive *archive = data;
    (void)location, (void)position, (void)time, (void)attributes, (void)window, (void)remote, (void)bytes,
        (void)matching;
    archive->others++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_GlobalDefReaderCallbacks *definitions(void)
{
    OTF2_GlobalDefReaderCallbacks *all = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(all, on_string);
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(all, on_clock);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(all, on_location);
    OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(all, on_location_group);
    OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(all, on_node);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(all, on_region);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(all, on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(all, on_communicator);
    return all;
}

static OTF2_EvtReaderCallbacks *otf2_events(void)
{
    OTF2_EvtReaderCallbacks *all = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(all, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(all, on_leave);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(all, on_send);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(all, on_recv);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(all, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(all, on_isend_complete);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(all, on_irecv_request);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(all, on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(all, on_cancelled);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(all, on_collective_end);
    OTF2_EvtReaderCallbacks_SetRmaPutCallback(all, on_rma);
    OTF2_EvtReaderCallbacks_SetRmaGetCallback(all, on_rma);
    return all;
}

/* Returns how long the path is without .otf2: that of the folder with the events. */
static int length_of_name(const char *anchor)
{
    return (int)(ends_with(anchor, ".otf2") ?: strlen(anchor));
}

/* Says which file of the folder with the events is read now. */
static void set_file(struct archive *archive, OTF2_LocationRef id, const char *suffix)
{
    snprintf(archive->file, sizeof archive->file, "%.*s/%" PRIu64 ".%s", length_of_name(archive->path), archive->path,
             id, suffix);
}

/* libotf2 prints its errors unless it is given this. */
static OTF2_ErrorCode keep_error(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                                 const char *format, va_list arguments)
{
    struct archive *archive = data;
    char text[512];
    (void)file, (void)line, (void)function;
    vsnprintf(text, sizeof text, format, arguments);
    if (!archive->failed)
        error_set(archive->error, "%s: behind %" PRIu64 " events: libotf2: %s: %s", archive->file, archive->n_before,
                  OTF2_Error_GetDescription(code), text);
    archive->failed = true;
    return code;
}

static int read_definitions(struct archive *archive, OTF2_Reader *reader)
{
    uint64_t n = 0;
    snprintf(archive->file, sizeof archive->file, "%.*s.def", length_of_name(archive->path), archive->path);
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *callbacks = definitions();
    OTF2_ErrorCode code = global ? OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, callbacks, archive)
                                 : OTF2_ERROR_INVALID_ARGUMENT;
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    if (code == OTF2_SUCCESS)
        code = OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &n);
    if (code != OTF2_SUCCESS || archive->failed)
        return archive->failed ? -1
                               : error_set(archive->error, "%s: cannot be read: %s", archive->file,
                                           OTF2_Error_GetDescription(code));
    if (archive->ticks_per_s == 0)
        return error_set(archive->error, "%s: expected the properties of the clock", archive->file);
    archive->functions = xcalloc(archive->n_regions, sizeof *archive->functions);
    for (size_t i = 0; i < archive->n_regions; i++)
        archive->functions[i] = import_function(string_of(archive, archive->region_names[i]));
    return number_locations(archive);
}

/* Definitions of a location map its numbers to those of all. */
static void open_locations(struct archive *archive, OTF2_Reader *reader)
{
    for (size_t i = 0; i < archive->n_locations; i++)
        OTF2_Reader_SelectLocation(reader, archive->locations[i].id);
    bool has_definitions = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS;
    OTF2_Reader_OpenEvtFiles(reader);
    for (size_t i = 0; i < archive->n_locations; i++) {
        uint64_t n;
        set_file(archive, archive->locations[i].id, "def");
        OTF2_DefReader *local = has_definitions ? OTF2_Reader_GetDefReader(reader, archive->locations[i].id) : NULL;
        if (local) {
            OTF2_Reader_ReadAllLocalDefinitions(reader, local, &n);
            OTF2_Reader_CloseDefReader(reader, local);
        }
        set_file(archive, archive->locations[i].id, "evt");
        OTF2_Reader_GetEvtReader(reader, archive->locations[i].id);
    }
    if (has_definitions)
        OTF2_Reader_CloseDefFiles(reader);
}

static int read_location(struct archive *archive, OTF2_Reader *reader, const struct location *location)
{
    set_file(archive, location->id, "evt");
    archive->n_before = 0;
    OTF2_EvtReader *local = OTF2_Reader_GetEvtReader(reader, location->id);
    uint64_t n = 0;
    if (!local && location->n_events > 0 && !archive->failed)
        return error_set(archive->error, "%s: cannot be read: expected %" PRIu64 " events of rank %" PRId32,
                         archive->file, location->n_events, location->rank);
    if (archive->failed)
        return -1;
    if (!local)
        return 0;
    OTF2_EvtReaderCallbacks *callbacks = otf2_events();
    archive->in_call = false;
    import_thread(archive->process, location->thread);
    OTF2_ErrorCode code = OTF2_Reader_RegisterEvtCallbacks(reader, local, callbacks, archive);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    if (code == OTF2_SUCCESS)
        code = OTF2_Reader_ReadAllLocalEvents(reader, local, &n);
    OTF2_Reader_CloseEvtReader(reader, local);
    if (archive->failed)
        return -1;
    if (code == OTF2_SUCCESS && n >= location->n_events)
        return 0;
    return error_set(archive->error, "%s: behind %" PRIu64 " events: expected %" PRIu64 ": %s", archive->file, n,
                     location->n_events, code == OTF2_SUCCESS ? "cut off" : OTF2_Error_GetDescription(code));
}

static int read_rank(struct archive *archive, OTF2_Reader *reader, int32_t rank)
{
    const char *host = NULL;
    for (size_t i = 0; i < archive->n_locations && !host; i++)
        if (archive->locations[i].rank == rank)
            host = host_of(archive, archive->locations[i].group);
    archive->process = import_begin(archive->run, rank, host, archive->error);
    if (!archive->process)
        return -1;
    archive->rank = rank;
    archive->n_indices = 2;
    archive->last_ns = 0;
    for (size_t i = 0; i < archive->n_communicators; i++)
        archive->communicators[i].index = UINT32_MAX;
    for (size_t i = 0; i < archive->n_locations; i++)
        if (archive->locations[i].rank == rank && read_location(archive, reader, &archive->locations[i]) != 0) {
            import_cancel(archive->process);
            return -1;
        }
    return import_end(archive->process, archive->last_ns + 1, archive->error);
}

static void otf2_release(struct archive *archive)
{
    for (size_t i = 0; i < archive->n_strings; i++)
        free(archive->strings[i]);
    for (size_t i = 0; i < archive->n_groups; i++)
        free(archive->groups[i].members);
    free(archive->strings);
    free(archive->region_names);
    free(archive->functions);
    free(archive->locations);
    free(archive->groups_of_locations);
    free(archive->nodes);
    free(archive->groups);
    free(archive->communicators);
    free(archive->done);
    free(archive->posted);
}

/* libotf2 says of most of this only that something is invalid. */
static int check_files(const char *anchor, struct error *error)
{
    struct stat status;
    if (stat(anchor, &status) != 0)
        return error_set(error, "%s: cannot be opened: %s", anchor, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return error_set(error, "%s: a folder: expected the anchor of an archive, such as traces.otf2 in it", anchor);
    if (access(anchor, R_OK) != 0)
        return error_set(error, "%s: cannot be read: %s", anchor, strerror(errno));
    char *definitions = xasprintf("%.*s.def", length_of_name(anchor), anchor);
    int result = 0;
    if (status.st_size > 0 && access(definitions, R_OK) != 0)
        result = error_set(error, "%s: expected the definitions of %s: %s", definitions, anchor, strerror(errno));
    free(definitions);
    return result;
}

/* Comes to an end with most anchors. libotf2 trusts the counts in there: a damaged one keeps it busy for minutes. */
static bool ends(const void *path)
{
    OTF2_Reader_Open(path);
    return true;
}

int import_otf2(const char *path, struct import_run *run, struct error *error)
{
    if (check_files(path, error) != 0)
        return -1;
    struct archive archive = {.path = path, .run = run, .error = error};
    snprintf(archive.file, sizeof archive.file, "%s", path);
    OTF2_Error_RegisterCallback(keep_error, &archive);
    OTF2_Reader *reader = NULL;
    int result = trial_run(ends, path, ANCHOR_SECONDS, 0) != 0
                     ? 0
                     : error_set(error, "%s: expected an anchor: libotf2 does not come to an end with it", path);
    if (result == 0 && (reader = OTF2_Reader_Open(path)) == NULL)
        result = archive.failed ? -1 : error_set(error, "%s: no OTF2 archive that can be read", path);
    static char format[512];
    if (result == 0) {
        OTF2_Reader_SetSerialCollectiveCallbacks(reader);
        char *creator = NULL;
        if (OTF2_Reader_GetCreator(reader, &creator) != OTF2_SUCCESS)
            creator = NULL;
        snprintf(format, sizeof format, "OTF2 archive%s%s", creator ? " of " : "", creator ? creator : "");
        free(creator);
        run->format = format;
        result = read_definitions(&archive, reader);
    }
    if (result == 0) {
        struct stat anchor;
        bool has_anchor = stat(path, &anchor) == 0 && anchor.st_mtime > 0;
        run->started_unix_ns = archive.unix_ns > 0 ? archive.unix_ns
                               : has_anchor        ? (uint64_t)anchor.st_mtime * UINT64_C(1000000000)
                                                   : 0;
        open_locations(&archive, reader);
        for (int32_t rank = 0; rank < run->n_ranks && result == 0; rank++)
            result = read_rank(&archive, reader, rank);
        OTF2_Reader_CloseEvtFiles(reader);
    }
    if (reader)
        OTF2_Reader_Close(reader);
    OTF2_Error_RegisterCallback(NULL, NULL);
    if (result == 0 && archive.others > 0)
        inform("%s: %" PRIu64 " records of one-sided calls, and of collectives outside of calls, are not imported",
               path, archive.others);
    otf2_release(&archive);
    return result;
}
