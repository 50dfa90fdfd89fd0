! The blocking modes, Sendrecv and Sendrecv_replace, probes and matched probes: by ranks, wildcards, derived datatypes,
! to nobody and to itself.
#include "binding.inc"
      subroutine matrix_blocking()
      use matrix_notes
      implicit none
      call modes()
      call derived()
      call both_ways()
      call to_itself()

      contains

      subroutine modes()
      integer :: out(100), in(100), room(2000), bytes, i, error
      DETACHED :: detached
      STATUS(state)
      REQUEST :: ready(1)
      if (matrix_rank == 0) then
        call MPI_Buffer_attach(room, 8000, error)
        call matrix_fill(out, 100, 1)
        do i = 0, 2
          CALL(Send) (out, 10 + i, MPI_INTEGER, 1, 1, WORLD, ierr(1))
          call matrix_sent(1, 1, 10 + i)
        end do
        CALL(Bsend) (out, 20, MPI_INTEGER, 1, 2, WORLD, ierr(1))
        CALL(Ssend) (out, 30, MPI_INTEGER, 1, 3, WORLD, ierr(1))
        CALL(Recv) (in, 0, MPI_INTEGER, 1, 4, WORLD, MPI_STATUS_IGNORE, ierr(1))
        CALL(Rsend) (out, 40, MPI_INTEGER, 1, 4, WORLD, ierr(1))
        CALL(Send) (out, 0, MPI_INTEGER, 1, 5, WORLD, ierr(1))
        CALL(Send) (out, 5, MPI_INTEGER, MPI_PROC_NULL, 6, WORLD, ierr(1))
        call matrix_sent(1, 2, 20)
        call matrix_sent(1, 3, 30)
        call matrix_sent(1, 4, 40)
        call matrix_sent(1, 5, 0)
        call MPI_Buffer_detach(detached, bytes, error)
      else
        CALL(Recv) (in, 100, MPI_INTEGER, 0, 1, WORLD, state, ierr(1))
        call matrix_check(in, 10, 1, 'Send')
        CALL(Recv) (in, 100, MPI_INTEGER, MPI_ANY_SOURCE, 1, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 11, 1, 'Send to a wildcard')
        CALL(Recv) (in, 100, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, state, ierr(1))
        call matrix_check(in, 12, 1, 'Send to two wildcards')
        call matrix_must(SOURCE_OF(state) == 0 .and. TAG_OF(state) == 1, 'status of a wildcard')
        CALL(Recv) (in, 20, MPI_INTEGER, 0, 2, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 20, 1, 'Bsend')
        CALL(Recv) (in, 30, MPI_INTEGER, 0, MPI_ANY_TAG, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 30, 1, 'Ssend')
        CALL(Irecv) (in, 40, MPI_INTEGER, 0, 4, WORLD, ready(1), ierr(1))
        CALL(Send) (out, 0, MPI_INTEGER, 0, 4, WORLD, ierr(1))
        call matrix_sent(0, 4, 0)
        CALL(Wait) (ready(1), MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 40, 1, 'Rsend')
        CALL(Recv) (in, 0, MPI_INTEGER, 0, 5, WORLD, MPI_STATUS_IGNORE, ierr(1))
        CALL(Recv) (in, 5, MPI_INTEGER, MPI_PROC_NULL, MPI_ANY_TAG, WORLD, state, ierr(1))
        call matrix_must(SOURCE_OF(state) == MPI_PROC_NULL, 'status of MPI_PROC_NULL')
      end if
      end subroutine

