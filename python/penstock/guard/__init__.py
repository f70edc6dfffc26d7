"""Protection of programs that know nothing of Penstock, with the kernel's own means."""
