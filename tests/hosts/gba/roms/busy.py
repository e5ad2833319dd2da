"""A screen as full as games have it: four layers of tiles that scroll, 128 sprites, and a processor at work half of the time."""

from __future__ import annotations

from assembler import assemble, cartridge

TITLE, CODE = "BUSY", "CSBE"
FRAMES = 0x02000000
"""A word that counts frames."""
ROUNDS = 5000
"""Of a loop in each frame, about half of a frame's time."""

SOURCE = """
    mov r11, #0x04000000
    mov r10, #FRAMES
    mov r0, #8
    strh r0, [r11, #4]
    add r1, r11, #0x200
    mov r0, #1
    strh r0, [r1]
    mov r0, #0x05000000             @ colours
    mov r1, #256
    ldr r3, =0x12345677
    bl scatter
    mov r0, #0x06000000             @ tiles, then the four layers' maps
    ldr r1, =0x4000
    bl scatter
    ldr r0, =0x06010000             @ the sprites' tiles
    ldr r1, =0x2000
    bl scatter
    mov r4, #4
layer:
    sub r4, r4, #1
    add r0, r4, #8                  @ maps lie in blocks of 2048 bytes, from the eighth on
    mov r0, r0, lsl #8
    orr r0, r0, r4
    add r1, r11, r4, lsl #1
    strh r0, [r1, #8]
    cmp r4, #0
    bne layer
    mov r0, #0x07000000             @ sprites of 16 x 16, all over
    mov r1, #128
sprite:
    and r2, r1, #15
    mov r2, r2, lsl #3
    mov r4, r1, lsr #4
    mov r4, r4, lsl #5
    add r4, r4, r1
    orr r4, r4, #0x4000
    strh r2, [r0], #2
    strh r4, [r0], #2
    strh r1, [r0], #4
    subs r1, r1, #1
    bne sprite
    ldr r0, =0x1F40                 @ mode 0, all layers and sprites
    strh r0, [r11]
frame:
    add r1, r11, #0x200
    mov r0, #1
    strh r0, [r1, #2]
    add r1, r11, #0x300
    mov r0, #0
    strb r0, [r1, #1]
    ldr r0, [r10]
    add r0, r0, #1
    str r0, [r10]
    strh r0, [r11, #0x10]           @ scroll
    strh r0, [r11, #0x16]
    ldr r1, =ROUNDS
work:
    add r2, r2, r0, lsr #3
    subs r1, r1, #1
    bne work
    b frame

scatter:                            @ r1 words from r0 on, from the row of numbers that r3 is at
    ldr r4, =1664525
    ldr r5, =1013904223
next:
    mul r2, r3, r4
    add r3, r2, r5
    str r3, [r0], #4
    subs r1, r1, #1
    bne next
    bx lr
    .pool
"""


def build() -> bytes:
    """The ROM."""
    return cartridge(TITLE, CODE, assemble(SOURCE, {"FRAMES": FRAMES, "ROUNDS": ROUNDS}))
