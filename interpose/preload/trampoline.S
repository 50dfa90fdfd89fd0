/* What the application's MPI calls meet first: two entries a function, MPI_X and PMPI_X, of one indirect jump each.
 *
 * A jump that touches no argument needs no prototype, so one text serves every MPI and every argument type, variable
 * arguments included. trampolines.inc, generated from mpi.tbl, holds a line `trampoline NAME, NUMBER` for each
 * function; the macro makes of it
 *
 *     MPI_NAME, PMPI_NAME   jump through mpistair_cells[NUMBER], mpistair_pcells[NUMBER]
 *     resolve, presolve     what the cells hold at first: ask mpistair_resolve() where to go, then go there
 *     count, pcount         add 1 to mpistair_calls[NUMBER], go on to mpistair_next[NUMBER], mpistair_pnext[NUMBER]
 *     caller                for PMPI_NAME: looks the return address up in mpistair_callers; goes through
 *                           the [NUMBER] of the cells that it finds there; who is not known, to presolve
 *
 * Registers: only those that a call may clobber and that carry no argument are used (r10, r11; x9-x17). The resolver
 * saves every register that may carry one, the number of vector registers (rax) and the result's address (x8) among
 * them. cells.h declares the arrays.
 */

#define CELLS_OFFSET 16 /* of struct mpistair_caller */
#define CALLER_BYTES   24

#define ENTRY_MPI  0 /* enum mpistair_entry */
#define ENTRY_PMPI 1

    .section .data.mpistair_cells, "aw", %progbits
    .p2align 6
    .globl mpistair_cells
    .hidden mpistair_cells
mpistair_cells:

    .section .data.mpistair_pcells, "aw", %progbits
    .p2align 6
    .globl mpistair_pcells
    .hidden mpistair_pcells
mpistair_pcells:

    .section .data.rel.ro.mpistair_count, "aw", %progbits
    .p2align 3
    .globl mpistair_count_stubs
    .hidden mpistair_count_stubs
mpistair_count_stubs:

    .section .data.rel.ro.mpistair_pcount, "aw", %progbits
    .p2align 3
    .globl mpistair_pcount_stubs
    .hidden mpistair_pcount_stubs
mpistair_pcount_stubs:

    .section .data.rel.ro.mpistair_caller, "aw", %progbits
    .p2align 3
    .globl mpistair_caller_stubs
    .hidden mpistair_caller_stubs
mpistair_caller_stubs:

    .hidden mpistair_next
    .hidden mpistair_pnext
    .hidden mpistair_calls
    .hidden mpistair_callers
    .hidden mpistair_n_callers
    .hidden mpistair_resolve

/* Adds the address of a code label to one of the arrays above. */
.macro entry_of section, label
    .pushsection \section, "aw", %progbits
    .quad \label
    .popsection
.endm

.macro exported name
    .p2align 4
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
.endm

.macro end_exported name
    .cfi_endproc
    .size \name, . - \name
.endm

    .text

#if defined(__x86_64__)

/* r11d: function number, r10d: entry; as the entry was called. */
    .p2align 4
    .globl mpistair_resolve_common /* fortran_stub.S comes here too */
    .hidden mpistair_resolve_common
mpistair_resolve_common:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    andq $-16, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movaps %xmm0, 64(%rsp)
    movaps %xmm1, 80(%rsp)
    movaps %xmm2, 96(%rsp)
    movaps %xmm3, 112(%rsp)
    movaps %xmm4, 128(%rsp)
    movaps %xmm5, 144(%rsp)
    movaps %xmm6, 160(%rsp)
    movaps %xmm7, 176(%rsp)
    movl %r11d, %edi
    movl %r10d, %esi
    movq 8(%rbp), %rdx
    call mpistair_resolve
    movq %rax, %r11
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movaps 64(%rsp), %xmm0
    movaps 80(%rsp), %xmm1
    movaps 96(%rsp), %xmm2
    movaps 112(%rsp), %xmm3
    movaps 128(%rsp), %xmm4
    movaps 144(%rsp), %xmm5
    movaps 160(%rsp), %xmm6
    movaps 176(%rsp), %xmm7
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp *%r11
    .cfi_endproc

/* r11d: function number. */
    .p2align 4
caller_common:
    .cfi_startproc
    pushq %rax
    .cfi_adjust_cfa_offset 8
    pushq %rcx
    .cfi_adjust_cfa_offset 8
    movq 16(%rsp), %rax
    leaq mpistair_callers(%rip), %rcx
    movl mpistair_n_callers(%rip), %r10d
1:  subl $1, %r10d
    jc 3f
    cmpq 0(%rcx), %rax
    jb 2f
    cmpq 8(%rcx), %rax
    jb 4f
2:  addq $CALLER_BYTES, %rcx
    jmp 1b
3:  popq %rcx /* not known */
    .cfi_adjust_cfa_offset -8
    popq %rax
    .cfi_adjust_cfa_offset -8
    movl $ENTRY_PMPI, %r10d
    jmp mpistair_resolve_common
    .cfi_adjust_cfa_offset 16
