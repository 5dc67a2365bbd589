"""Rules about results: what makes them differ, or wrong."""
