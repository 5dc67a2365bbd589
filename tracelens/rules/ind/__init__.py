"""Rules about generated code and fusion."""
