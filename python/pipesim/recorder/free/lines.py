"""The user's lines on the stack."""

from __future__ import annotations

from types import FrameType
from typing import Optional

from pipesim.recorder.places import is_users


def users_frame(frame: Optional[FrameType]) -> Optional[FrameType]:
    """Returns the innermost frame of the user's code."""
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return frame
