"""MultiGrid in JAX, exact to the reference: grid worlds with doors, keys, boxes and several agents.

`objects` and `state` say what there is, `dynamics` moves it, `worlds` lay it out and judge it, `observation` and `encodings`
show it, `world` puts these together, `catalogue` knows every name, `replay` holds all of it against recorded episodes.
"""
