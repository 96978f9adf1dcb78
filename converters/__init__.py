"""From a checkpoint to a model folder: describe it, build the graph, write the files."""
