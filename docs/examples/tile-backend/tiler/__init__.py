"""A backend of torch.compile, and what reads its log. The two need nothing of each other."""
