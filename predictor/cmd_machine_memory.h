/* Declares the subcommand of `mpistair machine` that asks a model. */
#ifndef MPISTAIR_PREDICTOR_CMD_MACHINE_MEMORY_H
#define MPISTAIR_PREDICTOR_CMD_MACHINE_MEMORY_H

int machine_command_memory(int argc, char **argv);

#endif
