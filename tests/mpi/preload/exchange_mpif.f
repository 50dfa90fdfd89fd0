! The ring of exchange.c in mpif.h: 100 messages a rank.
      program exchange
      implicit none
      include 'mpif.h'
      integer rank, size, i, got, total, ierror
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierror)
      total = 0
      do i = 0, 99
        if (mod(rank, 2) .eq. 0) call MPI_SEND(i, 1, MPI_INTEGER,
     &    mod(rank + 1, size), 0, MPI_COMM_WORLD, ierror)
        call MPI_RECV(got, 1, MPI_INTEGER, mod(rank + size - 1, size),
     &    0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        if (mod(rank, 2) .ne. 0) call MPI_SEND(i, 1, MPI_INTEGER,
     &    mod(rank + 1, size), 0, MPI_COMM_WORLD, ierror)
        total = total + got
      end do
      call MPI_PCONTROL(1)
      print '(a, i0, a, i0, a, i0)', 'rank ', rank, ' of ', size, ': ',
     &  total
      call flush(6)
      call MPI_FINALIZE(ierror)
      end program
