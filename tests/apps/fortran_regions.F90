! A job in Fortran in regions with names, by the module mpistair_region.
program fortran_regions
  use mpistair_region
  use mpi
  implicit none
  integer :: i, error
  call mpi_init(error)
  do i = 1, 3
    call mpistair_region_begin('OUTER')
    call mpistair_region_begin('inner   ')
    call mpistair_region_end()
    call mpi_barrier(MPI_COMM_WORLD, error)
    call mpistair_region_end('OUTER')
  end do
  call mpistair_region_set('phase')
  call mpi_barrier(MPI_COMM_WORLD, error)
  call mpistair_region_set()
  call mpistair_region_mark('moment')
  call mpi_finalize(error)
end program
