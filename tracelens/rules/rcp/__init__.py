"""Rules about recompiles: which guard fails again and again, and what to mark dynamic."""
