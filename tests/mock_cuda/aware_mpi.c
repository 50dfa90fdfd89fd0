/* Lets an MPI say that it takes the memory of GPUs, which the mock's is for any MPI: it is the host's. */
int MPIX_Query_cuda_support(void);
int MPIX_GPU_query_support(int type, int *is_supported);

int MPIX_Query_cuda_support(void)
{
    return 1;
}

int MPIX_GPU_query_support(int type, int *is_supported)
{
    *is_supported = type == 0;
    return 0;
}
