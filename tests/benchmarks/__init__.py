"""Benchmarks: `python -m tests.benchmarks [NAME ...] [--quick]` from the project's root.

Every figure is a ratio (or a difference) of two commands run in turn, as whole processes, with the
target beside it. Nothing is asserted: machines are noisy, and a person reads these.
"""
