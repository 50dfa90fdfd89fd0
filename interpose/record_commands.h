/* The commands that record a job and make its trace. argv[0] is the command's name; each returns the exit code. */
#ifndef MPISTAIR_INTERPOSE_RECORD_COMMANDS_H
#define MPISTAIR_INTERPOSE_RECORD_COMMANDS_H

int cmd_run(int argc, char **argv);
int cmd_ingest(int argc, char **argv);
int cmd_gather(int argc, char **argv);
int cmd_import(int argc, char **argv);

#endif
