@ The save blocks of quest.py: where they are, flags, the Pokedex.

block_1:
    ldr r0, =POINTERS
    ldr r0, [r0]
    bx lr

block_2:
    ldr r0, =POINTERS
    ldr r0, [r0, #4]
    bx lr

get_key:
    push {lr}
    bl block_2
    ldr r0, [r0, #KEY_AT]
    pop {pc}

set_flag:                           @ flag r0; the processor's own flags stay "not equal"
    push {lr}
    mov r1, r0
    bl block_1
    add r0, r0, #FLAGS_AT & 0xF000
    add r0, r0, #FLAGS_AT & 0xFFF
    bl set_bit
    pop {pc}

get_flag:                           @ "not equal" where flag r0 is set
    push {lr}
    mov r1, r0
    bl block_1
    add r0, r0, #FLAGS_AT & 0xF000
    add r0, r0, #FLAGS_AT & 0xFFF
    ldrb r2, [r0, r1, lsr #3]
    and r1, r1, #7
    mov r3, #1
    mov r3, r3, lsl r1
    tst r2, r3
    pop {pc}

meet:                               @ bit r0 of the Pokedex: seen
    push {lr}
    mov r1, r0
    bl block_2
    add r0, r0, #SEEN_AT
    bl set_bit
    pop {pc}

own:
    push {lr}
    mov r1, r0
    bl block_2
    add r0, r0, #OWNED_AT
    bl set_bit
    pop {pc}

set_bit:                            @ bit r1 from address r0 on
    add r0, r0, r1, lsr #3
    and r1, r1, #7
    mov r3, #1
    ldrb r2, [r0]
    orrs r2, r2, r3, lsl r1
    strb r2, [r0]
    bx lr

copy:                               @ r2 words from r0 to r1
    ldr r3, [r0], #4
    str r3, [r1], #4
    subs r2, r2, #1
    bne copy
    bx lr
    .pool
