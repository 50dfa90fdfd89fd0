/* Tells whether the preload library reaches the job's other nodes.
 *
 * Open MPI's launch by ssh gives processes on other nodes none of the launcher's environment unless it is told to (-x,
 * mca_base_env_list). With LD_PRELOAD set in the shell alone, the processes beside the launcher are preloaded and the
 * others are not. Agreeing on the run is collective and would hold the job at MPI_Init for ever. */
#ifndef MPISTAIR_BACKEND_REACH_H
#define MPISTAIR_BACKEND_REACH_H

/* Returns 1 if this process is preloaded and those on other nodes surely are not, with the same answer in all processes
 * of this node; 0 if they are, or it cannot be told. Call it after MPI is initialised; it communicates nothing. */
int reach_is_this_node_only(void);

#endif
