! Compiles only where the binding has what PROBE_... asks for; see meson.build.
#include "binding.inc"
      subroutine probe()
      USE_BINDING
      implicit none
      REQUEST :: pending
      integer :: values(1), error
#ifdef PROBE_LARGE
#ifndef USE_MPI_F08
      only in mpi_f08
#endif
      integer(MPI_COUNT_KIND) :: n
      n = 1
      call MPI_Isend(values, n, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, pending, error)
#endif
#ifdef PROBE_PARTITIONED
      integer(MPI_COUNT_KIND) :: n
      n = 1
      call MPI_Psend_init(values, 1, n, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, pending, error)
#endif
#ifdef PROBE_INTEGER_PARRIVED
      integer :: flag
      call MPI_Parrived(pending, 1, flag, error)
#endif
      end subroutine
