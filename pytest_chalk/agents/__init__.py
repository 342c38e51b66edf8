"""How a student works on a step: a model in a loop with tools, or the built-in oracle."""
