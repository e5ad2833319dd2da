"""Worlds outside JAX, a folder for each kind, and the crews that step them."""
