"""The pytest plug-in (placeholder)."""
