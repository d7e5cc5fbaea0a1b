"""What an experiment will cost before anyone starts it: jobs, sizes, units of work, measured rates, a schedule."""
