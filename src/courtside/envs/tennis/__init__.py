"""Tennis in JAX: the two-racket game of Unity's ML-Agents as the Udacity course ships it.

`court` holds the sizes, `dynamics` moves rackets and ball by one physics step, `rules` pays and ends rallies, `serving` begins
episodes, `observation` shows them, `world` puts these together, `rendering` draws.
"""
