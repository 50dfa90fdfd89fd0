/* Communicators of OTF2 are groups of ranks of MPI_COMM_WORLD.
 *
 * Messages of an intercommunicator bear the smaller id of both of its groups. OTF2 has InterComm for it, which
 * python3-otf2 3.0.2 cannot read, nor a reader older than OTF2 3. So it is a communicator with the ranks of both, the
 * group of the smaller id first. */
#include "report/export/otf2_writer.h"

#include <stdlib.h>

#include "share/base/array.h"

/* Returns the index of the other group of an intercommunicator, or NAME_NONE. */
static uint32_t other_group(const struct export_names *names, size_t i)
{
    int64_t remote = names->comms[i].remote;
    return remote >= 0 ? names_comm(names, remote) : NAME_NONE;
}

/* Counts the members of each communicator. A rank in it is the position among those that the trace knows. */
static int read_members(struct otf2 *out)
{
    struct export *export = out->export;
    struct cursor rows;
    cursor_open(&rows, export->database, export->path,
                "SELECT communicator, world_rank FROM communicator_member ORDER BY communicator, rank", export->error);
    while (cursor_next(&rows)) {
        int64_t id = cursor_integer(&rows, 0), world_rank = cursor_integer(&rows, 1);
        uint32_t comm = names_comm(&out->names, id);
        struct map_key key = {(uint64_t)id, (uint64_t)world_rank, 0};
        if (comm == NAME_NONE)
            continue;
        uint32_t *place = map_at(&out->rank_in_comm, key);
        if (world_rank < 0 || (size_t)world_rank >= export->selection.n_ranks)
            rows.result =
                error_set(export->error, "%s: communicator_member: rank %lld; the table process has %zu ranks",
                          export->path, (long long)world_rank, export->selection.n_ranks);
        else if (place == NULL)
            cursor_no_memory(&rows);
        else if (*place == MAP_ABSENT)
            *place = out->comm_sizes[comm]++;
    }
    return cursor_close(&rows);
}

/* The k-th window that processes made of a communicator is the same one on all of them. */
static const char windows_sql[] =
    "SELECT rank, comm, window, row_number() OVER (PARTITION BY rank, comm ORDER BY window) FROM"
    " (SELECT DISTINCT rank, comm, window FROM rma WHERE comm IS NOT NULL AND window IS NOT NULL)";

static int read_windows(struct otf2 *out)
{
    struct export *export = out->export;
    struct cursor rows;
    struct map same = {0};
    cursor_open(&rows, export->database, export->path, windows_sql, export->error);
    while (cursor_next(&rows)) {
        uint32_t comm = names_comm(&out->names, cursor_integer(&rows, 1));
        struct map_key key = {(uint64_t)cursor_integer(&rows, 1), (uint64_t)cursor_integer(&rows, 3), 0};
        struct map_key own = {(uint64_t)cursor_integer(&rows, 0), (uint64_t)cursor_integer(&rows, 2), 0};
        uint32_t *window = map_at(&same, key), *place = map_at(&out->window_of, own);
        if (comm == NAME_NONE)
            continue;
        if (window == NULL || place == NULL ||
            (*window == MAP_ABSENT && array_grow(&out->windows, out->n_windows, sizeof *out->windows) != 0)) {
            cursor_no_memory(&rows);
            break;
        }
        if (*window == MAP_ABSENT) {
            *window = (uint32_t)out->n_windows;
            out->windows[out->n_windows++].comm = out->comm_refs[comm];
        }
        *place = *window;
    }
    map_release(&same);
    return cursor_close(&rows);
}

/* Numbers the communicators, an intercommunicator by its group with the smaller id. */
static int number_comms(struct otf2 *out)
{
    const struct export_names *names = &out->names;
    out->comm_refs = calloc(names->n_comms + 1, sizeof *out->comm_refs);
    out->comm_sizes = calloc(names->n_comms + 1, sizeof *out->comm_sizes);
    if (out->comm_refs == NULL || out->comm_sizes == NULL)
        return error_set(out->export->error, "%s: no memory for %zu communicators", out->export->path, names->n_comms);
    for (size_t i = 0; i < names->n_comms; i++) {
        uint32_t other = other_group(names, i);
        out->comm_refs[i] = other < i ? out->comm_refs[other] : out->n_comm_refs++;
    }
    return 0;
}

int otf2_comms_read(struct otf2 *out)
{
    return number_comms(out) != 0 || read_members(out) != 0 ? -1 : read_windows(out);
}

static struct otf2_place find_place(const struct otf2 *out, int64_t comm, int64_t world_rank)
{
    struct otf2_place unknown = {out->n_comm_refs, (uint32_t)world_rank, false};
    uint32_t index = names_comm(&out->names, comm), before = 0;
    if (index == NAME_NONE || world_rank < 0)
        return unknown;
    uint32_t other = other_group(&out->names, index);
    uint32_t rank = map_find(&out->rank_in_comm, (struct map_key){(uint64_t)comm, (uint64_t)world_rank, 0});
    if (rank != MAP_ABSENT) {
        before = other < index ? out->comm_sizes[other] : 0;
    } else if (other != NAME_NONE) {
        uint64_t id = (uint64_t)out->names.comms[other].id;
        rank = map_find(&out->rank_in_comm, (struct map_key){id, (uint64_t)world_rank, 0});
        before = other > index ? out->comm_sizes[index] : 0;
    }
    return rank == MAP_ABSENT ? unknown : (struct otf2_place){out->comm_refs[index], before + rank, true};
}

