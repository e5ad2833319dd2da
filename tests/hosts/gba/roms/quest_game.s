@ The game of quest.py: begin, walk, act, go from map to map.

    mov r11, #0x04000000
    mov r10, #GAME
    mov r0, #8                      @ the picture's end wakes the processor
    strh r0, [r11, #4]
    add r1, r11, #0x200
    mov r0, #1
    strh r0, [r1]
    bl begin
frame:
    bl sleep
    bl draw_number
    bl count_time
    bl read_keys
    ldr r1, [r10, #LOADING]
    cmp r1, #0
    beq play
    bl load
    b frame
play:
    ldr r1, [r10, #WAIT]
    subs r1, r1, #1
    strpl r1, [r10, #WAIT]
    blmi walk
    b frame
    .pool

begin:                              @ everything as at the start
    push {lr}
    ldr r0, =POINTERS
    ldr r1, =areas
    ldmia r1, {r2, r3, r4}
    stmia r0, {r2, r3, r4}
    ldr r5, =0x2545F491
    ldr r6, =RANDOM
    str r5, [r6]
    ldr r0, =party                  @ both of the party, and one in a box
    ldr r1, =PARTY
    mov r2, #50
    bl copy
    ldr r0, =party
    add r1, r4, #4
    mov r2, #20
    bl copy
    ldr r0, =PARTY_COUNT
    mov r1, #2
    strb r1, [r0]
    ldr r0, =owner                  @ name and trainer's number
    mov r1, r3
    mov r2, #4
    bl copy
    bl block_1
    ldr r1, =MONEY_AT_START
    str r1, [r0, #MONEY_AT]
    add r0, r0, #BAG_AT & 0xF00
    ldr r1, =13 | 1 << 16           @ a potion
    str r1, [r0, #BAG_AT & 0xFF]
    ldr r1, =4 | 5 << 16            @ five balls
    str r1, [r0, #(BAG_AT & 0xFF) + 240]
    ldr r4, =first_flags
next_flag:
    ldrh r0, [r4], #2
    cmp r0, #0
    blne set_flag
    bne next_flag
    ldr r0, =251
    bl meet
    ldr r0, =251
    bl own
    bl change_key
    mov r0, #START_COLUMN
    mov r1, #START_ROW
    add r2, r10, #COLUMN
    stmia r2, {r0, r1}
    bl tell_place
    bl clear
    bl draw_map
    bl show
    pop {pc}
    .pool

areas:
    .word AREA_1, AREA_2, AREA_3

@ ---- walking

walk:                               @ one tile in the direction of an arrow that is held
    push {r4, r5, lr}
    ldr r2, =MAIN
    ldrh r2, [r2, #0x2C]
    ldr r4, [r10, #COLUMN]
    ldr r5, [r10, #ROW]
    tst r2, #0x10
    addne r4, r4, #1
    bne aim
    tst r2, #0x20
    subne r4, r4, #1
    bne aim
    tst r2, #0x40
    subne r5, r5, #1
    bne aim
    tst r2, #0x80
    addne r5, r5, #1
    popeq {r4, r5, pc}
aim:
    cmp r4, #7                      @ not over the edge, nor into a wall
    cmpls r5, #7
    pophi {r4, r5, pc}
    mov r0, r4
    mov r1, r5
    bl tile_at
    cmp r0, #WALL
    popeq {r4, r5, pc}
    ldr r0, [r10, #COLUMN]
    ldr r1, [r10, #ROW]
    str r4, [r10, #COLUMN]
    str r5, [r10, #ROW]
    bl draw_tile
    mov r0, #FRAMES_PER_MOVE - 1
    str r0, [r10, #WAIT]
    bl tell_place
    bl count_step
    bl act
    bl draw_player
    pop {r4, r5, pc}
    .pool

act:                                @ what the tile under the player does
    push {lr}
    ldr r0, [r10, #COLUMN]
    ldr r1, [r10, #ROW]
    bl tile_at
    cmp r0, #DOOR
    beq open_door
    cmp r0, #SWITCH
    beq flip_switch
    cmp r0, #GRASS
    beq in_grass
    cmp r0, #CENTRE
    beq heal
    subs r0, r0, #FIRST_BADGE
    blpl take_badge
    pop {pc}
open_door:
    ldr r0, [r10, #MAP]
    eor r0, r0, #1
    str r0, [r10, #NEXT_MAP]
    mov r0, #LOADING_FRAMES
    str r0, [r10, #LOADING]
    ldr r0, =LOAD_MAP
    mov r1, #0
    bl tell_screen
    mov r0, #3                      @ nothing is drawn: black
    strh r0, [r11]
    pop {pc}
flip_switch:
    bl block_1
    add r0, r0, #FLAGS_AT & 0xF000
    add r0, r0, #(FLAGS_AT & 0xFFF) + SWITCH_FLAG // 8
    ldrb r1, [r0]
    eor r1, r1, #1 << SWITCH_FLAG % 8
    strb r1, [r0]
    pop {pc}
in_grass:
    ldr r0, =PARTY
    ldrh r1, [r0, #0x56]
    subs r1, r1, #HEALTH_PER_GRASS
    cmp r1, #1
    movlt r1, #1
    strh r1, [r0, #0x56]
    pop {pc}
heal:
    ldr r0, =PARTY
    ldrh r1, [r0, #0x58]
    strh r1, [r0, #0x56]
    pop {pc}
    .pool

take_badge:                         @ number r0, from 0
    push {r4, lr}
    ldr r4, =BADGE
    add r4, r4, r0
    mov r0, r4
    bl get_flag
    popne {r4, pc}
    mov r0, r4
    bl set_flag
    and r0, r4, #15                 @ a page of the Pokedex each
    add r0, r0, #40
    bl meet
    bl get_key
    mov r4, r0
    bl block_1
    ldr r1, [r0, #MONEY_AT]
    eor r1, r1, r4
    add r1, r1, #MONEY_PER_BADGE
    eor r1, r1, r4
    str r1, [r0, #MONEY_AT]
    add r0, r0, #BAG_AT & 0xF00
    ldrh r1, [r0, #(BAG_AT & 0xFF) + 2]
    eor r1, r1, r4
    add r1, r1, #1
    eor r1, r1, r4
    strh r1, [r0, #(BAG_AT & 0xFF) + 2]
    bl learn
    pop {r4, pc}
    .pool

learn:                              @ experience for the first Pokemon: decrypt, add, encrypt, new checksum
    push {r4, r5, r6, lr}
    ldr r0, =PARTY
    ldr r1, [r0]
    ldr r2, [r0, #4]
    eor r1, r1, r2
    ldr r2, [r0, #EXPERIENCE_AT]
    eor r2, r2, r1
    add r2, r2, #EXPERIENCE_PER_BADGE
    eor r2, r2, r1
    str r2, [r0, #EXPERIENCE_AT]
    mov r3, #0
    mov r4, #12
    add r5, r0, #0x20
add_word:
    ldr r6, [r5], #4
    eor r6, r6, r1
    add r3, r3, r6
    add r3, r3, r6, lsr #16
    subs r4, r4, #1
    bne add_word
    strh r3, [r0, #0x1C]
    pop {r4, r5, r6, pc}
    .pool

count_step:                         @ variable 5 counts steps
    push {lr}
    ldr r1, [r10, #STEPS]
    add r1, r1, #1
    str r1, [r10, #STEPS]
    bl block_1
    add r0, r0, #VARS_AT & 0xF000
    add r0, r0, #VARS_AT & 0xF00
    strh r1, [r0, #(VARS_AT & 0xFF) + 10]
    pop {pc}

@ ---- from map to map

load:                               @ r1 frames are left
    push {lr}
    subs r1, r1, #1
    str r1, [r10, #LOADING]
    cmp r1, #LOADING_FRAMES - 3
    bleq lose_blocks
    cmp r1, #LOADING_FRAMES - 6
    bleq move_blocks
    cmp r1, #2
    bleq enter
    cmp r1, #0
    bleq show
    pop {pc}

lose_blocks:                        @ for some frames the pointers lead nowhere
    push {r1, lr}
    ldr r0, =POINTERS
    ldmia r0, {r1, r2, r3}
    ldr r4, =STAGING - 12
    stmia r4, {r1, r2, r3}
    mov r1, #0
    mov r2, #0
    mov r3, #0
    stmia r0, {r1, r2, r3}
    pop {r1, pc}

move_blocks:                        @ all three by the same number of bytes
    push {r1, r4, r5, r6, r7, lr}
    bl draw_number
    mov r4, r0, lsr #16
    and r4, r4, #0x7C
    mov r5, #0
next_block:
    ldr r6, =STAGING - 12
    ldr r0, [r6, r5, lsl #2]
    ldr r1, =STAGING
    ldr r7, =sizes
    ldr r2, [r7, r5, lsl #2]
    bl copy
    ldr r0, =STAGING
    ldr r6, =areas
    ldr r1, [r6, r5, lsl #2]
    add r1, r1, r4
    ldr r6, =POINTERS
    str r1, [r6, r5, lsl #2]
    ldr r2, [r7, r5, lsl #2]
    bl copy
    add r5, r5, #1
    cmp r5, #3
    bne next_block
    bl change_key
    pop {r1, r4, r5, r6, r7, pc}
sizes:
    .word SIZE_1 // 4, SIZE_2 // 4, SIZE_3 // 4
    .pool

change_key:                         @ a new one, and all that is encrypted with it anew
    push {r4, r5, lr}
    bl draw_number
    mov r4, r0
    bl block_2
    ldr r1, [r0, #KEY_AT]
    str r4, [r0, #KEY_AT]
    eor r4, r4, r1
    bl block_1
    mov r5, r0
    ldr r1, [r5, #MONEY_AT]
    eor r1, r1, r4
    str r1, [r5, #MONEY_AT]
    add r0, r5, #MONEY_AT & 0xF00
    ldrh r1, [r0, #(MONEY_AT & 0xFF) + 4]
    eor r1, r1, r4
    strh r1, [r0, #(MONEY_AT & 0xFF) + 4]
    add r0, r5, #BAG_AT
    mov r2, #NUM_SLOTS
next_slot:
    ldrh r1, [r0, #2]
    eor r1, r1, r4
    strh r1, [r0, #2]
    add r0, r0, #4
    subs r2, r2, #1
    bne next_slot
    ldr r0, =STATS_AT
    add r0, r0, r5
    mov r2, #NUM_STATS
next_stat:
    ldr r1, [r0]
    eor r1, r1, r4
    str r1, [r0], #4
    subs r2, r2, #1
    bne next_stat
    pop {r4, r5, pc}
    .pool

enter:                              @ be on the other map
    push {r1, lr}
    ldr r0, [r10, #NEXT_MAP]
    str r0, [r10, #MAP]
    ldr r1, =arrivals
    add r1, r1, r0, lsl #3
    ldmia r1, {r2, r3}
    add r1, r10, #COLUMN
    stmia r1, {r2, r3}
    cmp r0, #1
    ldr r0, =VISITED_PETALBURG
    bleq set_flag
    bl tell_place
    bl draw_map
    pop {r1, pc}
    .pool

show:                               @ the picture is on, the player can walk
    push {r1, lr}
    ldr r0, =0x0403
    strh r0, [r11]
    ldr r0, =OVERWORLD
    ldr r1, =PICTURE_INTERRUPT
    bl tell_screen
    pop {r1, pc}

tell_screen:                        @ what runs the screen: r0, and its picture interrupt: r1
    ldr r2, =MAIN
    str r0, [r2, #4]
    str r1, [r2, #0xC]
    bx lr

tell_place:                         @ x, y, group and number of the map
    push {lr}
    bl block_1
    ldr r1, [r10, #MAP]
    ldr r2, =first_coordinates
    ldr r3, [r2, r1, lsl #2]
    ldr r2, =map_numbers
    ldr r2, [r2, r1, lsl #2]
    mov r2, r2, lsl #8
    strh r2, [r0, #4]
    ldr r1, [r10, #COLUMN]
    add r1, r1, r3
    strh r1, [r0]
    ldr r1, [r10, #ROW]
    add r1, r1, r3
    strh r1, [r0, #2]
    pop {pc}
    .pool
