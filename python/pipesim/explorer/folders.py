"""Copies of the folder in which ranks run, so that each run finds the same files.

A copy has real folders, and a link for each file. A change replaces the link: `files` copies a file
before it is opened for writing.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_MAX_FILES = 2000  # beyond it, folders are also links, and later runs see changes in them


def make_copy(source: Path, copy: Path) -> bool:
    """Makes `copy` a copy of `source`, and removes its earlier content. Returns whether the copy is
    complete."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    left = _MAX_FILES
    folders = [(source, copy)]
    is_whole = True
    while folders:
        there, here = folders.pop(0)
        for entry in sorted(os.scandir(there), key=lambda each: each.name):
            left -= 1
            target = here / entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and left > 0 and not entry.name.startswith("."):
                target.mkdir()
                folders.append((Path(entry.path), target))
            else:
                is_whole &= not (is_folder and left <= 0)
                target.symlink_to(entry.path)
    return is_whole
