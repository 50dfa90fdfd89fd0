! Every point-to-point operation that a Fortran binding has, with what it did noted; see binding.inc and matrix.h.
! Two ranks; rank 0 sends, rank 1 receives, where nothing else is said. Usage: NOTES, a path.
#include "binding.inc"
      program fortran_matrix
      use matrix_notes
      implicit none
      character(1024) :: path
      integer :: ranks, error
      integer(8) :: total
      call get_command_argument(1, path)
      call MPI_Init(error)
      call MPI_Comm_rank(WORLD, matrix_rank, error)
      call MPI_Comm_size(WORLD, ranks, error)
      call matrix_must(ranks == 2 .and. path /= '', 'usage: mpiexec -n 2 matrix NOTES')
      matrix_other = 1 - matrix_rank
      call matrix_blocking()
      call matrix_probe()
      call matrix_nonblocking()
      call matrix_completion()
      call matrix_cancel()
      call matrix_persistent()
#ifdef MATRIX_HAS_PARTITIONED
      call matrix_partitioned()
#endif
#ifdef MATRIX_HAS_LARGE
      call matrix_large()
#endif
      call matrix_write(trim(path))
      total = 0
      call MPI_Reduce(matrix_sum, total, 1, MPI_INTEGER8, MPI_SUM, 0, WORLD, error)
      if (matrix_rank == 0) print '(a, i0)', 'sum ', total
      flush(6)
      call MPI_Finalize(error)
      end program
