mpistair: standard output: cannot be written: No space left on device
