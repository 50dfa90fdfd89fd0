/* Defines the clock, the machine, the ranks, the functions. Text is a definition of its own, string 0 is empty. */
#include "report/export/otf2_writer.h"

#include <inttypes.h>

bool otf2_string(OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string, const char *text, OTF2_StringRef *string)
{
    *string = (*next_string)++;
    return OTF2_GlobalDefWriter_WriteString(writer, *string, text) == OTF2_SUCCESS;
}

static int define_clock(struct otf2 *out, OTF2_GlobalDefWriter *writer)
{
    struct export *export = out->export;
    struct cursor rows;
    int64_t started_ns = 0;
    cursor_open(&rows, export->database, export->path, "SELECT started_unix_ns FROM run", export->error);
    if (cursor_next(&rows))
        started_ns = cursor_integer(&rows, 0);
    if (cursor_close(&rows) != 0)
        return -1;
    uint64_t length_ns = out->last_ns > out->base_ns ? (uint64_t)(out->last_ns - out->base_ns) : 0;
    uint64_t realtime_ns = started_ns > 0 ? (uint64_t)started_ns - (uint64_t)-out->base_ns : OTF2_UNDEFINED_TIMESTAMP;
    return OTF2_GlobalDefWriter_WriteClockProperties(writer, 1000000000, 0, length_ns, realtime_ns) == OTF2_SUCCESS
               ? 0
               : otf2_failure(out);
}

static bool define_paradigm(OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    OTF2_StringRef string;
    return otf2_string(writer, next_string, "MPI", &string) &&
           OTF2_GlobalDefWriter_WriteParadigm(writer, OTF2_PARADIGM_MPI, string, OTF2_PARADIGM_CLASS_PROCESS) ==
               OTF2_SUCCESS;
}

static int define_regions(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    OTF2_StringRef name, place, file;
    bool good = otf2_string(writer, next_string, "application", &name) &&
                OTF2_GlobalDefWriter_WriteRegion(writer, 0, name, name, 0, OTF2_REGION_ROLE_FUNCTION,
                                                 OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 0, 0, 0) == OTF2_SUCCESS;
    for (size_t i = 0; good && i < out->n_regions; i++) {
        const struct otf2_region *region = &out->regions[i];
        const struct named_site *site = region->site != NAME_NONE ? &out->names.sites[region->site] : NULL;
        place = file = 0;
        good = otf2_string(writer, next_string, out->names.functions[region->function].name.text, &name) &&
               (site == NULL || otf2_string(writer, next_string, site->place.text, &place)) &&
               (site == NULL || site->file.text[0] == '\0' || otf2_string(writer, next_string, site->file.text, &file));
        uint32_t line = site != NULL && site->line > 0 && site->line < UINT32_MAX ? (uint32_t)site->line : 0;
        good = good && OTF2_GlobalDefWriter_WriteRegion(writer, (OTF2_RegionRef)i + 1, name, name, place, region->role,
                                                        OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, file, line,
                                                        line) == OTF2_SUCCESS;
    }
    return good ? 0 : otf2_failure(out);
}

/* Writes the nodes below one machine, in the order of their ids. */
static int define_nodes(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    struct export *export = out->export;
    struct cursor rows;
    struct pool pool = {0};
    OTF2_StringRef name, machine, node_class;
    OTF2_SystemTreeNodeRef node = 0;
    bool good = otf2_string(writer, next_string, "machine", &machine) &&
                otf2_string(writer, next_string, "node", &node_class) &&
                OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 0, machine, machine,
                                                         OTF2_UNDEFINED_SYSTEM_TREE_NODE) == OTF2_SUCCESS;
    cursor_open(&rows, export->database, export->path, "SELECT host FROM node ORDER BY id", export->error);
    while (good && cursor_next(&rows))
        good = otf2_string(writer, next_string, cursor_text(&rows, 0, &pool), &name) &&
               OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, ++node, name, node_class, 0) == OTF2_SUCCESS;
    pool_release(&pool);
    if (cursor_close(&rows) != 0)
        return -1;
    return good ? 0 : otf2_failure(out);
}

/* Defines a process for each rank on its node; one without a place is on the machine. */
static int define_ranks(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    struct export *export = out->export;
    struct cursor rows;
    OTF2_StringRef name;
    bool good = true;
    char text[64];
    cursor_open(&rows, export->database, export->path,
                "SELECT rank, coalesce(n.nth, 0) FROM process LEFT JOIN"
                " (SELECT id, row_number() OVER (ORDER BY id) AS nth FROM node) n ON n.id = process.node ORDER BY rank",
                export->error);
    while (good && cursor_next(&rows)) {
        uint32_t rank = (uint32_t)cursor_integer(&rows, 0);
        OTF2_SystemTreeNodeRef node = (OTF2_SystemTreeNodeRef)cursor_integer(&rows, 1);
        snprintf(text, sizeof text, "rank %" PRIu32, rank);
        good = otf2_string(writer, next_string, text, &name) &&
               OTF2_GlobalDefWriter_WriteLocationGroup(writer, rank, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, node,
                                                       OTF2_UNDEFINED_LOCATION_GROUP) == OTF2_SUCCESS;
    }
    if (cursor_close(&rows) != 0)
        return -1;
    return good ? 0 : otf2_failure(out);
}

static int define_locations(struct otf2 *out, OTF2_GlobalDefWriter *writer, OTF2_StringRef *next_string)
{
    OTF2_StringRef name;
    bool good = true;
    char text[64];
    for (size_t i = 0; good && i < out->n_locations; i++) {
        const struct otf2_location *location = &out->locations[i];
        OTF2_LocationRef ref = (OTF2_LocationRef)location->lane * out->export->selection.n_ranks + location->rank;
        int n = snprintf(text, sizeof text, "rank %" PRIu32, location->rank);
        if (location->lane > 0)
            snprintf(text + n, sizeof text - (size_t)n, ", thread %" PRIu32, location->lane + 1);
        good = otf2_string(writer, next_string, text, &name) &&
               OTF2_GlobalDefWriter_WriteLocation(writer, ref, name, OTF2_LOCATION_TYPE_CPU_THREAD, location->n_events,
                                                  location->rank) == OTF2_SUCCESS;
    }
    return good ? 0 : otf2_failure(out);
}

int otf2_definitions_write(struct otf2 *out)
{
    OTF2_GlobalDefWriter *writer = OTF2_Archive_GetGlobalDefWriter(out->archive);
    OTF2_StringRef next_string = 0, empty;
    if (writer == NULL || !otf2_string(writer, &next_string, "", &empty) || !define_paradigm(writer, &next_string))
        return otf2_failure(out);
    if (define_clock(out, writer) != 0 || define_nodes(out, writer, &next_string) != 0 ||
        define_ranks(out, writer, &next_string) != 0 || define_locations(out, writer, &next_string) != 0 ||
        define_regions(out, writer, &next_string) != 0 || otf2_comms_define(out, writer, &next_string) != 0)
        return -1;
    return OTF2_Archive_CloseGlobalDefWriter(out->archive, writer) == OTF2_SUCCESS ? 0 : otf2_failure(out);
}
