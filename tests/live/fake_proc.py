"""A folder that looks like /proc, for tests of `pipesim.live`."""

import os
import pathlib
import shutil


def listens(inode, port, address="00000000"):
    return inode, "0A", f"{address}:{port:04X}", "00000000:0000"


def connects(inode, port, to):
    return inode, "01", f"0100007F:{port:04X}", f"0100007F:{to:04X}"


class FakeProc:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        (self.root / "self" / "ns").mkdir(parents=True)
        os.symlink("net:[1]", self.root / "self/ns/net")
        (self.root / "self/status").write_text("Uid:\t0\t0\t0\t0\nCapEff:\tffffffffffffffff\n")
        (self.root / "uptime").write_text("100000.0 0.0\n")

    def add(self, pid, command, environ=None, parent=1, *, program="python3.11", state="S",
            started=None, exit_code=0, torch=True, sockets=(), caught=(), uid=0, files=None,
            net="net:[1]", session=None, cpu=10):  # fmt: skip
        """Adds a process. `sockets` are results of listens() and connects()."""
        folder = self.root / str(pid)
        for part in ("fd", "net", "ns", f"task/{pid}", "root"):
            (folder / part).mkdir(parents=True)
        words = command.split() if isinstance(command, str) else command
        self.write(pid, "cmdline", "\0".join(words) + "\0")
        self.write(pid, "environ", "".join(f"{k}={v}\0" for k, v in (environ or {}).items()))
        mask = sum(1 << (number - 1) for number in caught)
        self.write(pid, "status", f"Name:\tp\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nSigCgt:\t{mask:016x}\n"
                   "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t1\n")
        self.write(pid, "wchan", "futex_do_wait")
        self.write(pid, "maps", "7f00 r-xp 0 /venv/torch/lib/libtorch_cpu.so\n" if torch else "")
        os.symlink(f"/usr/bin/{program}", folder / "exe")
        os.symlink(net, folder / "ns/net")
        for inode, *_ in sockets:
            os.symlink(f"socket:[{inode}]", folder / "fd" / str(100 + inode))
        rows = [f"0: {local} {remote} {kind} 0 0 0 0 0 {inode} 1" for inode, kind, local, remote in sockets]
        self.write(pid, "net/tcp", "\n".join(["head", *rows]) + "\n")
        for descriptor, path in (files or {}).items():
            os.symlink(path, folder / "fd" / str(descriptor))
        self.stat(pid, parent=parent, state=state, started=pid if started is None else started,
                  exit_code=exit_code, session=session or pid, cpu=cpu)  # fmt: skip

    def stat(self, pid, *, parent=1, state="S", started=0, exit_code=0, session=0, cpu=10):
        fields = ["0"] * 50
        for place, value in ((0, state), (1, parent), (3, session), (11, cpu), (17, 4), (19, started), (49, exit_code)):
            fields[place] = str(value)
        text = f"{pid} (a (b) c) {' '.join(fields)}\n"
        self.write(pid, "stat", text)
        self.write(pid, f"task/{pid}/stat", text)

    def remove(self, pid):
        shutil.rmtree(self.root / str(pid))

    def write(self, pid, name, text):
        path = self.root / str(pid) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
