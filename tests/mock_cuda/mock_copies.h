/* Holds the part of the mock that copies. */
#ifndef MPISTAIR_TESTS_MOCK_COPIES_H
#define MPISTAIR_TESTS_MOCK_COPIES_H

typedef void mock_function(void);

/* Returns the function of that name; NULL where there is none. */
mock_function *mock_copies_find(const char *name);

#endif
