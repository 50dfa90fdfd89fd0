/* There are two sets of what is complete: one is filled while the other one becomes rows. */
#include "interpose/trace/stream/behind.h"

static void *write_behind(void *argument)
{
    struct behind *behind = argument;
    pthread_mutex_lock(&behind->lock);
    for (;;) {
        while (!behind->full && !behind->ended)
            pthread_cond_wait(&behind->changed, &behind->lock);
        if (!behind->full)
            break;
        struct complete_rows *complete = &behind->complete[1 - behind->filling];
        pthread_mutex_unlock(&behind->lock);
        int result = round_rows_write(&behind->rows, complete);
        pthread_mutex_lock(&behind->lock);
        behind->result |= result;
        behind->full = false;
        pthread_cond_broadcast(&behind->changed);
    }
    pthread_mutex_unlock(&behind->lock);
    return NULL;
}

void behind_begin(struct behind *behind, struct trace *trace, struct sink *sink, bool with_thread)
{
    *behind = (struct behind){.result = 0};
    round_rows_begin(&behind->rows, trace, sink);
    pthread_mutex_init(&behind->lock, NULL);
    pthread_cond_init(&behind->changed, NULL);
    behind->has_thread = with_thread && pthread_create(&behind->thread, NULL, write_behind, behind) == 0;
}

struct complete_rows *behind_filling(struct behind *behind)
{
    return &behind->complete[behind->filling];
}

int behind_write(struct behind *behind)
{
    if (!behind->has_thread)
        return behind->result |= round_rows_write(&behind->rows, behind_filling(behind));
    pthread_mutex_lock(&behind->lock);
    while (behind->full)
        pthread_cond_wait(&behind->changed, &behind->lock);
    behind->filling = 1 - behind->filling;
    behind->full = true;
    int result = behind->result;
    pthread_cond_broadcast(&behind->changed);
    pthread_mutex_unlock(&behind->lock);
    return result;
}

int behind_end(struct behind *behind)
{
    if (behind->has_thread) {
        pthread_mutex_lock(&behind->lock);
        behind->ended = true;
        pthread_cond_broadcast(&behind->changed);
        pthread_mutex_unlock(&behind->lock);
        pthread_join(behind->thread, NULL);
        behind->has_thread = false;
    }
    round_rows_end(&behind->rows);
    return behind->result;
}

void behind_release(struct behind *behind)
{
    pthread_mutex_destroy(&behind->lock);
    pthread_cond_destroy(&behind->changed);
    for (int i = 0; i < 2; i++)
        complete_rows_release(&behind->complete[i]);
    round_rows_release(&behind->rows);
}
