/* Reads traces that somebody hands us. The first byte of the input says which commands read it; the next whether the
 * rest is
 *
 *     even: SQL that changes the rows of a small trace, and nothing but rows
 *     odd:  changes of that trace's file: each 3 bytes place, 1 byte length, so many bytes
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/predict_commands.h"
#include "report/command/commands.h"
#include "share/base/installation.h"
#include "tests/fuzz/fuzz_readers.h"

static const char rows[] =
    "INSERT INTO run VALUES(1,'run','0.1.0',1700000000000000000,100000,'MPICH','MPICH "
    "4','MPI_THREAD_SINGLE','./app',3,3,"
    "65536,NULL,40.5,'MPI_Init', 'all');"
    "INSERT INTO node VALUES(0,'node0',1,2,NULL,0,2),(1,'node1',1,2,NULL,1,2);"
    "INSERT INTO process(rank,node,socket,numa,l3,core,pid,place,ended,begin_ns,end_ns,world,world_rank) "
    "VALUES(0,0,0,0,0,0,10,'observed','finalize',0,100000,0,0),(1,0,0,0,0,1,11,'observed','finalize',"
    "0,100000,0,1),(2,1,0,0,0,0,12,'observed','killed',0,90000,0,2);"
    "INSERT INTO clock VALUES(0,0,0,0,'reference'),(1,0,500,20,'init');"
    "INSERT INTO callsite VALUES(0,'/app',4096,'ab','main','app.c',12);"
    "INSERT INTO communicator VALUES(0,'MPI_COMM_WORLD',NULL,NULL,3,NULL,1);"
    "INSERT INTO communicator_member VALUES(0,0,0),(0,1,1),(0,2,2);"
    "INSERT INTO function VALUES(1,'MPI_Isend'),(2,'MPI_Irecv'),(3,'MPI_Waitall');"
    "INSERT INTO form VALUES(1,1,1,2,0,0,0,0,0,0,0, NULL, NULL),(2,3,1,2,0,0,1,0,16,0,0, NULL, NULL);"
    "INSERT INTO kind VALUES(0,2,2,1008);"
    "INSERT INTO kind_family VALUES(0,1,8,1000);"
    "INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES(1,0,10,400),(2,0,1010,1500);"
    "INSERT INTO round_process VALUES(1,0,10,300,200),(1,1,12,400,200),(1,2,12,380,200),(2,0,1010,1300,200),"
    "(2,1,1012,1500,200),(2,2,1014,1400,300);"
    "INSERT INTO message_row "
    "VALUES(1,0,1,0,1,8,1,1,10,290,5,300,0,0,1,5,5),(2,0,2,0,1,1000,2,1,15,200,5,300,24,0,0,5,5),"
    "(3,0,1,0,1,8,1,2,1010,290,5,300,0,0,1,5,5),(4,0,2,0,1,1000,2,2,1015,200,5,300,24,0,0,5,5);"
    "INSERT INTO unmatched VALUES(1,2,'receive',NULL,0,7,8,'pending',2000,NULL,'MPI_Irecv',0);"
    "INSERT INTO call_row VALUES(0,3,20,280,1,0,0);"
    "INSERT INTO collective VALUES(1,0,'MPI_Allreduce',0,8,NULL,500,600,100,0,NULL,NULL,0,1);"
    "INSERT INTO persistent VALUES(1,0,'MPI_Send_init','send',1,0,1,8,0,5,2,0);"
    "INSERT INTO origin VALUES(1,NULL,'send',1,1);"
    "INSERT INTO partition VALUES(1,NULL,0,'send',NULL,11,20,4,4,NULL,NULL);"
    "INSERT INTO rma VALUES(1,0,'MPI_Put',0,1,1,64,700,710,5,NULL,0,0,NULL);"
    "INSERT INTO file_call VALUES(1,0,'MPI_File_write_all',0,1,64,NULL,800,810,5,0,1,0,NULL,0,1);"
    "INSERT INTO stack VALUES(1,0,0);"
    "INSERT INTO mark VALUES(0,7,450,0);"
    "INSERT INTO untracked VALUES(0,'MPI_Barrier',1,0);"
    "INSERT INTO rejected VALUES(1,'MPI_Send',0,2);"
    "INSERT INTO loss VALUES(2,'disk',3);"
    "INSERT INTO recording_off VALUES(1,50,60,1,1);"
    "INSERT INTO machine VALUES('m','s');"
    "INSERT INTO machine_parameter VALUES('m','intra_socket','any','tau',NULL,1e-6,'s',9e-7,2e-6,9,'relative'),"
    "('m','intra_socket','any','bw',1,1e9,'B/"
    "s',9e8,2e9,9,'relative'),('m','inter_node','any','tau',NULL,5e-6,'s',NULL,NULL,"
    "NULL,NULL),('m','inter_node','any','bw',1,1e9,'B/s',NULL,NULL,NULL,NULL);"
    "INSERT INTO prediction_run VALUES(1,'m','postal','',0);"
    "INSERT INTO prediction VALUES(1,0,0,1e-7,1e-7,0,0,0,0,0,NULL,NULL,0),(1,0,1,2e-7,1e-7,1e-7,0,0,0,0,1e-7,3e-7,0);";

struct image {
    unsigned char *bytes;
    sqlite3_int64 size;
};

static char *read_schema(void)
{
    char path[4096], *text = NULL;
    size_t room = 0;
    struct error error;
    if (installation_find(INSTALLATION_SHARE, "sql/schema.sql", path, sizeof path, &error) != 0)
        abort();
    FILE *file = fopen(path, "r");
    if (file == NULL || getdelim(&text, &room, '\0', file) <= 0)
        abort();
    fclose(file);
    return text;
}

static struct image *plain_trace(void)
{
    static struct image image;
    if (image.bytes != NULL)
        return &image;
    sqlite3 *database = NULL;
    char *schema = read_schema();
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_exec(database, "PRAGMA page_size = 512", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database, schema, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database, rows, NULL, NULL, NULL) != SQLITE_OK)
        abort();
    unsigned char *bytes = sqlite3_serialize(database, "main", &image.size, 0);
    image.bytes = malloc((size_t)image.size);
    if (bytes == NULL || image.bytes == NULL)
        abort();
    memcpy(image.bytes, bytes, (size_t)image.size);
    sqlite3_free(bytes);
    free(schema);
    sqlite3_close(database);
    return &image;
}

/* Allows changes of rows alone, and not without end. */
static int allow(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)context, (void)b, (void)c, (void)d;
    switch (action) {
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        return a != NULL && strncmp(a, "sqlite_", 7) == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
        return SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static int stop(void *left)
{
    return --*(int *)left < 0;
}

static void change_rows(const struct image *plain, const uint8_t *data, size_t size)
{
    sqlite3 *database = NULL;
    sqlite3_int64 bytes = 0;
    int left = 200;
    char *sql = strndup((const char *)data, size);
    unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)plain->size);
    if (sql == NULL || copy == NULL || sqlite3_open(":memory:", &database) != SQLITE_OK)
        abort();
    memcpy(copy, plain->bytes, (size_t)plain->size);
    if (sqlite3_deserialize(database, "main", copy, plain->size, plain->size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) != SQLITE_OK)
        abort();
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 20000);
    sqlite3_set_authorizer(database, allow, NULL);
    sqlite3_progress_handler(database, 100, stop, &left);
    sqlite3_exec(database, sql, NULL, NULL, NULL);
    sqlite3_progress_handler(database, 0, NULL, NULL);
    unsigned char *changed = sqlite3_serialize(database, "main", &bytes, 0);
    if (changed != NULL)
        scratch_file("trace.db", changed, (size_t)bytes);
    sqlite3_free(changed);
    sqlite3_close(database);
    free(sql);
}

