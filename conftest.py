"""Configuration of this project's own tests and example tasks; there is none to speak of."""
