/* The commands that ask a model. argv[0] is the command's name; each returns the exit code. */
#ifndef MPISTAIR_PREDICTOR_PREDICT_COMMANDS_H
#define MPISTAIR_PREDICTOR_PREDICT_COMMANDS_H

int cmd_predict(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_pattern(int argc, char **argv);

#endif
