"""Runs the fuzz targets over samples, over earlier findings, and over deterministic mutations of
samples and findings. No input may be a finding.

    replay_test.py FUZZ_REPLAY

A target with more than 1,000 samples runs a quarter of them. The commit selects the quarter, so all
samples have their turn. With more than one mutation per input, the target runs all samples.
"""

import hashlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MUTATIONS = os.environ.get("PIPESIM_FUZZ_MUTATIONS", "1")  # number of mutations per input
LARGE = 1000  # number of samples above which a run takes a share
SHARE = 4
FEWEST = 20  # minimum of inputs per target; below it, corpus.py no longer finds its sources


def keep_share(folder, turn):
    """Removes all samples of a large target except the share of this turn; their names are hashes."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    if len(names) > LARGE and MUTATIONS == "1":
        for name in names:
            if int(name[:4], 16) % SHARE != turn % SHARE:
                os.remove(os.path.join(folder, name))


def main(replay):
    targets = subprocess.run([replay, "--list"], check=True, capture_output=True, text=True)
    failed = []
    # The corpus is thousands of small files, for which a disk is slow.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as corpus:
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "corpus.py"), corpus], check=True)
        commit = subprocess.run(["git", "-C", HERE, "rev-parse", "HEAD"], capture_output=True, check=False)
        turn = hashlib.sha256(commit.stdout).digest()[0]
        for i, target in enumerate(targets.stdout.split()):
            keep_share(os.path.join(corpus, target), turn + i)
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
