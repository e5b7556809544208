"""Explores the free answers of a script: runs it with other answers, until a run hangs or all
answers were tried.

A *run* is a list of choices: who is answered next, and how. All ranks compute until each waits for
the broker; their steps until then commute. Then the broker answers exactly one question (`broker`).
`order` keeps the happens-before order, so `search` tries only orders that differ. A rank is a
function of its replies: `lives` keeps the messages of ranks after each list of replies, so most
runs need no process. `judge` records and checks each different end, and `report` prints the answer.
"""
