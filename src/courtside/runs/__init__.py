"""The run folder: everything that is written while a run happens, and read back."""
