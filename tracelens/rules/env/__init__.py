"""Rules about the environment: threads, machine, settings."""
