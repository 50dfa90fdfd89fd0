! Persistent requests of every mode, started one by one and together, completed by each kind of call while others are
! inactive; partitioned operations and large counts where the binding has them.
#include "binding.inc"
      subroutine matrix_persistent()
      use matrix_notes
      implicit none
      integer, parameter :: modes = 4
      integer, asynchronous :: values(10, modes), room(2000)
      integer :: error, i, index(1), n_done(1), done, bytes, indices(modes)
      logical :: flag(1)
      REQUEST :: requests(modes)
      DETACHED :: detached
      call MPI_Buffer_attach(room, 8000, error)
      call make()

      call start_one_by_one(21)
      do i = 1, modes
        CALL(Wait) (requests(i), MPI_STATUS_IGNORE, ierr(1))
      end do
      CALL(Wait) (requests(1), MPI_STATUS_IGNORE, ierr(1))
      call check(21)

      call start_together(31)
      CALL(Waitall) (modes, requests, MPI_STATUSES_IGNORE, ierr(1))
      CALL(Waitall) (modes, requests, MPI_STATUSES_IGNORE, ierr(1))
      call check(31)

      call start_together(41)
      do i = 1, modes
        CALL(Waitany) (modes, requests, index(1), MPI_STATUS_IGNORE, ierr(1))
      end do
      call check(41)

      call start_one_by_one(51)
      done = 0
      do while (done < modes)
        CALL(Waitsome) (modes, requests, n_done(1), indices, MPI_STATUSES_IGNORE, ierr(1))
        done = done + n_done(1)
      end do
      CALL(Waitsome) (modes, requests, n_done(1), indices, MPI_STATUSES_IGNORE, ierr(1))
      call matrix_must(n_done(1) == MPI_UNDEFINED, 'Waitsome of inactive requests')
      call check(51)

      call start_together(61)
      done = 0
      do while (done < 2)
        TRY(Testany) (modes, requests, index(1), flag(1), MPI_STATUS_IGNORE, ierr(1))
        if (.not. flag(1)) cycle
        call matrix_found()
        done = done + 1
      end do
      flag(1) = .false.
      do while (.not. flag(1))
        TRY(Testall) (modes, requests, flag(1), MPI_STATUSES_IGNORE, ierr(1))
      end do
      call matrix_found()
      call check(61)

      do i = 1, modes
        CALL(Request_free) (requests(i), ierr(1))
      end do
      call MPI_Buffer_detach(detached, bytes, error)

      contains

      subroutine make()
      integer :: i, source
      if (matrix_rank == 0) then
        CALL(Send_init) (values(:, 1), 6, MPI_INTEGER, 1, 211, WORLD, requests(1), ierr(1))
        CALL(Bsend_init) (values(:, 2), 7, MPI_INTEGER, 1, 212, WORLD, requests(2), ierr(1))
        CALL(Ssend_init) (values(:, 3), 8, MPI_INTEGER, 1, 213, WORLD, requests(3), ierr(1))
        CALL(Rsend_init) (values(:, 4), 9, MPI_INTEGER, 1, 214, WORLD, requests(4), ierr(1))
        return
      end if
      do i = 1, modes
        source = 0
        if (mod(i, 2) == 0) source = MPI_ANY_SOURCE
        CALL(Recv_init) (values(:, i), 10, MPI_INTEGER, source, 210 + i, WORLD, requests(i), ierr(1))
      end do
      end subroutine

! Tells rank 0 that the receives are posted, as the ready mode wants it.
      subroutine posted()
      integer :: nothing(1)
      if (matrix_rank == 0) then
        CALL(Recv) (nothing, 0, MPI_INTEGER, 1, 200, WORLD, MPI_STATUS_IGNORE, ierr(1))
      else
        CALL(Send) (nothing, 0, MPI_INTEGER, 0, 200, WORLD, ierr(1))
        call matrix_sent(0, 200, 0)
      end if
      end subroutine

      subroutine fill(seed)
      integer, intent(in) :: seed
      integer :: i
      if (matrix_rank == 1) return
      do i = 1, modes
        call matrix_fill(values(:, i), 10, seed + i)
        call matrix_sent(1, 210 + i, 5 + i)
      end do
      call posted()
      end subroutine

      subroutine start_one_by_one(seed)
      integer, intent(in) :: seed
      integer :: i
      call fill(seed)
      do i = 1, modes
        CALL(Start) (requests(i), ierr(1))
      end do
      if (matrix_rank == 1) call posted()
      end subroutine

      subroutine start_together(seed)
      integer, intent(in) :: seed
      call fill(seed)
      CALL(Startall) (modes, requests, ierr(1))
      if (matrix_rank == 1) call posted()
      end subroutine

      subroutine check(seed)
      integer, intent(in) :: seed
      integer :: i
      if (matrix_rank == 0) return
      do i = 1, modes
        call matrix_check(values(:, i), 5 + i, seed + i, 'a persistent request')
      end do
      end subroutine

      end subroutine