! Every third of 60 integers.
      subroutine derived()
      integer :: values(60), in(20), i, error
      DATATYPE :: strided
      call MPI_Type_vector(20, 1, 3, MPI_INTEGER, strided, error)
      call MPI_Type_commit(strided, error)
      if (matrix_rank == 0) then
        values = -1
        do i = 1, 20
          values(3 * i - 2) = 7000 + i
        end do
        CALL(Send) (values, 1, strided, 1, 10, WORLD, ierr(1))
        call matrix_sent(1, 10, 20)
      else
        CALL(Recv) (in, 20, MPI_INTEGER, 0, 10, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 20, 7, 'a derived datatype')
      end if
      call MPI_Type_free(strided, error)
      end subroutine

      subroutine both_ways()
      integer :: out(10), in(20), error, o
      STATUS(state)
      o = matrix_other
      call matrix_fill(out, 10, 2)
      CALL(Sendrecv) (out, 10, MPI_INTEGER, o, 11, in, 20, MPI_INTEGER, o, 11, WORLD, state, ierr(1))
      call matrix_sent(o, 11, 10)
      call matrix_check(in, 10, 2, 'Sendrecv')
      CALL(Sendrecv) (out, 9, MPI_INTEGER, o, 12, in, 20, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, MPI_STATUS_IGNORE, ierr(1))
      call matrix_sent(o, 12, 9)
      call matrix_check(in, 9, 2, 'Sendrecv by wildcards')
      CALL(Sendrecv) (out, 8, MPI_INTEGER, MPI_PROC_NULL, 13, in, 20, MPI_INTEGER, MPI_PROC_NULL, 13, WORLD, state, ierr(1))
      CALL(Sendrecv_replace) (out, 10, MPI_INTEGER, o, 14, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, state, ierr(1))
      call matrix_sent(o, 14, 10)
      call matrix_check(out, 10, 2, 'Sendrecv_replace')
      call matrix_must(SOURCE_OF(state) == o .and. TAG_OF(state) == 14, 'status of Sendrecv_replace')
      end subroutine

      subroutine to_itself()
      integer :: out(10), in(10), error, r
      r = matrix_rank
      call matrix_fill(out, 10, 3)
      CALL(Sendrecv) (out, 10, MPI_INTEGER, r, 15, in, 10, MPI_INTEGER, r, 15, WORLD, MPI_STATUS_IGNORE, ierr(1))
      call matrix_sent(r, 15, 10)
      call matrix_check(in, 10, 3, 'a message to itself')
      end subroutine

      end subroutine

      subroutine matrix_probe()
      use matrix_notes
      implicit none
      integer :: in(20), n, error
      logical :: flag(1)
      STATUS(state)
      MESSAGE :: matched(1)
      REQUEST :: pending(1)
      if (matrix_rank == 0) then
        call send(300, 5, 1)
        call send(301, 6, 2)
        call send(310, 7, 3)
        call send(310, 8, 4)
        call send(310, 9, 5)
        call send(311, 10, 6)
      else
        CALL(Probe) (MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, state, ierr(1))
        call MPI_Get_count(state, MPI_INTEGER, n, error)
        CALL(Recv) (in, n, MPI_INTEGER, SOURCE_OF(state), TAG_OF(state), WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 5, 1, 'Probe')
        flag(1) = .false.
        do while (.not. flag(1))
          TRY(Iprobe) (0, 301, WORLD, flag(1), MPI_STATUS_IGNORE, ierr(1))
        end do
        call matrix_found()
        CALL(Recv) (in, 20, MPI_INTEGER, 0, 301, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 6, 2, 'Iprobe')
        CALL(Mprobe) (0, 310, WORLD, matched(1), MPI_STATUS_IGNORE, ierr(1))
        CALL(Recv) (in, 20, MPI_INTEGER, 0, 310, WORLD, MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 8, 4, 'Recv behind Mprobe')
        CALL(Mrecv) (in, 20, MPI_INTEGER, matched(1), state, ierr(1))
        call matrix_check(in, 7, 3, 'Mrecv')
        flag(1) = .false.
        do while (.not. flag(1))
          TRY(Improbe) (MPI_ANY_SOURCE, 310, WORLD, flag(1), matched(1), MPI_STATUS_IGNORE, ierr(1))
        end do
        call matrix_found()
        CALL(Imrecv) (in, 20, MPI_INTEGER, matched(1), pending(1), ierr(1))
        CALL(Wait) (pending(1), state, ierr(1))
        call matrix_check(in, 9, 5, 'Imrecv')
        CALL(Mprobe) (MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, matched(1), state, ierr(1))
        CALL(Imrecv) (in, 20, MPI_INTEGER, matched(1), pending(1), ierr(1))
        CALL(Wait) (pending(1), MPI_STATUS_IGNORE, ierr(1))
        call matrix_check(in, 10, 6, 'Mprobe with wildcards')
      end if
      CALL(Mprobe) (MPI_PROC_NULL, 1, WORLD, matched(1), state, ierr(1))
      call matrix_must(matched(1) == MPI_MESSAGE_NO_PROC, 'Mprobe of MPI_PROC_NULL')
      CALL(Mrecv) (in, 1, MPI_INTEGER, matched(1), state, ierr(1))

      contains

      subroutine send(tag, n, seed)
      integer, intent(in) :: tag, n, seed
      integer :: out(20), error
      call matrix_fill(out, n, seed)
      CALL(Send) (out, n, MPI_INTEGER, 1, tag, WORLD, ierr(1))
      call matrix_sent(1, tag, n)
      end subroutine

      end subroutine
