"""Finds where the ranks part: the branch, loop or value that made two ranks call differently.

    sites    rewrites the user's source, so that it reports branches, loops and values
    tracer   runs in a rank: writes these events next to the rank's calls
    traces   reads the events of all ranks
    calls    finds the first calls of two ranks that do not match
    walk     walks two traces in step, and finds where they part
    trail    follows a value that differs back to its source
    report   describes the result as JSON, and as text

docs/explanation/why.md explains the method.
"""
