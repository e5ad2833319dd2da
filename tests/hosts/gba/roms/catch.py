"""A game of catch: a ball falls, a paddle goes left and right below it. A catch scores; a miss costs one of three lives.

When the last life is gone all stands still until A is pressed. Where the next ball starts follows from the balls before.
"""

from __future__ import annotations

from assembler import assemble, cartridge

TITLE, CODE = "CATCH", "CSCE"
STATE = 0x02000000
SCORE, LIVES, PADDLE, BALL_X, BALL_Y, FRAMES, SEED = (STATE + 4 * i for i in range(7))
"""Words in EWRAM: balls caught, lives left, columns (0 to 14) and row (0 to 9) in squares of 16 pixels, frames, and what
the next column is drawn from."""
COLUMNS, ROWS, FRAMES_PER_ROW, FRAMES_PER_MOVE = 15, 10, 8, 4
PADDLE_COLOUR, BALL_COLOUR, OVER_COLOUR = 0x7FFF, 0x03FF, 0x0010

SOURCE = """
    mov r11, #0x04000000        @ registers of the console
    ldr r0, =0x0403             @ mode 3: a picture of 16-bit pixels
    strh r0, [r11]
    mov r0, #8                  @ the picture's end wakes the processor
    strh r0, [r11, #4]
    add r1, r11, #0x200
    mov r0, #1
    strh r0, [r1]
    mov r10, #0x02000000        @ the game's words
    ldr r0, =12345
    str r0, [r10, #24]
begin:
    bl clear
    mov r0, #0
    str r0, [r10]
    str r0, [r10, #20]
    mov r0, #3
    str r0, [r10, #4]
    mov r0, #7
    str r0, [r10, #8]
    bl new_ball
    ldr r2, =PADDLE_COLOUR
    bl draw_paddle
frame:
    bl wait
    ldr r0, [r10, #20]
    add r0, r0, #1
    str r0, [r10, #20]
    ldr r1, [r10, #4]
    cmp r1, #0
    beq over
    tst r0, #FRAMES_PER_MOVE - 1
    bleq move_paddle
    ldr r0, [r10, #20]
    tst r0, #FRAMES_PER_ROW - 1
    bleq move_ball
    b frame
over:
    mov r0, #7
    mov r1, #4
    ldr r2, =OVER_COLOUR
    bl square
    bl keys
    tst r0, #1
    bne begin
    b frame

move_paddle:
    push {lr}
    bl keys
    mov r4, r0
    tst r4, #0x30               @ right or left
    popeq {pc}
    mov r2, #0
    bl draw_paddle
    ldr r0, [r10, #8]
    tst r4, #0x10
    addne r0, r0, #1
    tst r4, #0x20
    subne r0, r0, #1
    cmp r0, #1
    movlt r0, #1
    cmp r0, #COLUMNS - 2
    movgt r0, #COLUMNS - 2
    str r0, [r10, #8]
    ldr r2, =PADDLE_COLOUR
    bl draw_paddle
    pop {pc}

draw_paddle:                    @ three squares in colour r2
    push {r4, lr}
    ldr r4, [r10, #8]
    sub r0, r4, #1
    mov r1, #ROWS - 1
    bl square
    mov r0, r4
    mov r1, #ROWS - 1
    bl square
    add r0, r4, #1
    mov r1, #ROWS - 1
    bl square
    pop {r4, pc}

move_ball:
    push {lr}
    ldr r0, [r10, #12]
    ldr r1, [r10, #16]
    mov r2, #0
    bl square
    ldr r1, [r10, #16]
    add r1, r1, #1
    str r1, [r10, #16]
    cmp r1, #ROWS - 1
    beq landed
    bl draw_ball
    pop {pc}
landed:
    ldr r0, [r10, #12]
    ldr r1, [r10, #8]
    sub r0, r0, r1
    add r0, r0, #1
    cmp r0, #2                  @ from one left of the middle to one right of it
    ldrls r1, [r10]
    addls r1, r1, #1
    strls r1, [r10]
    ldrhi r1, [r10, #4]
    subhi r1, r1, #1
    strhi r1, [r10, #4]
    bl new_ball
    pop {pc}

new_ball:
    push {lr}
    ldr r0, [r10, #24]
    ldr r1, =1664525
    ldr r2, =1013904223
    mul r3, r0, r1
    add r0, r3, r2
    str r0, [r10, #24]
    mov r0, r0, lsr #16
    mov r1, #COLUMNS
    mul r2, r0, r1
    mov r0, r2, lsr #16
    str r0, [r10, #12]
    mov r0, #0
    str r0, [r10, #16]
    bl draw_ball
    pop {pc}

draw_ball:
    ldr r0, [r10, #12]
    ldr r1, [r10, #16]
    ldr r2, =BALL_COLOUR
    b square

square:                         @ fill column r0, row r1 with colour r2
    orr r3, r2, r2, lsl #16
    mov r12, #240 * 16 * 2
    mul r12, r1, r12
    add r12, r12, r0, lsl #5
    add r12, r12, #0x06000000
    mov r0, #16
line:
    mov r1, #8
pair:
    str r3, [r12], #4
    subs r1, r1, #1
    bne pair
    add r12, r12, #480 - 32
    subs r0, r0, #1
    bne line
    bx lr

clear:
    mov r0, #0x06000000
    mov r1, #0
    mov r2, #240 * 160 // 2
zero:
    str r1, [r0], #4
    subs r2, r2, #1
    bne zero
    bx lr

keys:                           @ r0: a bit for each key held
    add r0, r11, #0x100
    ldrh r0, [r0, #0x30]
    mvn r0, r0
    mov r0, r0, lsl #22
    mov r0, r0, lsr #22
    bx lr

wait:                           @ sleep until the picture's end
    add r1, r11, #0x200
    mov r0, #1
    strh r0, [r1, #2]
    add r1, r11, #0x300
    mov r0, #0
    strb r0, [r1, #1]
    bx lr
    .pool
"""


def build() -> bytes:
    """The ROM."""
    symbols = {name: value for name, value in globals().items() if isinstance(value, int)}
    return cartridge(TITLE, CODE, assemble(SOURCE, symbols))
