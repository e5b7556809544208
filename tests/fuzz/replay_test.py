"""Runs the fuzz targets over samples, over earlier findings, and over deterministic mutations of
samples and findings. No input may be a finding.

    replay_test.py FUZZ_REPLAY
"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MUTATIONS = os.environ.get("PIPESIM_FUZZ_MUTATIONS", "1")  # number of mutations per input
FEWEST = 20  # minimum of inputs per target; below it, corpus.py no longer finds its sources


def main(replay):
    targets = subprocess.run([replay, "--list"], check=True, capture_output=True, text=True)
    failed = []
    # The corpus is thousands of small files, for which a disk is slow.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as corpus:
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "corpus.py"), corpus], check=True)
        for target in targets.stdout.split():
            folders = [os.path.join(corpus, target), os.path.join(HERE, "found", target)]
            folders = [folder for folder in folders if os.path.isdir(folder)]
            inputs = sum(len(os.listdir(folder)) for folder in folders)
            current = os.path.join(corpus, "current")
            arguments = [replay, target, "--mutate", MUTATIONS, current] + folders
            run = subprocess.run(arguments, capture_output=True, check=False)
            # The last input named in the output caused the crash.
            print("%s: %d inputs, exit code %d" % (target, inputs, run.returncode))
            if run.returncode != 0 or inputs < FEWEST:
                failed.append(target)
                print(run.stderr.decode(errors="replace")[-3000:])
                if os.path.exists(current):
                    with open(current, "rb") as file:
                        print("this input, or the one that is named last: %r" % file.read(4000))
    if failed:
        sys.exit("failed: " + ", ".join(failed))


if __name__ == "__main__":
    main(sys.argv[1])
