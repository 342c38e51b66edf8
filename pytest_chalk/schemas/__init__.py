"""Frozen data: what judges return, what a transcript holds, what a run is asked and what it was.

Import from the modules, for example `pytest_chalk.schemas.scoring`: this package imports nothing,
so that reading one schema does not load the others.
"""
