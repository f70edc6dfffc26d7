"""Charts of comparisons and of traces, and how all of them look.

A channel is given by its class, as `alt.X2("until:Q")`, not as a bare string: for a string Altair
searches all of its classes, which takes 10 ms each time.
"""
