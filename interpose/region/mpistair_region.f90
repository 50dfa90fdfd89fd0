! Regions with names, for mpistair, in Fortran: mpistair_region.h says what they are.
!
!     use mpistair_region
!
!     call mpistair_region_begin('solve')
!     ...
!     call mpistair_region_end('solve')
!
! Compile this file with the program; there is nothing to link (with a glibc before 2.34: -ldl). Where libmpistair.so is
! not preloaded, a call does nothing. Blanks at the end of a name do not count.
module mpistair_region
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_ptr, c_null_char, c_null_ptr, c_loc, c_associated, c_f_procpointer
  implicit none
  private
  public :: mpistair_region_begin, mpistair_region_end, mpistair_region_set, mpistair_region_mark

  abstract interface
    subroutine named(name) bind(c)
      import :: c_ptr
      type(c_ptr), value :: name
    end subroutine
  end interface

  interface
    function dlsym(library, name) bind(c, name='dlsym')
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: dlsym
    end function
  end interface

  logical, save :: is_known = .false.
  procedure(named), pointer, save :: on_begin => null(), on_end => null(), on_set => null(), on_mark => null()

contains

  subroutine find(function, symbol)
    procedure(named), pointer, intent(inout) :: function
    character(len=*), intent(in) :: symbol
    type(c_funptr) :: found
    found = dlsym(c_null_ptr, 'mpistair_v1_region_' // symbol // c_null_char)
    if (c_associated(found)) call c_f_procpointer(found, function)
  end subroutine

  subroutine find_all()
    if (is_known) return
    call find(on_end, 'end')
    call find(on_set, 'set')
    call find(on_mark, 'mark')
    call find(on_begin, 'begin')
    is_known = .true.
  end subroutine

  subroutine tell(function, name)
    procedure(named), pointer, intent(in) :: function
    character(len=*), intent(in), optional :: name
    character(kind=c_char, len=256), target :: text
    if (.not. associated(function)) return
    if (.not. present(name)) then
      call function(c_null_ptr)
      return
    end if
    text = name(1:min(len_trim(name), len(text) - 1)) // c_null_char
    call function(c_loc(text))
  end subroutine

  ! Enters a region.
  subroutine mpistair_region_begin(name)
    character(len=*), intent(in) :: name
    call find_all()
    call tell(on_begin, name)
  end subroutine

  ! Leaves the innermost region of that name, and those within it; without a name the innermost.
  subroutine mpistair_region_end(name)
    character(len=*), intent(in), optional :: name
    call find_all()
    call tell(on_end, name)
  end subroutine

  ! Leaves the region that was set before, and enters this one; without a name none.
  subroutine mpistair_region_set(name)
    character(len=*), intent(in), optional :: name
    call find_all()
    call tell(on_set, name)
  end subroutine

  ! Notes a moment.
  subroutine mpistair_region_mark(name)
    character(len=*), intent(in) :: name
    call find_all()
    call tell(on_mark, name)
  end subroutine
end module
