! The non-blocking modes, every call that completes requests, Isendrecv, Cancel.
#include "binding.inc"
      subroutine matrix_nonblocking()
      use matrix_notes
      implicit none
      call modes()
      call wildcards()
      call to_itself()
#ifdef MATRIX_HAS_ISENDRECV
      call both_ways()
#endif

      contains

      subroutine modes()
      integer, asynchronous :: a(50), b(50), c(50), d(50), e(50), go(1), room(2000)
      integer :: bytes, error
      REQUEST :: requests(5)
      DETACHED :: detached
      if (matrix_rank == 0) then
        call MPI_Buffer_attach(room, 8000, error)
        call matrix_fill(a, 50, 20)
        call matrix_fill(b, 50, 21)
        call matrix_fill(c, 50, 22)
        call matrix_fill(d, 50, 23)
        CALL(Recv) (go, 1, MPI_INTEGER, 1, 20, WORLD, MPI_STATUS_IGNORE, ierr(1))
        CALL(Isend) (a, 10, MPI_INTEGER, 1, 21, WORLD, requests(1), ierr(1))
        CALL(Ibsend) (b, 20, MPI_INTEGER, 1, 22, WORLD, requests(2), ierr(1))
        CALL(Issend) (c, 30, MPI_INTEGER, 1, 23, WORLD, requests(3), ierr(1))
        CALL(Irsend) (d, 40, MPI_INTEGER, 1, 24, WORLD, requests(4), ierr(1))
        CALL(Isend) (e, 50, MPI_INTEGER, MPI_PROC_NULL, 25, WORLD, requests(5), ierr(1))
        CALL(Waitall) (5, requests, MPI_STATUSES_IGNORE, ierr(1))
        call matrix_sent(1, 21, 10)
        call matrix_sent(1, 22, 20)
        call matrix_sent(1, 23, 30)
        call matrix_sent(1, 24, 40)
        call MPI_Buffer_detach(detached, bytes, error)
      else
        CALL(Irecv) (a, 50, MPI_INTEGER, 0, 21, WORLD, requests(1), ierr(1))
        CALL(Irecv) (b, 50, MPI_INTEGER, MPI_ANY_SOURCE, 22, WORLD, requests(2), ierr(1))
        CALL(Irecv) (c, 50, MPI_INTEGER, 0, 23, WORLD, requests(3), ierr(1))
        CALL(Irecv) (d, 50, MPI_INTEGER, MPI_ANY_SOURCE, 24, WORLD, requests(4), ierr(1))
        CALL(Irecv) (e, 50, MPI_INTEGER, MPI_PROC_NULL, MPI_ANY_TAG, WORLD, requests(5), ierr(1))
        CALL(Send) (go, 1, MPI_INTEGER, 0, 20, WORLD, ierr(1))
        call matrix_sent(0, 20, 1)
        CALL(Waitall) (5, requests, MPI_STATUSES_IGNORE, ierr(1))
        call matrix_check(a, 10, 20, 'Isend')
        call matrix_check(b, 20, 21, 'Ibsend')
        call matrix_check(c, 30, 22, 'Issend')
        call matrix_check(d, 40, 23, 'Irsend')
      end if
      end subroutine

! Receives with two wildcards take what comes in the order of their posting.
      subroutine wildcards()
      integer, asynchronous :: in(10, 4), out(10)
      integer :: i, error
      REQUEST :: requests(4)
      if (matrix_rank == 0) then
        do i = 1, 4
          call matrix_fill(out, 10, 30 + i)
          CALL(Send) (out, 6 + i, MPI_INTEGER, 1, 30 + i, WORLD, ierr(1))
          call matrix_sent(1, 30 + i, 6 + i)
        end do
      else
        do i = 1, 4
          CALL(Irecv) (in(:, i), 10, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, requests(i), ierr(1))
        end do
        do i = 4, 1, -1
          CALL(Wait) (requests(i), MPI_STATUS_IGNORE, ierr(1))
        end do
        do i = 1, 4
          call matrix_check(in(:, i), 6 + i, 30 + i, 'a wildcard')
        end do
      end if
      end subroutine

! The datatype is freed before the completion.
      subroutine to_itself()
      integer, asynchronous :: out(10), in(10)
      integer :: error, r
      REQUEST :: requests(2)
      DATATYPE :: pair
      r = matrix_rank
      call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
      call MPI_Type_commit(pair, error)
      call matrix_fill(out, 10, 4)
      CALL(Irecv) (in, 5, pair, r, 40, WORLD, requests(1), ierr(1))
      CALL(Isend) (out, 5, pair, r, 40, WORLD, requests(2), ierr(1))
      call MPI_Type_free(pair, error)
      CALL(Waitall) (2, requests, MPI_STATUSES_IGNORE, ierr(1))
      call matrix_check(in, 10, 4, 'a message to itself')
      call matrix_sent(r, 40, 10)
      end subroutine