static void change_bytes(const struct image *plain, const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc((size_t)plain->size);
    if (copy == NULL)
        abort();
    memcpy(copy, plain->bytes, (size_t)plain->size);
    while (size > 4) {
        size_t at = (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % (size_t)plain->size, length = data[3];
        data += 4;
        size -= 4;
        length = length < size ? length : size;
        for (size_t i = 0; i < length && at + i < (size_t)plain->size; i++)
            copy[at + i] = data[i];
        data += length;
        size -= length;
    }
    scratch_file("trace.db", copy, (size_t)plain->size);
    free(copy);
}

void read_database(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"text", "csv", "json", "html"};
    static const char *const queries[] = {"callsites",
                                          "clocks",
                                          "collectives",
                                          "communicators",
                                          "completeness",
                                          "doubts",
                                          "kind_error",
                                          "kinds",
                                          "late_receivers",
                                          "late_senders",
                                          "level_volume",
                                          "losses",
                                          "marks",
                                          "message_sizes",
                                          "model_error",
                                          "overlap",
                                          "parameters",
                                          "partitions",
                                          "partners",
                                          "persistent",
                                          "rank_error",
                                          "site_error",
                                          "ranks",
                                          "recording_off",
                                          "replicate_error",
                                          "rma",
                                          "collective_sites",
                                          "rma_sites",
                                          "files",
                                          "call_sizes",
                                          "slowest_messages",
                                          "slowest_rounds",
                                          "stacks",
                                          "traffic",
                                          "unmatched",
                                          "untracked",
                                          "waits",
                                          "why"};
    enum { N_QUERIES = sizeof queries / sizeof queries[0] };
    if (size < 2)
        return;
    const char *path = scratch_path("trace.db");
    if (data[1] % 2 == 0)
        change_rows(plain_trace(), data + 2, size - 2);
    else
        change_bytes(plain_trace(), data + 2, size - 2);
    switch (data[0] % 8) {
    case 0:
        command(cmd_query, path, queries[data[0] / 8 % N_QUERIES], NULL);
        command(cmd_query, path, queries[data[0] / 2 % N_QUERIES], "--format", "json", NULL);
        command(cmd_diff, path, path, "--all", NULL);
        command(cmd_scaling, path, path, NULL);
        command(cmd_history, path, path, path, NULL);
        break;
    case 1:
        command(cmd_report, path, "--format", formats[data[0] / 8 % 4], "--all-ranks", NULL);
        break;
    case 2:
        command(cmd_predict, path, "--machine", "m", NULL);
        command(cmd_predict, path, "--machine", "m", "--rounds", NULL);
        command(cmd_report, path, NULL);
        break;
    case 3:
        command(cmd_predict, path, "--machine", "m", "--model", "postal+queue,staircase+contention", "--rounds",
                "--interval", NULL);
        break;
    case 4:
        command(cmd_predict, path, "--machine", "m", "--model", "flow+queue", "--rounds", NULL);
        command(cmd_predict, path, "--machine", "m", "--model", "flow", "--to-placement", "fill", NULL);
        break;
    case 5:
        command(cmd_pattern, "--from", path, "--kind", "0", "--json", NULL);
        break;
    case 6:
        command(cmd_machine, "show", "m", "--database", path, NULL);
        command(cmd_machine, "list", path, NULL);
        break;
    default:
        command(cmd_report, path, NULL);
        command(cmd_predict, path, "--machine", "m", "--model", "flow,max-rate+contention", "--rounds", NULL);
        command(cmd_predict, path, "--machine", "m", "--model", "flow", "--eager-threshold", "512", NULL);
        break;
    }
}
