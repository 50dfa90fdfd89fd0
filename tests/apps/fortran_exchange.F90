! fortran_exchange: point-to-point calls from Fortran with known traffic, through the interface that the build chooses:
! -DUSE_MPIF_H (mpif.h), -DUSE_MPI (use mpi), -DUSE_MPI_F08 (use mpi_f08). They reach the MPI library by different ways.
!
!     fortran_exchange [FILE]
!
! Writes what it sent, as it counted itself, to FILE as CSV: src,dst,messages,bytes. Per repetition and rank:
! a nonblocking exchange with all ranks at distance 1 to 3 (of size 8 * distance bytes), a ring by MPI_Sendrecv, a ring
! on a communicator with ranks reversed, blocking sends along a line, one message to itself.
#ifdef USE_MPI_F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#define STATUS_SIZE
#else
#define COMM integer
#define REQUEST integer
#define STATUS integer
#define STATUS_SIZE (MPI_STATUS_SIZE)
#endif
program fortran_exchange
#ifdef USE_MPI_F08
  use mpi_f08
#endif
#ifdef USE_MPI
  use mpi
#endif
  implicit none
#ifdef USE_MPIF_H
  include 'mpif.h'
#endif
  integer, parameter :: repetitions = 25, tag = 5
  integer :: rank, ranks, repetition, error
  integer, allocatable :: messages(:), bytes(:)
  COMM :: reversed

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  allocate(messages(0:ranks - 1), bytes(0:ranks - 1))
  messages = 0
  bytes = 0
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, reversed, error)
  do repetition = 1, repetitions
    call neighbours(repetition)
    call rings()
    call line()
    call own()
  end do
  call MPI_Comm_free(reversed, error)
  call write_traffic()
  call MPI_Finalize(error)

contains

  subroutine sent(to, n)
    integer, intent(in) :: to, n
    messages(to) = messages(to) + 1
    bytes(to) = bytes(to) + n
  end subroutine

  ! The MPI_Waitany of every other repetition must find both directions.
  subroutine neighbours(repetition)
    integer, intent(in) :: repetition
    double precision :: out(3, 3), in(3, 3)
    REQUEST :: requests(6)
    integer :: distance, to, from, i, index
    out = rank
    do distance = 1, 3
      from = modulo(rank - distance, ranks)
      call MPI_Irecv(in(1, distance), distance, MPI_DOUBLE_PRECISION, from, distance, MPI_COMM_WORLD, &
                     requests(distance), error)
    end do
    do distance = 1, 3
      to = modulo(rank + distance, ranks)
      call MPI_Isend(out(1, distance), distance, MPI_DOUBLE_PRECISION, to, distance, MPI_COMM_WORLD, &
                     requests(3 + distance), error)
      call sent(to, 8 * distance)
    end do
    if (modulo(repetition, 2) == 0) then
      call MPI_Waitall(6, requests, MPI_STATUSES_IGNORE, error)
    else
      do i = 1, 6
        call MPI_Waitany(6, requests, index, MPI_STATUS_IGNORE, error)
      end do
    end if
    do distance = 1, 3
      if (any(in(1:distance, distance) /= modulo(rank - distance, ranks))) call wrong('a neighbour')
    end do
  end subroutine

  subroutine rings()
    integer :: out(100), in(100), next, previous
    STATUS :: state STATUS_SIZE
    out = rank
    next = modulo(rank + 1, ranks)
    previous = modulo(rank - 1, ranks)
    call MPI_Sendrecv(out, 100, MPI_INTEGER, next, tag, in, 100, MPI_INTEGER, MPI_ANY_SOURCE, tag, &
                      MPI_COMM_WORLD, state, error)
    call sent(next, 400)
    if (any(in /= previous)) call wrong('the ring')
    ! In the reversed communicator the next rank is the previous one of MPI_COMM_WORLD.
    call MPI_Sendrecv(out, 10, MPI_INTEGER, modulo(ranks - 1 - rank + 1, ranks), tag, in, 10, MPI_INTEGER, &
                      modulo(ranks - 1 - rank - 1, ranks), MPI_ANY_TAG, reversed, MPI_STATUS_IGNORE, error)
    call sent(previous, 40)
    if (any(in(1:10) /= next)) call wrong('the reversed ring')
  end subroutine

  subroutine line()
    integer :: value
    value = rank
    if (rank > 0) call MPI_Recv(value, 1, MPI_INTEGER, rank - 1, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    if (rank < ranks - 1) then
      call MPI_Send(rank, 1, MPI_INTEGER, rank + 1, tag + 1, MPI_COMM_WORLD, error)
      call sent(rank + 1, 4)
    else
      call MPI_Send(rank, 1, MPI_INTEGER, MPI_PROC_NULL, tag + 1, MPI_COMM_WORLD, error)
    end if
  end subroutine

  subroutine own()
    integer :: out, in
    REQUEST :: pending
    logical :: done
    STATUS :: state STATUS_SIZE
    out = rank
    call MPI_Irecv(in, 1, MPI_INTEGER, rank, tag + 2, MPI_COMM_WORLD, pending, error)
    call MPI_Ssend(out, 1, MPI_INTEGER, rank, tag + 2, MPI_COMM_WORLD, error)
    call sent(rank, 4)
    done = .false.
    do while (.not. done)
      call MPI_Test(pending, done, state, error)
    end do
  end subroutine

  subroutine wrong(what)
    character(*), intent(in) :: what
    print '(a, i0, 3a)', 'fortran_exchange: rank ', rank, ': wrong data from ', what, '; expected the sender''s rank'
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine

  subroutine write_traffic()
    integer :: all_messages(0:ranks - 1, 0:ranks - 1), all_bytes(0:ranks - 1, 0:ranks - 1)
    integer :: src, dst, unit
    character(1024) :: path
    call get_command_argument(1, path)
    if (path == '') return
    call MPI_Gather(messages, ranks, MPI_INTEGER, all_messages, ranks, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call MPI_Gather(bytes, ranks, MPI_INTEGER, all_bytes, ranks, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    if (rank /= 0) return
    open(newunit=unit, file=trim(path), action='write', status='replace')
    write(unit, '(a)') 'src,dst,messages,bytes'
    do src = 0, ranks - 1
      do dst = 0, ranks - 1
        if (all_messages(dst, src) == 0) cycle
        write(unit, '(i0, 3(",", i0))') src, dst, all_messages(dst, src), all_bytes(dst, src)
      end do
    end do
    close(unit)
  end subroutine

end program
