"""What is known about oneDNN beyond its log lines: kinds of implementations, work, reasons."""
