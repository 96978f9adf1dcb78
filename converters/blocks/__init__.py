"""One emit function per mechanism; none of them knows a model's name."""
