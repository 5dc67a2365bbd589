"""Rules about oneDNN: which implementations ran, and what they needed to."""
