"""Finds code in PyTorch scripts that often causes hangs, without running it.

`modules` reads the scripts, `known_calls` lists the functions of torch.distributed, `values`
describes what is known of a value, `walker` reads the statements, and `rules` words the findings.
The program pipesim prints them, with the findings for scenarios: see features/lint.
"""
