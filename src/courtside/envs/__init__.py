"""Worlds written in JAX, the contract that they keep, and opponents inside a world."""
