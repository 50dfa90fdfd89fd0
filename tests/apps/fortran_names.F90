! fortran_names: calls from procedures of a module, of a program and of neither, and a file, through the interface that
! the build chooses (see fortran_exchange.F90). names.py knows what it does.
!
!     fortran_names FILE
#ifdef USE_MPI_F08
#define COMM type(MPI_Comm)
#define HANDLE type(MPI_File)
#define REQUEST type(MPI_Request)
#define MODULE_OF_MPI use mpi_f08
#define HEADER
#else
#define COMM integer
#define HANDLE integer
#define REQUEST integer
#ifdef USE_MPI
#define MODULE_OF_MPI use mpi
#define HEADER
#else
#define MODULE_OF_MPI
#define HEADER include 'mpif.h'
#endif
#endif

module mesh
contains
  subroutine sum_up(comm)
    MODULE_OF_MPI
    implicit none
    HEADER
    COMM, intent(in) :: comm
    real(8) :: own, total
    integer :: error
    own = 1
    call MPI_Allreduce(own, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, error)
  end subroutine
end module

subroutine wait_for_all(comm)
  MODULE_OF_MPI
  implicit none
  HEADER
  COMM, intent(in) :: comm
  integer :: error
  call MPI_Barrier(comm, error)
end subroutine

program fortran_names
  use mesh
  MODULE_OF_MPI
  implicit none
  HEADER
  interface
    subroutine wait_for_all(comm)
      MODULE_OF_MPI
      implicit none
      HEADER
      COMM, intent(in) :: comm
    end subroutine
  end interface
  integer, parameter :: values = 500
  integer :: rank, error
  real(8) :: data(values)
  character(len=4096) :: path

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call sum_up(MPI_COMM_WORLD)
  call wait_for_all(MPI_COMM_WORLD)
  call get_command_argument(1, path)
  data = rank
  call write_file() ! twice, so that it stays a procedure of its own
  call write_file()
  call MPI_Finalize(error)
contains
  subroutine write_file()
    HANDLE :: file
    REQUEST :: waited
    integer(MPI_OFFSET_KIND) :: offset
    offset = 8 * values * rank
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
    call MPI_File_write_at_all(file, offset, data, values, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, error)
    call MPI_File_iread_at(file, offset, data, values, MPI_DOUBLE_PRECISION, waited, error)
    call MPI_Wait(waited, MPI_STATUS_IGNORE, error)
    call MPI_File_close(file, error)
  end subroutine
end program
