! The ring of exchange.c in mpi_f08: 100 messages a rank.
program exchange
  use mpi_f08
  implicit none
  integer :: rank, size, i, got, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  total = 0
  do i = 0, 99
    if (mod(rank, 2) == 0) call MPI_Send(i, 1, MPI_INTEGER, mod(rank + 1, size), 0, MPI_COMM_WORLD)
    call MPI_Recv(got, 1, MPI_INTEGER, mod(rank + size - 1, size), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (mod(rank, 2) /= 0) call MPI_Send(i, 1, MPI_INTEGER, mod(rank + 1, size), 0, MPI_COMM_WORLD)
    total = total + got
  end do
  call MPI_Pcontrol(1)
  print '(a, i0, a, i0, a, i0)', 'rank ', rank, ' of ', size, ': ', total
  flush(6)
  call MPI_Finalize()
end program
