"""Protection of programs that know nothing of Penstock, by the kernel's own means.

A guard tries what the kernel has, from the least intrusive on, measures what the programs feel, and
keeps the first that meets a stated goal. Everything is put back at its end.
"""
