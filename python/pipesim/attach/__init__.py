"""Notes the calls of a real job while it runs, so that pipesim can explain a hang.

    torchrun --nproc-per-node 8 -m pipesim.attach -o rec/ train.py --epochs 3
    import pipesim.attach       # or this, at the top of train.py
    pipesim check rec/          # at any time

The import wraps the methods of torch's process groups (`patches`). Each rank notes its calls in a
mapped file (`notes`); a daemon thread folds equal steps and notes where the rank is (`keeper`).
The job stays as it is:

* Nothing of attach runs between a call and the backend with the GIL held. A wrapper notes the call,
  then calls the original method, which releases the GIL.
* A note writes memory, and waits for nothing.
* An error of attach is caught, reported once, and ends the notes; the job continues.
* PIPESIM_ATTACH=off wins over everything.
"""

from __future__ import annotations

from pipesim.attach import patches
from pipesim.attach.noting import Noting

attached = Noting()
patches.install(attached)
