"""The paper's experiments, run again: see ``__main__``."""
