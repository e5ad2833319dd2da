"""Many runs, one question: populations, searches, proofs, and whether an edit broke the training."""
