"""Running a suite: a supervisor that never touches CUDA, one worker process a device, and the journal between them."""
