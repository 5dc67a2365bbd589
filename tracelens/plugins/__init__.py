"""What is installed: rules, log kinds and renderers, ours and those of packs, by one mechanism."""
