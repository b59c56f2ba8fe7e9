"""Inputs that nobody wrote, given to whatever reads a user's text and images.

``targets.py`` has the table; ``python -m fuzzing`` runs a row of it, with coverage (atheris) or on
damaged seeds.  Inputs that mattered are kept in ``tests/fuzzed/``, which ``test_fuzzed`` replays.
"""