struct otf2_place otf2_place(struct otf2 *out, int64_t comm, int64_t world_rank)
{
    struct otf2_place place = find_place(out, comm, world_rank);
    out->unknown_comm = out->unknown_comm || !place.known;
    return place;
}

/* Group 0 has all ranks, group i + 1 those of communicator i of the archive. */
static bool define_group(OTF2_GlobalDefWriter *writer, OTF2_GroupRef group, OTF2_GroupType type, uint32_t n,
                         const uint64_t *members)
{
    return OTF2_GlobalDefWriter_WriteGroup(writer, group, 0, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, n,
                                           members) == OTF2_SUCCESS;
}

/* Adds the members of a communicator to the n that are there; members[n_ranks]. */
static int add_members(struct otf2 *out, int64_t id, uint64_t *members, uint32_t *n)
{
    struct export *export = out->export;
    struct cursor rows;
    cursor_open(&rows, export->database, export->path,
                "SELECT world_rank FROM communicator_member WHERE communicator = ? ORDER BY rank", export->error);
    if (rows.result == 0)
        sqlite3_bind_int64(rows.statement, 1, id);
    while (cursor_next(&rows))
        if (*n < export->selection.n_ranks)
            members[(*n)++] = (uint64_t)cursor_integer(&rows, 0);
    return cursor_close(&rows);
}

static int define_groups(struct otf2 *out, OTF2_GlobalDefWriter *writer, uint64_t *members)
{
    const struct export_names *names = &out->names;
    int result = 0;
    for (size_t i = 0; result == 0 && i < names->n_comms; i++) {
        uint32_t other = other_group(names, i), n = 0;
        if (other < i)
            continue; /* is there with its other group */
        result = add_members(out, names->comms[i].id, members, &n);
        if (result == 0 && other != NAME_NONE && other != i)
            result = add_members(out, names->comms[other].id, members, &n);
        if (result == 0 && !define_group(writer, out->comm_refs[i] + 1, OTF2_GROUP_TYPE_COMM_GROUP, n, members))
            result = otf2_failure(out);
    }
    return result;
}

static int define_comms(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    const struct export_names *names = &out->names;
    bool good = true;
    OTF2_StringRef string;
    for (size_t i = 0; good && i < names->n_comms; i++) {
        OTF2_CommRef comm = out->comm_refs[i];
        if (other_group(names, i) < i)
            continue;
        good = otf2_string(writer, next_string, names->comms[i].name.text, &string) &&
               OTF2_GlobalDefWriter_WriteComm(writer, comm, string, comm + 1, OTF2_UNDEFINED_COMM,
                                              OTF2_COMM_FLAG_NONE) == OTF2_SUCCESS;
    }
    return good ? 0 : otf2_failure(out);
}

/* Defines the communicator of those whose members are not known, with all ranks. */
static bool define_unknown(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    OTF2_CommRef comm = out->n_comm_refs;
    OTF2_StringRef string;
    return otf2_string(writer, next_string, "communicator whose members are not known", &string) &&
           OTF2_GlobalDefWriter_WriteComm(writer, comm, string, comm + 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE) ==
               OTF2_SUCCESS;
}

static int define_windows(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    bool good = true;
    OTF2_StringRef string;
    char text[64];
    for (size_t i = 0; good && i < out->n_windows; i++) {
        snprintf(text, sizeof text, "window %zu", i + 1);
        good = otf2_string(writer, next_string, text, &string) &&
               OTF2_GlobalDefWriter_WriteRmaWin(writer, (OTF2_RmaWinRef)i, string, out->windows[i].comm,
                                                OTF2_RMA_WIN_FLAG_NONE) == OTF2_SUCCESS;
    }
    return good ? 0 : otf2_failure(out);
}

int otf2_comms_define(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    size_t n = out->export->selection.n_ranks;
    uint64_t *members = malloc((n + 1) * sizeof *members);
    if (members == NULL)
        return error_set(out->export->error, "%s: no memory for %zu ranks", out->export->path, n);
    for (size_t i = 0; i < n; i++)
        members[i] = i;
    bool good = define_group(writer, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, (uint32_t)n, members);
    int result = good ? define_groups(out, writer, members) : otf2_failure(out);
    for (size_t i = 0; i < n; i++) /* which that has overwritten */
        members[i] = i;
    if (result == 0 && out->unknown_comm &&
        !define_group(writer, out->n_comm_refs + 1, OTF2_GROUP_TYPE_COMM_GROUP, (uint32_t)n, members))
        result = otf2_failure(out);
    if (result == 0)
        result = define_comms(out, writer, next_string);
    if (result == 0 && out->unknown_comm && !define_unknown(out, writer, next_string))
        result = otf2_failure(out);
    if (result == 0)
        result = define_windows(out, writer, next_string);
    free(members);
    return result;
}
