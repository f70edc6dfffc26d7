"""The exercise of a course on operating systems, on models and under the kernel."""
