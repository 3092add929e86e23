/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.S: the first instruction of a test guest (64-bit boot protocol: %rsi is the zero page), and
 * one entry for each exception. Vectors 32 and above are the interrupts of the local APIC.
 */
    .section .text.start, "ax"
    .globl _start
_start:
    cli
    lea     stack_end(%rip), %rsp
    mov     %rsi, %rdi
    call    guest_start
1:  hlt
    jmp     1b

    .text
    .align  16
    .globl exception_entries
exception_entries:
    .irp vector, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    .align  16
    .if (\vector != 8) && ((\vector < 10) || (\vector > 14)) && (\vector != 17)
    push    $0                      /* where the processor pushes no error code */
    .endif
    push    $\vector
    jmp     exception
    .endr

exception:
    mov     0(%rsp), %rdi           /* vector */
    mov     8(%rsp), %rsi           /* error code */
    mov     16(%rsp), %rdx          /* rip */
    and     $-16, %rsp
    call    guest_exception         /* does not return */

    .globl timer_entry
timer_entry:
    push    %rax
    incl    timer_ticks(%rip)
    movabs  $0xfee000b0, %rax       /* end of interrupt */
    movl    $0, (%rax)
    pop     %rax
    iretq

    .bss
    .align  16
    .skip   65536
stack_end:
    .globl timer_ticks
timer_ticks:
    .long   0
