"""Runs a PyTorch script once as each rank of a job, on one CPU, and writes what the ranks call.

`launcher` forks one process per rank from a parent that has imported torch. In it `patches` puts
`process_group.RecordingGroup` in the place of torch's process groups. Each rank writes its calls
(`rank_file`, in the format of docs/reference/record-format.md) and hands their values to the
`broker` in the parent, which computes what collectives return and sees when no rank can go on.
"""
