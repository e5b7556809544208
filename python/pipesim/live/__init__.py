"""Evidence of a job that hangs now: `pipesim collect` and `pipesim watch`.

processes   reads processes from /proc
jobs        finds the ranks of PyTorch jobs among them
stacks      py-spy, torch's debug server and faulthandler
server      torch's debug server
calls       dumps of the Flight Recorder, and NCCL's RAS
logs        the ends of the logs
gone        ranks whose process is gone
facts       facts.json, which `pipesim diagnose` reads
access      missing permissions, and what helps
collecting  one folder with the evidence of one job
progress    whether a job moves
watching    polls a job, and collects once it hangs

Only the standard library is needed; the job needs no preparation. Nothing is stopped, injected or
sent to another machine.
"""
