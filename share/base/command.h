/* Declares the commands of mpistair, each in a file cmd_NAME.c in the folder to which it belongs. argv[0] is the
 * command's name. Each returns the exit code (error.h) and understands --help. */
#ifndef MPISTAIR_BASE_COMMAND_H
#define MPISTAIR_BASE_COMMAND_H

int cmd_run(int argc, char **argv);
int cmd_ingest(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_machine(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_pattern(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
