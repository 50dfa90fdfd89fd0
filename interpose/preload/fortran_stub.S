/* What the application's MPI calls in Fortran meet first: a stub under every name that a Fortran layer exports, which
 * notes its return address and goes on to the next definition of its name.
 *
 * The layer then calls MPI_X or PMPI_X in C, where the return address is the layer's; the note tells the backend where
 * the application called (bind.h). Open MPI's mpi_f08 calls pmpi_ names of its mpif.h: so a stub keeps what was
 * noted before. fortran_stubs.inc, generated from mpi.tbl, holds a line `fortran_stub SYMBOL` for each stub; they are
 * numbered in its order. Arguments stay where they are, as in trampoline.S, which has the resolver.
 */

#define ENTRY_FORTRAN 2 /* enum mpistair_entry */

    .section .data.mpistair_fortran_cells, "aw", %progbits
    .p2align 6
    .globl mpistair_fortran_cells
    .hidden mpistair_fortran_cells
mpistair_fortran_cells:

    .section .data.rel.ro.mpistair_fortran_names, "aw", %progbits
    .p2align 3
    .globl mpistair_fortran_names
    .hidden mpistair_fortran_names
mpistair_fortran_names:

    .hidden mpistair_fortran_note
    .hidden mpistair_resolve_common

/* Cell and name of the next stub. */
.macro numbered symbol
    .pushsection .data.mpistair_fortran_cells, "aw", %progbits
9:  .quad fortran_unresolved
    .popsection
    .pushsection .rodata.mpistair_fortran_text, "a", %progbits
8:  .asciz "\symbol"
    .popsection
    .pushsection .data.rel.ro.mpistair_fortran_names, "aw", %progbits
    .quad 8b
    .popsection
.endm

    .text

#if defined(__x86_64__)

/* r11: the stub's cell. */
    .p2align 4
note_common:
    .cfi_startproc
    pushq %rax
    .cfi_adjust_cfa_offset 8
    movq mpistair_fortran_note@gottpoff(%rip), %r10
    movq %fs:(%r10), %rax
    movq %rax, %fs:8(%r10)
    movq 8(%rsp), %rax
    movq %rax, %fs:(%r10)
    popq %rax
    .cfi_adjust_cfa_offset -8
    jmp *(%r11)
    .cfi_endproc

/* What a cell holds at first. r11: the cell. */
    .p2align 4
fortran_unresolved:
    .cfi_startproc
    endbr64
    leaq mpistair_fortran_cells(%rip), %r10
    subq %r10, %r11
    shrq $3, %r11
    movl $ENTRY_FORTRAN, %r10d
    jmp mpistair_resolve_common
    .cfi_endproc

/* To note_common with the cell behind label 9. */
.macro go_note
    endbr64
    leaq 9b(%rip), %r11
    jmp note_common
.endm

#elif defined(__aarch64__)

#define BTI_C hint #34 /* bti c, known to every assembler */

/* x16: the stub's cell. */
    .p2align 4
note_common:
    .cfi_startproc
    adrp x17, :gottprel:mpistair_fortran_note
    ldr x17, [x17, #:gottprel_lo12:mpistair_fortran_note]
    mrs x9, tpidr_el0
    add x17, x17, x9
    ldr x9, [x17]
    stp x30, x9, [x17]
    ldr x17, [x16]
    br x17
    .cfi_endproc

/* What a cell holds at first. x16: the cell. */
    .p2align 4
fortran_unresolved:
    .cfi_startproc
    BTI_C
    adrp x17, mpistair_fortran_cells
    add x17, x17, :lo12:mpistair_fortran_cells
    sub x17, x16, x17
    lsr x17, x17, #3
    mov w16, #ENTRY_FORTRAN
    b mpistair_resolve_common
    .cfi_endproc

/* To note_common with the cell behind label 9. */
.macro go_note
    BTI_C
    adrp x16, 9b
    add x16, x16, :lo12:9b
    b note_common
.endm

#else
#error "fortran_stub.S knows x86-64 and aarch64"
#endif

.macro fortran_stub symbol
    numbered \symbol
    .p2align 4
    .globl \symbol
    .type \symbol, %function
\symbol:
    .cfi_startproc
    go_note
    .cfi_endproc
    .size \symbol, . - \symbol
.endm

#include "fortran_stubs.inc"

#include "property_note.inc"