#ifdef MATRIX_HAS_ISENDRECV
      subroutine both_ways()
      integer, asynchronous :: out(10), in(10), both(10)
      integer :: error, o
      REQUEST :: pending(1)
      o = matrix_other
      call matrix_fill(out, 10, 5)
      call matrix_fill(both, 10, 6)
      CALL(Isendrecv) (out, 10, MPI_INTEGER, o, 41, in, 10, MPI_INTEGER, o, 41, WORLD, pending(1), ierr(1))
      CALL(Wait) (pending(1), MPI_STATUS_IGNORE, ierr(1))
      CALL(Isendrecv_replace) (both, 9, MPI_INTEGER, o, 42, o, 42, WORLD, pending(1), ierr(1))
      CALL(Wait) (pending(1), MPI_STATUS_IGNORE, ierr(1))
      call matrix_check(in, 10, 5, 'Isendrecv')
      call matrix_check(both, 9, 6, 'Isendrecv_replace')
      call matrix_sent(o, 41, 10)
      call matrix_sent(o, 42, 9)
      end subroutine
#endif

      end subroutine

! Arrays with live, null and inactive requests, statuses wanted and ignored.
      subroutine matrix_completion()
      use matrix_notes
      implicit none
      integer, parameter :: n = 6
      integer, asynchronous :: values(10, n)
      integer :: error, i, done, index(1), n_done(1), indices(n + 1)
      logical :: flag(1)
      REQUEST :: requests(n + 1)
      STATUS(state)
      STATUSES(states, n + 1)

      call post(100)
      do i = 1, n, 2
        CALL(Wait) (requests(i), state, ierr(1))
        CALL(Wait) (requests(i + 1), MPI_STATUS_IGNORE, ierr(1))
      end do
      CALL(Wait) (requests(n + 1), state, ierr(1))
      call check(100)
      call post(110)
      do i = 1, n
        flag(1) = .false.
        do while (.not. flag(1))
          TRY(Test) (requests(i), flag(1), MPI_STATUS_IGNORE, ierr(1))
        end do
        call matrix_found()
      end do
      TRY(Test) (requests(n + 1), flag(1), state, ierr(1))
      call matrix_must(flag(1), 'Test of a null request')
      call matrix_found()
      call check(110)

      call post(120)
      CALL(Waitall) (n + 1, requests, states, ierr(1))
      call check(120)
      call post(130)
      flag(1) = .false.
      do while (.not. flag(1))
        TRY(Testall) (n + 1, requests, flag(1), MPI_STATUSES_IGNORE, ierr(1))
      end do
      call matrix_found()
      call check(130)
#ifdef MATRIX_HAS_SHORTCUT
! Open MPI's layer returns at once: no call of C takes what the stub noted.
      call MPI_Waitall(0, requests, MPI_STATUSES_IGNORE, ierr(1))
#else
      CALL(Waitall) (0, requests, MPI_STATUSES_IGNORE, ierr(1))
#endif

      call post(140)
! MPICH 4.0.2 counts from 0 in mpi_f08 and answers MPI_UNDEFINED + 1 elsewhere where no request is live.
      done = -1
      index(1) = 1
      do while (index(1) >= 0)
        CALL(Waitany) (n + 1, requests, index(1), state, ierr(1))
        done = done + 1
      end do
      call matrix_must(done == n, 'Waitany reports each request once')
      call check(140)
      call post(150)
      done = 0
      do while (done < n)
        TRY(Testany) (n + 1, requests, index(1), flag(1), MPI_STATUS_IGNORE, ierr(1))
        if (.not. flag(1) .or. index(1) < 0) cycle
        call matrix_found()
        done = done + 1
      end do
      call check(150)

      call post(160)
      done = 0
      do while (done < n)
        CALL(Waitsome) (n + 1, requests, n_done(1), indices, states, ierr(1))
        done = done + n_done(1)
      end do
      CALL(Waitsome) (n + 1, requests, n_done(1), indices, states, ierr(1))
      call matrix_must(n_done(1) == MPI_UNDEFINED, 'Waitsome without a live request')
      call check(160)
      call post(170)
      done = 0
      do while (done < n)
        TRY(Testsome) (n + 1, requests, n_done(1), indices, MPI_STATUSES_IGNORE, ierr(1))
        if (n_done(1) <= 0) cycle
        call matrix_found()
        done = done + n_done(1)
      end do
      call check(170)
      call asked_and_freed()

      contains

