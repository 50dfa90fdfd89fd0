/* Writes an OTF2 archive by libotf2: a folder with traces.otf2, traces.def and traces/. */
#include "report/export/otf2_writer.h"

#include <stdlib.h>
#include <string.h>

#include "report/export/otf2_folder.h"

enum { EVENT_CHUNK_BYTES = 1 << 18, DEFINITION_CHUNK_BYTES = 1 << 22 };

static OTF2_FlushType flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)data;
    (void)type;
    (void)location;
    (void)caller;
    (void) final;
    return OTF2_FLUSH;
}

/* libotf2 would print its errors; they are kept until somebody says them. */
static OTF2_ErrorCode keep_error(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                                 const char *format, va_list arguments)
{
    struct otf2 *out = data;
    (void)file;
    (void)line;
    (void)function;
    if (out->reason[0] == '\0' && code > OTF2_SUCCESS) {
        char text[384];
        vsnprintf(text, sizeof text, format, arguments);
        snprintf(out->reason, sizeof out->reason, "%.100s: %s", OTF2_Error_GetDescription(code), text);
    }
    return code;
}

int otf2_failure(struct otf2 *out)
{
    return error_set(out->export->error, "%s: the archive cannot be written: %s", out->export->output,
                     out->reason[0] != '\0' ? out->reason : "libotf2 does not say why");
}

static const char first_sql[] =
    "SELECT min(0, coalesce((SELECT min(begin_ns) FROM process), 0),"
    " coalesce((SELECT min(min(send_post_ns, send_post_ns + late_ns)) FROM message_row), 0),"
    " coalesce((SELECT min(begin_ns) FROM call_row), 0), coalesce((SELECT min(begin_ns) FROM collective), 0),"
    " coalesce((SELECT min(begin_ns) FROM rma), 0), coalesce((SELECT min(begin_ns) FROM file_call), 0),"
    " coalesce((SELECT min(post_ns) FROM unmatched), 0))";

/* Times of OTF2 are not negative: what lies before the run's begin moves it. */
static int find_base(struct otf2 *out)
{
    struct cursor rows;
    cursor_open(&rows, out->export->database, out->export->path, first_sql, out->export->error);
    if (cursor_next(&rows))
        out->base_ns = cursor_integer(&rows, 0);
    out->last_ns = out->base_ns;
    return cursor_close(&rows);
}

static int write_archive(struct otf2 *out, const char *folder)
{
    static const OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush};
    out->archive = OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK_BYTES, DEFINITION_CHUNK_BYTES,
                                     OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (out->archive == NULL)
        return otf2_failure(out);
    int result = OTF2_Archive_SetFlushCallbacks(out->archive, &callbacks, NULL) == OTF2_SUCCESS &&
                         OTF2_Archive_SetSerialCollectiveCallbacks(out->archive) == OTF2_SUCCESS &&
                         OTF2_Archive_SetCreator(out->archive, OTF2_FOLDER_CREATOR " " MPISTAIR_VERSION) == OTF2_SUCCESS
                     ? 0
                     : otf2_failure(out);
    if (result == 0 && (otf2_events_write(out) != 0 || otf2_definitions_write(out) != 0))
        result = -1;
    if (OTF2_Archive_Close(out->archive) != OTF2_SUCCESS && result == 0)
        result = otf2_failure(out);
    return result == 0 && out->reason[0] != '\0' ? otf2_failure(out) : result;
}

static void tell(const struct otf2 *out)
{
    if (out->n_unreceived > 0)
        fprintf(stderr,
                "mpistair: note: of %llu messages no call reported the receive complete: they have a send alone\n",
                (unsigned long long)out->n_unreceived);
    if (out->n_foreign > 0)
        fprintf(stderr,
                "mpistair: note: of the communicators of %llu messages the trace does not know the members: their "
                "ranks are those of MPI_COMM_WORLD\n",
                (unsigned long long)out->n_foreign);
    if (out->base_ns < 0)
        fprintf(stderr, "mpistair: note: all times of the archive are larger by %lld ns, as none may be negative\n",
                (long long)-out->base_ns);
}

static void otf2_release(struct otf2 *out)
{
    export_names_release(&out->names);
    map_release(&out->rank_in_comm);
    map_release(&out->window_of);
    map_release(&out->region_of);
    free(out->comm_refs);
    free(out->comm_sizes);
    free(out->windows);
    free(out->regions);
    free(out->locations);
    free(out->writers);
}

int export_otf2(struct export *export)
{
    struct otf2 out = {.export = export};
    struct otf2_folder folder = {0};
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(keep_error, &out);
    int result = export_names_read(export, &out.names) != 0 || otf2_comms_read(&out) != 0 || find_base(&out) != 0
                     ? -1
                     : otf2_folder_make(&folder, export->output, export->error);
    if (result == 0 && write_archive(&out, folder.temporary) != 0) {
        otf2_folder_discard(&folder);
        result = -1;
    } else if (result == 0) {
        result = otf2_folder_commit(&folder, export->error);
    }
    if (result == 0)
        tell(&out);
    OTF2_Error_RegisterCallback(before, NULL);
    otf2_release(&out);
    return result;
}
