"""Records a PyTorch job as all its ranks, on one CPU, and asks pipesim whether it can hang."""

from pipesim.api import End, Record, RecordingFailed, Report, Stuck, record

__all__ = ["End", "Record", "RecordingFailed", "Report", "Stuck", "record"]
__version__ = "0.1.0"
