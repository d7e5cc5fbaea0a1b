"""What the workflow needs of the package besides its stages: digests of code, run locks, usage of jobs."""
