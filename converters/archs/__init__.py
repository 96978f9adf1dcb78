"""One short declaration per architecture: the only place that knows a model's name."""