#ifdef MATRIX_HAS_PARTITIONED
! Two starts of two requests on one envelope, made ready in each of the three ways.
      subroutine matrix_partitioned()
      use matrix_notes
      implicit none
      integer, parameter :: parts = 8
      integer(MPI_COUNT_KIND), parameter :: n = 5
      integer, asynchronous :: values(40, 2)
      integer :: error, i, step, list(3)
      PARRIVED_FLAG :: flag(1)
      REQUEST :: requests(2)
      list = [6, 0, 3]
      do i = 1, 2
        if (matrix_rank == 0) then
          CALL(Psend_init) (values(:, i), parts, n, MPI_INTEGER, 1, 600, WORLD, MPI_INFO_NULL, requests(i), ierr(1))
        else
          CALL(Precv_init) (values(:, i), parts, n, MPI_INTEGER, 0, 600, WORLD, MPI_INFO_NULL, requests(i), ierr(1))
        end if
      end do
      do step = 1, 2
        if (matrix_rank == 0) then
          call matrix_fill(values(:, 1), 40, 60 + 2 * step)
          call matrix_fill(values(:, 2), 40, 61 + 2 * step)
        end if
#ifdef MATRIX_STARTS_ONE_BY_ONE
        CALL(Start) (requests(1), ierr(1))
        CALL(Start) (requests(2), ierr(1))
#else
        CALL(Startall) (2, requests, ierr(1))
#endif
        if (matrix_rank == 0) then
          do i = parts - 1, 0, -1
            CALL(Pready) (i, requests(2), ierr(1))
          end do
          CALL(Pready_range) (1, 2, requests(1), ierr(1))
          CALL(Pready_list) (3, list, requests(1), ierr(1))
          CALL(Pready_range) (4, 5, requests(1), ierr(1))
          CALL(Pready) (7, requests(1), ierr(1))
          call matrix_sent(1, 600, 40)
          call matrix_sent(1, 600, 40)
        else
          TRY(Parrived) (requests(1), 3, flag(1), error)
          call matrix_found()
        end if
        CALL(Waitall) (2, requests, MPI_STATUSES_IGNORE, ierr(1))
        if (matrix_rank == 1) then
          call matrix_check(values(:, 1), 40, 60 + 2 * step, 'a partitioned message')
          call matrix_check(values(:, 2), 40, 61 + 2 * step, 'a partitioned message')
        end if
      end do
      do i = 1, 2
        CALL(Request_free) (requests(i), ierr(1))
      end do
      end subroutine
#endif

#ifdef MATRIX_HAS_LARGE
! Counts of MPI_COUNT_KIND: other functions of the same names.
      subroutine matrix_large()
      use matrix_notes
      implicit none
      integer(MPI_COUNT_KIND), parameter :: n = 10
      integer, asynchronous :: out(10), in(10)
      integer :: error, o
      REQUEST :: requests(2)
      o = matrix_other
      call matrix_fill(out, 10, 9)
      if (matrix_rank == 0) then
        CALL_AS(Send_c,Send) (out, n, MPI_INTEGER, 1, 500, WORLD, ierr(1))
        CALL_AS(Ssend_c,Ssend) (out, n, MPI_INTEGER, 1, 501, WORLD, ierr(1))
        call matrix_sent(1, 500, 10)
        call matrix_sent(1, 501, 10)
      else
        CALL_AS(Recv_c,Recv) (in, n, MPI_INTEGER, 0, 500, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 10, 9, 'Send_c')
        CALL_AS(Recv_c,Recv) (in, n, MPI_INTEGER, MPI_ANY_SOURCE, 501, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 10, 9, 'Ssend_c')
      end if
      CALL_AS(Irecv_c,Irecv) (in, n, MPI_INTEGER, o, 502, WORLD, requests(1), ierr(1))
      CALL_AS(Isend_c,Isend) (out, n, MPI_INTEGER, o, 502, WORLD, requests(2), ierr(1))
      CALL(Waitall) (2, requests, MPI_STATUSES_IGNORE, ierr(1))
      call matrix_sent(o, 502, 10)
      call matrix_check(in, 10, 9, 'Isend_c')
      CALL_AS(Sendrecv_replace_c,Sendrecv_replace) (out, n, MPI_INTEGER, o, 503, o, 503, WORLD, MPI_STATUS_IGNORE, ierr(1))
      call matrix_sent(o, 503, 10)
      call matrix_check(out, 10, 9, 'Sendrecv_replace_c')
      end subroutine
#endif
