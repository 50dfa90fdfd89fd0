! The notes of the Fortran matrix program, as those of the C program (matrix.c), into NOTES.rank:
!
!     call FUNCTION FILE LINE N        it was called N times there, and that must show
!     sent DESTINATION TAG BYTES N     so many messages
#include "binding.inc"
      module matrix_notes
      USE_BINDING
      use, intrinsic :: iso_c_binding, only: c_ptr
      implicit none
      INCLUDE_BINDING
      integer, parameter :: max_notes = 2000
! An element, not a variable: gfortran 12 gives a call whose variable its INTENT(OUT) clobbers a line far from the call.
      integer :: ierr(1)
      integer :: matrix_rank, matrix_other
      character(1000), private :: tried_name, tried_file, files(max_notes), names(max_notes)
      integer, private :: lines(max_notes), calls(max_notes), tried
      integer, private :: sent(3, max_notes), messages(max_notes)
      integer, private :: n_lines = 0, n_sent = 0
      integer(8) :: matrix_sum = 0

      contains

      subroutine matrix_must(ok, what)
      logical, intent(in) :: ok
      character(*), intent(in) :: what
      integer :: error
      if (ok) return
      write(0, '(a, i0, 2a)') 'matrix: rank ', matrix_rank, ': ', what
      call MPI_Abort(WORLD, 3, error)
      end subroutine

      subroutine matrix_did(name, file, line)
      character(*), intent(in) :: name, file
      integer, intent(in) :: line
      integer :: i
      do i = 1, n_lines
        if (lines(i) == line .and. files(i) == file(scan(file, '/', back=.true.) + 1:)) exit
      end do
      call matrix_must(i <= max_notes, 'too many calls to note')
      if (i > n_lines) then
        n_lines = i
        lines(i) = line
        files(i) = file(scan(file, '/', back=.true.) + 1:)
        names(i) = name
        calls(i) = 0
      end if
      calls(i) = calls(i) + 1
      end subroutine

      subroutine matrix_tried(name, file, line)
      character(*), intent(in) :: name, file
      integer, intent(in) :: line
      tried_name = name
      tried_file = file
      tried = line
      end subroutine

! The last call behind TRY did report something.
      subroutine matrix_found()
      call matrix_did(tried_name, tried_file, tried)
      end subroutine

! A message of n integers that this rank sends.
      subroutine matrix_sent(destination, tag, n)
      integer, intent(in) :: destination, tag, n
      integer :: i
      do i = 1, n_sent
        if (all(sent(:, i) == [destination, tag, 4 * n])) exit
      end do
      call matrix_must(i <= max_notes, 'too many messages to note')
      if (i > n_sent) then
        n_sent = i
        sent(:, i) = [destination, tag, 4 * n]
        messages(i) = 0
      end if
      messages(i) = messages(i) + 1
      end subroutine

      subroutine matrix_fill(values, n, seed)
      integer, intent(in) :: n, seed
      integer, intent(out) :: values(*)
      integer :: i
      do i = 1, n
        values(i) = seed * 1000 + i
      end do
      end subroutine

! Ends the program unless values(1:n) are those of the seed; adds them to the sum.
      subroutine matrix_check(values, n, seed, what)
      integer, intent(in) :: n, seed
      integer, intent(in) :: values(*)
      character(*), intent(in) :: what
      integer :: i
      do i = 1, n
        call matrix_must(values(i) == seed * 1000 + i, what)
        matrix_sum = matrix_sum + int(values(i), 8) * i
      end do
      end subroutine

      subroutine matrix_write(path)
      character(*), intent(in) :: path
      character(1024) :: name
      integer :: unit, i
      write(name, '(2a, i0)') path, '.', matrix_rank
      open(newunit=unit, file=trim(name), action='write', status='replace')
      do i = 1, n_lines
        write(unit, '(5a, i0, 1x, i0)') 'call MPI_', trim(names(i)), ' ', trim(files(i)), ' ', lines(i), calls(i)
      end do
      do i = 1, n_sent
        write(unit, '(a, 4(1x, i0))') 'sent', sent(:, i), messages(i)
      end do
      close(unit)
      end subroutine

      end module