4:  movq CELLS_OFFSET(%rcx), %r10
    popq %rcx
    .cfi_adjust_cfa_offset -8
    popq %rax
    .cfi_adjust_cfa_offset -8
    jmp *(%r10, %r11, 8)
    .cfi_endproc

.macro trampoline name, number
    exported MPI_\name
    endbr64
    jmp *mpistair_cells+8*\number(%rip)
    end_exported MPI_\name
    exported PMPI_\name
    endbr64
    jmp *mpistair_pcells+8*\number(%rip)
    end_exported PMPI_\name

    .cfi_startproc
resolve_\number:
    endbr64
    movl $\number, %r11d
    movl $ENTRY_MPI, %r10d
    jmp mpistair_resolve_common
presolve_\number:
    endbr64
    movl $\number, %r11d
    movl $ENTRY_PMPI, %r10d
    jmp mpistair_resolve_common
count_\number:
    endbr64
    movq mpistair_calls(%rip), %r11
    lock incq 8*\number(%r11)
    jmp *mpistair_next+8*\number(%rip)
pcount_\number:
    endbr64
    movq mpistair_calls(%rip), %r11
    lock incq 8*\number(%r11)
    jmp *mpistair_pnext+8*\number(%rip)
caller_\number:
    endbr64
    movl $\number, %r11d
    jmp caller_common
    .cfi_endproc
    entry_of .data.mpistair_cells, resolve_\number
    entry_of .data.mpistair_pcells, presolve_\number
    entry_of .data.rel.ro.mpistair_count, count_\number
    entry_of .data.rel.ro.mpistair_pcount, pcount_\number
    entry_of .data.rel.ro.mpistair_caller, caller_\number
.endm

#elif defined(__aarch64__)

#define BTI_C hint #34 /* bti c, known to every assembler */

/* w17: function number, w16: entry; as the entry was called. */
    .p2align 4
    .globl mpistair_resolve_common /* fortran_stub.S comes here too */
    .hidden mpistair_resolve_common
mpistair_resolve_common:
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w17
    mov w1, w16
    mov x2, x30
    bl mpistair_resolve
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc

/* w17: function number. */
    .p2align 4
caller_common:
    .cfi_startproc
    adrp x9, mpistair_n_callers
    add x9, x9, :lo12:mpistair_n_callers
    ldar w10, [x9]
    adrp x9, mpistair_callers
    add x9, x9, :lo12:mpistair_callers
1:  cbz w10, 4f
    ldp x11, x12, [x9]
    cmp x30, x11
    b.lo 2f
    cmp x30, x12
    b.lo 3f
2:  add x9, x9, #CALLER_BYTES
    sub w10, w10, #1
    b 1b
3:  ldr x12, [x9, #CELLS_OFFSET]
    ldr x16, [x12, w17, uxtw #3]
    br x16
4:  mov w16, #ENTRY_PMPI /* not known */
    b mpistair_resolve_common
    .cfi_endproc

.macro count_call number
    adrp x9, mpistair_calls
    add x9, x9, :lo12:mpistair_calls
    ldr x9, [x9]
    add x9, x9, #(8*\number)&0xfff
    add x9, x9, #(8*\number)>>12, lsl #12
1:  ldxr x10, [x9]
    add x10, x10, #1
    stxr w11, x10, [x9]
    cbnz w11, 1b
.endm

.macro jump_through array, number
    adrp x16, \array+8*\number
    add x16, x16, :lo12:\array+8*\number
    ldr x16, [x16]
    br x16
.endm

.macro trampoline name, number
    exported MPI_\name
    BTI_C
    jump_through mpistair_cells, \number
    end_exported MPI_\name
    exported PMPI_\name
    BTI_C
    jump_through mpistair_pcells, \number
    end_exported PMPI_\name

    .cfi_startproc
resolve_\number:
    BTI_C
    mov w17, #\number
    mov w16, #ENTRY_MPI
    b mpistair_resolve_common
presolve_\number:
    BTI_C
    mov w17, #\number
    mov w16, #ENTRY_PMPI
    b mpistair_resolve_common
count_\number:
    BTI_C
    count_call \number
    jump_through mpistair_next, \number
pcount_\number:
    BTI_C
    count_call \number
    jump_through mpistair_pnext, \number
caller_\number:
    BTI_C
    mov w17, #\number
    b caller_common
    .cfi_endproc
    entry_of .data.mpistair_cells, resolve_\number
    entry_of .data.mpistair_pcells, presolve_\number
    entry_of .data.rel.ro.mpistair_count, count_\number
    entry_of .data.rel.ro.mpistair_pcount, pcount_\number
    entry_of .data.rel.ro.mpistair_caller, caller_\number
.endm

#else
#error "trampoline.S knows x86-64 and aarch64"
#endif

#include "trampolines.inc"

#include "property_note.inc"
