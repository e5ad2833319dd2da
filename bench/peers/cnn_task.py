"""What the Nature CNN scripts share: sizes and settings of the step that is measured, and the command line.

Learning is minibatch steps of PPO as the zoo trains Atari: 256 rows of bytes gathered out of a rollout of 128 x 8, forward,
clipped loss, backward, norm clip, Adam. Acting is one forward pass of `--batch` rows of bytes to the policy's and the
value's outputs. Images are counted: the record's updates per second are images per second. The pixels are random:
what a step costs does not depend on them. Only the standard library is imported here, so the module loads under any interpreter.
"""

import argparse

import mad4pg_task as task

ROLLOUT, MINIBATCH, NUM_ACTIONS = 1024, 256, 4
HEIGHT, WIDTH, STACK = 84, 84, 4
LEARNING_RATE, ADAM_EPS, MAX_GRAD_NORM = 2.5e-4, 1e-5, 0.5
CLIP, ENTROPY_COEF, VALUE_COEF = 0.1, 0.01, 0.5


def make_parser(doc: str) -> argparse.ArgumentParser:
    parser = task.make_parser(doc)
    parser.add_argument("--threads", type=int, default=0, help="0 takes what the system would take itself")
    parser.add_argument("--batch", type=int, default=0, help="act on this many rows instead of learning")
    return parser
