"""What the code that Inductor generates consists of, and what follows from it."""
