"""The fuzz targets over samples and over what was found before: nothing of it may be a finding.

    replay_test.py FUZZ_REPLAY
"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FEWEST = 20  # inputs of a target: with fewer corpus.py does not find its sources any more


def main(replay):
    targets = subprocess.run([replay, "--list"], check=True, capture_output=True, text=True)
    failed = []
    with tempfile.TemporaryDirectory() as corpus:
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "corpus.py"), corpus], check=True)
        for target in targets.stdout.split():
            folders = [os.path.join(corpus, target), os.path.join(HERE, "found", target)]
            folders = [folder for folder in folders if os.path.isdir(folder)]
            inputs = sum(len(os.listdir(folder)) for folder in folders)
            run = subprocess.run([replay, target] + folders, capture_output=True, check=False)
            # The last input that it names is the one that ended it.
            print("%s: %d inputs, exit code %d" % (target, inputs, run.returncode))
            if run.returncode != 0 or inputs < FEWEST:
                failed.append(target)
                print(run.stderr.decode(errors="replace")[-3000:])
    if failed:
        sys.exit("failed: " + ", ".join(failed))


if __name__ == "__main__":
    main(sys.argv[1])
