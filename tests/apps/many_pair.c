/* The paper's measurements and the irregular jobs here exchange in the same way, so that a model may be held against
 * both. */
#include "tests/apps/many_pair.h"

#include "tests/apps/app.h"

#include <stdlib.h>

#define MANY_PAIR_TAG 7

void many_pair_init(struct many_pair_side *side, int n_messages)
{
    side->n_messages = n_messages;
    side->messages = app_allocate((size_t)n_messages, sizeof(*side->messages));
    side->requests = app_allocate((size_t)n_messages, sizeof(*side->requests));
}

void many_pair_run(struct many_pair_side *send, struct many_pair_side *receive, MPI_Datatype type,
                   struct traffic *traffic)
{
    int item_bytes = 0;
    MPI_Type_size(type, &item_bytes);
    for (int j = 0; j < send->n_messages; j++) {
        const struct many_pair_message *message = &send->messages[j];
        MPI_Isend(message->buffer, message->count, type, message->peer, MANY_PAIR_TAG, MPI_COMM_WORLD,
                  &send->requests[j]);
        traffic_sent(traffic, message->peer, (uint64_t)message->count * (uint64_t)item_bytes);
    }
    for (int j = 0; j < receive->n_messages; j++) {
        const struct many_pair_message *message = &receive->messages[j];
        MPI_Irecv(message->buffer, message->count, type, message->peer, MANY_PAIR_TAG, MPI_COMM_WORLD,
                  &receive->requests[j]);
    }
    for (int j = 0; j < send->n_messages; j++)
        MPI_Wait(&send->requests[j], MPI_STATUS_IGNORE);
    for (int j = 0; j < receive->n_messages; j++) {
        MPI_Status status;
        int count;
        MPI_Wait(&receive->requests[j], &status);
        MPI_Get_count(&status, type, &count);
        if (count != receive->messages[j].count)
            app_fail("the message from rank %d has %d items, expected %d", status.MPI_SOURCE, count,
                     receive->messages[j].count);
    }
}

void many_pair_release(struct many_pair_side *side)
{
    free(side->messages);
    free(side->requests);
}
