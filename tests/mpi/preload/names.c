/* A plugin has nothing to do with MPI, but has functions of names that Fortran layers of MPI export, each plugin its
 * own (SALT): calls reach them under the preload library, with all their arguments. With NAMES_LOST set it calls one
 * that is nowhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SHOWN __attribute__((visibility("default")))

struct large {
    double parts[4];
};

SHOWN int run(void);
SHOWN double mpi_send(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j, double k,
                      double l, double m, double n, long o, double p);
SHOWN struct large mpi_wait_(int a, const char *format, ...);
void mpi_recv_(void);

double mpi_send(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j, double k,
                double l, double m, double n, long o, double p)
{
    return SALT * ((double)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * o) + g + 2 * h + 3 * i + 4 * j + 5 * k +
                   6 * l + 7 * m + 8 * n + 9 * p);
}

struct large mpi_wait_(int a, const char *format, ...)
{
    return (struct large){.parts = {SALT, a, format[0], errno}};
}

int run(void)
{
    for (int i = 0; i < 2; i++) { /* the second time the way is known */
        double sum = mpi_send(1, 2, 3, 4, 5, 6, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 7, 9.5);
        errno = 77;
        struct large large = mpi_wait_(4, "%g", 1.0);
        printf("%g %g %g %g %g\n", sum, large.parts[0], large.parts[1], large.parts[2], large.parts[3]);
    }
    fflush(stdout);
    if (getenv("NAMES_LOST"))
        mpi_recv_();
    return 3;
}