! Rank 0 sends n messages of tags base + 1, ... and rank 1 posts their receives; the last request stays null.
      subroutine post(base)
      integer, intent(in) :: base
      integer :: i, source
      do i = 1, n
        if (matrix_rank == 0) then
          call matrix_fill(values(:, i), 10, base + i)
          CALL(Isend) (values(:, i), 10, MPI_INTEGER, 1, base + i, WORLD, requests(i), ierr(1))
          call matrix_sent(1, base + i, 10)
        else
          source = 0
          if (mod(i, 2) == 0) source = MPI_ANY_SOURCE
          CALL(Irecv) (values(:, i), 10, MPI_INTEGER, source, base + i, WORLD, requests(i), ierr(1))
        end if
      end do
      requests(n + 1) = MPI_REQUEST_NULL
      end subroutine

      subroutine check(base)
      integer, intent(in) :: base
      integer :: i
      if (matrix_rank == 0) return
      do i = 1, n
        call matrix_check(values(:, i), 10, base + i, 'what a completion call reported')
      end do
      end subroutine

! A request that is asked for its status first, and one that is freed while its message is on the way.
      subroutine asked_and_freed()
      integer, asynchronous :: one(1)
      REQUEST :: pending(1)
      if (matrix_rank == 0) then
        call matrix_fill(one, 1, 180)
        CALL(Isend) (one, 1, MPI_INTEGER, 1, 180, WORLD, pending(1), ierr(1))
        CALL(Request_free) (pending(1), ierr(1))
        CALL(Recv) (indices, 0, MPI_INTEGER, 1, 181, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_sent(1, 180, 1)
      else
        CALL(Irecv) (one, 1, MPI_INTEGER, MPI_ANY_SOURCE, 180, WORLD, pending(1), ierr(1))
        flag(1) = .false.
        do while (.not. flag(1))
          TRY(Request_get_status) (pending(1), flag(1), state, ierr(1))
        end do
        call matrix_found()
        call matrix_must(SOURCE_OF(state) == 0, 'Request_get_status')
        CALL(Wait) (pending(1), MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(one, 1, 180, 'a request that was asked for its status')
        CALL(Send) (one, 0, MPI_INTEGER, 0, 181, WORLD, ierr(1))
        call matrix_sent(0, 181, 0)
      end if
      end subroutine

      end subroutine

! Receives that are cancelled take no message.
      subroutine matrix_cancel()
      use matrix_notes
      implicit none
      integer, asynchronous :: in(10), out(10)
      integer :: error
      logical :: cancelled
      REQUEST :: pending(1), kept(1)
      STATUS(state)
      if (matrix_rank == 0) then
        call matrix_fill(out, 10, 8)
        CALL(Recv) (in, 0, MPI_INTEGER, 1, 400, WORLD, MPI_STATUS_IGNORE, ierr(1))
        CALL(Send) (out, 10, MPI_INTEGER, 1, 401, WORLD, ierr(1))
        call matrix_sent(1, 401, 10)
        return
      end if
      CALL(Irecv) (in, 10, MPI_INTEGER, MPI_ANY_SOURCE, 401, WORLD, pending(1), ierr(1))
      CALL(Irecv) (in, 10, MPI_INTEGER, 0, 401, WORLD, kept(1), ierr(1))
      CALL(Cancel) (pending(1), ierr(1))
      CALL(Wait) (pending(1), state, ierr(1))
      call MPI_Test_cancelled(state, cancelled, error)
      call matrix_must(cancelled, 'a receive that nobody sent to is cancelled')
      CALL(Send) (out, 0, MPI_INTEGER, 0, 400, WORLD, ierr(1))
      call matrix_sent(0, 400, 0)
      CALL(Wait) (kept(1), MPI_STATUS_IGNORE, ierr(1))
      call matrix_check(in, 10, 8, 'the receive behind the cancelled one')
      CALL(Recv_init) (in, 10, MPI_INTEGER, 0, 402, WORLD, pending(1), ierr(1))
      CALL(Start) (pending(1), ierr(1))
      CALL(Cancel) (pending(1), ierr(1))
      CALL(Wait) (pending(1), MPI_STATUS_IGNORE, ierr(1))
      CALL(Request_free) (pending(1), ierr(1))
      end subroutine
