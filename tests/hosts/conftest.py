"""It puts this folder on the import path: tests of every kind name the envs that lie here."""
