/* Answers what could come next on a command line, for the completion of shells (share/completions). */
#ifndef MPISTAIR_REPORT_COMPLETE_H
#define MPISTAIR_REPORT_COMPLETE_H

/* Runs `mpistair --complete WORD ...`: words[n_words] are those behind mpistair, the last one, perhaps empty, is at
 * the cursor. Prints a line for each word that fits, behind a tab what it is. A line with a colon in front says what
 * the shell knows better: ":files" or ":files .db", ":commands". Returns the exit code. */
int complete(int n_words, char **words);

#endif
