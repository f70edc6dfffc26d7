"""The mean wait of Poisson arrivals, as a formula of 1930 has it."""
