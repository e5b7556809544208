"""Explores the free answers of a script: runs it with other answers, until a run hangs or all
answers were tried.

A *run* is a list of choices: who is answered next, and how. All ranks compute until each waits for
the broker; what they did until then commutes. Then the broker answers exactly one question
(`broker`). `order` keeps what happened before what, so `search` tries only orders that differ. A
rank is a function of its replies: `lives` keeps what ranks said after which replies, so most runs
need no process. `judge` records and checks each end that differs, and `report` prints the answer.
"""
