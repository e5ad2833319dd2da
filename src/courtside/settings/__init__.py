"""What a run is asked to do: settings, ranges, schedules, presets, names of worlds and hosts. No JAX, no NumPy."""
