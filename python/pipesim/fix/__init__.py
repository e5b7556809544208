"""Proposes edits of a script that hangs, and proves them.

    source     a source file, and edits of whole statements as text
    roles      which values are a function of the rank, and so must stay different
    case       what is known about a hang: where the ranks part, and what led there
    values     edits that make the ranks agree on a value or a number of iterations
    branches   edits of the branch at which the ranks part
    calls      edits of calls: order of messages, groups, options of DDP
    proof      records edited copies, and judges them
    report     describes the result as text and as JSON

docs/explanation/fix-a-script.md explains the method.
"""
