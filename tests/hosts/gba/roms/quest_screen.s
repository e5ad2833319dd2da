@ The rest of quest.py: what happens in each frame, and the picture.

@ ---- each frame

sleep:                              @ until the picture's end
    add r1, r11, #0x200
    mov r0, #1
    strh r0, [r1, #2]
    add r1, r11, #0x300
    mov r0, #0
    strb r0, [r1, #1]
    bx lr

draw_number:                        @ the next of a fixed row of numbers, in r0
    ldr r1, =RANDOM
    ldr r0, [r1]
    ldr r2, =1664525
    ldr r3, =1013904223
    mul r2, r0, r2
    add r0, r2, r3
    str r0, [r1]
    bx lr

read_keys:                          @ held, and held since this frame
    add r0, r11, #0x100
    ldrh r0, [r0, #0x30]
    mvn r0, r0
    mov r0, r0, lsl #22
    mov r0, r0, lsr #22
    ldr r1, =MAIN
    ldrh r2, [r1, #0x2C]
    strh r0, [r1, #0x2C]
    bic r2, r0, r2
    strh r2, [r1, #0x2E]
    bx lr

count_time:                         @ frames, seconds, minutes, hours
    ldr r0, =POINTERS
    ldr r0, [r0, #4]
    cmp r0, #0
    bxeq lr
    mov r3, #0
    add r0, r0, #TIME_AT
    ldrb r1, [r0, #4]
    add r1, r1, #1
    cmp r1, #60
    strbne r1, [r0, #4]
    bxne lr
    strb r3, [r0, #4]
    ldrb r1, [r0, #3]
    add r1, r1, #1
    cmp r1, #60
    strbne r1, [r0, #3]
    bxne lr
    strb r3, [r0, #3]
    ldrb r1, [r0, #2]
    add r1, r1, #1
    cmp r1, #60
    strbne r1, [r0, #2]
    bxne lr
    strb r3, [r0, #2]
    ldrh r1, [r0]
    add r1, r1, #1
    strh r1, [r0]
    bx lr
    .pool

@ ---- the picture: tiles of 20 x 20 pixels, 40 from the left

tile_at:                            @ r0: the tile of column r0, row r1
    ldr r2, [r10, #MAP]
    ldr r3, =maps
    add r3, r3, r2, lsl #6
    add r3, r3, r1, lsl #3
    ldrb r0, [r3, r0]
    bx lr

draw_map:
    push {r4, r5, lr}
    mov r5, #0
next_row:
    mov r4, #0
next_column:
    mov r0, r4
    mov r1, r5
    bl draw_tile
    add r4, r4, #1
    cmp r4, #8
    bne next_column
    add r5, r5, #1
    cmp r5, #8
    bne next_row
    bl draw_player
    pop {r4, r5, pc}

draw_tile:                          @ column r0, row r1
    push {r4, r5, r6, r7, lr}
    mov r4, r0
    mov r5, r1
    bl tile_at
    cmp r0, #SWITCH
    beq drawn_switch
    subs r6, r0, #FIRST_BADGE
    movpl r0, #FIRST_BADGE
    mov r7, r0
    bmi plain_tile
    ldr r0, =BADGE                  @ one that was taken is floor
    add r0, r0, r6
    bl get_flag
    movne r7, #FLOOR
plain_tile:
    ldr r6, =colours
    add r6, r6, r7, lsl #2
    ldrh r7, [r6]
    ldrh r6, [r6, #2]
fill_tile:                          @ colour r7 around, r6 inside
    mov r0, r4
    mov r1, r5
    mov r2, #0
    mov r3, r7
    bl fill
    mov r0, r4
    mov r1, r5
    mov r2, #4
    mov r3, r6
    bl fill
    pop {r4, r5, r6, r7, pc}
drawn_switch:
    ldr r0, =SWITCH_FLAG
    bl get_flag
    mov r7, #SWITCH
    beq plain_tile
    ldr r7, =FLOOR_COLOUR
    ldr r6, =ON_COLOUR
    b fill_tile
    .pool

draw_player:
    ldr r0, [r10, #COLUMN]
    ldr r1, [r10, #ROW]
    mov r2, #2
    ldr r3, =PLAYER_COLOUR
    b fill

fill:                               @ the square of column r0, row r1, r2 pixels from its edges, with colour r3
    push {r4, r5, lr}
    orr r3, r3, r3, lsl #16
    mov r4, #20
    mul r12, r1, r4
    add r12, r12, r2
    mov r5, #480
    mul r4, r12, r5                 @ bytes above
    add r0, r0, r0, lsl #2          @ 5 columns
    add r4, r4, r0, lsl #3          @ 40 bytes each
    add r4, r4, r2, lsl #1
    add r4, r4, #80
    add r4, r4, #0x06000000
    rsb r2, r2, #10                 @ words of a line, half as many as lines
    mov r0, r2, lsl #1
    sub r5, r5, r2, lsl #2
fill_line:
    mov r1, r2
fill_word:
    str r3, [r4], #4
    subs r1, r1, #1
    bne fill_word
    add r4, r4, r5
    subs r0, r0, #1
    bne fill_line
    pop {r4, r5, pc}

clear:
    mov r0, #0x06000000
    ldr r1, =MARGIN_COLOUR * 0x10001
    mov r2, #240 * 160 // 2
clear_word:
    str r1, [r0], #4
    subs r2, r2, #1
    bne clear_word
    bx lr
    .pool
