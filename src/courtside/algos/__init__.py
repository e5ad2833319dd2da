"""The Learning Phase: how networks change, one file per algorithm, and what those stand on."""
