"""What a user subclasses or satisfies: tasks, steps, judges, tools, models.

These classes describe; the runner acts. None of them starts, reads or writes anything.
"""
