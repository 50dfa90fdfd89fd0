/* Numbers GPUs by the world ranks of their first processes, whichever way a launcher deals ranks out to nodes: all
 * communicators take their order from that number. */
#include "tests/apps/gpu_groups.h"

#include "tests/apps/app.h"

/* Returns the number of the GPU whose first process says so, to all of its group. */
static int gpu_number(MPI_Comm group, int member)
{
    int first = member == 0, before = 0;
    MPI_Exscan(&first, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (app_rank() == 0)
        before = 0; /* MPI_Exscan leaves it undefined there */
    MPI_Bcast(&before, 1, MPI_INT, 0, group);
    return before;
}

int gpu_groups_open(int per_gpu, struct gpu_groups *groups)
{
    MPI_Comm node;
    int in_node, of_node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, app_rank(), MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &in_node);
    MPI_Comm_size(node, &of_node);
    int uneven = of_node % per_gpu == 0 ? 0 : of_node;
    MPI_Allreduce(MPI_IN_PLACE, &uneven, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (uneven == 0) {
        groups->per_gpu = per_gpu;
        groups->n_gpus = app_size() / per_gpu;
        MPI_Comm_split(node, in_node / per_gpu, in_node, &groups->group);
        MPI_Comm_rank(groups->group, &groups->member);
        groups->gpu = gpu_number(groups->group, groups->member);
        MPI_Comm_split(MPI_COMM_WORLD, groups->member, groups->gpu, &groups->peers);
        MPI_Comm_split(MPI_COMM_WORLD, 0, groups->gpu * per_gpu + groups->member, &groups->all);
        MPI_Comm_set_name(groups->group, "processes of a GPU");
        MPI_Comm_set_name(groups->peers, "a process of each GPU");
        MPI_Comm_set_name(groups->all, "all processes by GPU");
    }
    MPI_Comm_free(&node);
    return uneven;
}

void gpu_groups_release(struct gpu_groups *groups)
{
    MPI_Comm_free(&groups->all);
    MPI_Comm_free(&groups->peers);
    MPI_Comm_free(&groups->group);
}
