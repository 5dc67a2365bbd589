"""Rules about autotuning."""
