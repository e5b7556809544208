"""`python3 -m pipesim.collect`: the evidence of a job that hangs, from one host, in a folder.

`pipesim collect` runs it. Only the standard library is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pipesim.live import cli
from pipesim.live.collecting import Collector, host_name
from pipesim.live.processes import Processes


def main(arguments: Sequence[str]) -> int:
    """Collects, prints what was found, and returns the exit status of `pipesim diagnose`."""
    parser = cli.Parser("pipesim collect")
    cli.add_common_options(parser)
    parser.add_argument("--only-collect", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    processes = Processes()
    job = cli.only_job(processes, options.job, "pipesim collect")
    host = options.host or host_name()
    folder = cli.new_folder(options.output, host)
    facts = Collector(processes, job, folder, host, options.signal).run()
    cli.say(cli.summary(facts, folder))
    if options.only_collect:
        return 0
    cli.say("")
    return cli.run_diagnose(folder, ["--json"] if options.json else [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
