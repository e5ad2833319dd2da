"""What a history shows: the verdict, findings, remedies as data. Reads only; no JAX."""
