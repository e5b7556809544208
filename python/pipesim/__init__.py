"""Records a PyTorch job as all its ranks, on one CPU, and asks pipesim whether it can hang."""

from pipesim.api import (
    End,
    Exploration,
    Hang,
    Record,
    RecordingFailed,
    Report,
    Stuck,
    explore,
    record,
)

__all__ = [
    "End",
    "Exploration",
    "Hang",
    "Record",
    "RecordingFailed",
    "Report",
    "Stuck",
    "explore",
    "record",
]
__version__ = "0.1.0"
