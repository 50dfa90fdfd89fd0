/* The partitioner Scotch. Debian has its header in a folder of its own, Scotch itself and Spack do not. */
#ifndef MPISTAIR_BASE_SCOTCH_LIBRARY_H
#define MPISTAIR_BASE_SCOTCH_LIBRARY_H

#include <stdio.h> /* scotch.h needs it */

#if __has_include(<scotch/scotch.h>)
#include <scotch/scotch.h>
#else
#include <scotch.h>
#endif

#endif
