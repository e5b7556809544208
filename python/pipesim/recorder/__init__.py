"""Runs a PyTorch script once as each rank of a job, on one CPU, and records the ranks' calls.

`launcher` forks one process per rank from a parent that has imported torch. In each rank, `patches`
replaces torch's process groups by `process_group.RecordingGroup`. Each rank writes its calls
(`rank_file`, in the format of docs/reference/record-format.md) and passes their values to the
`broker` in the launcher, which computes the results of collectives and detects when no rank can
continue.
"""
