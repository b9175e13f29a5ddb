"""Will it fit? From small runs of a program to the memory and speed of its settings at full size.

`factors` reads what may vary, `small_runs` chooses the runs, `runs` makes them, `model` is fitted to them, `answer`
says which settings fit, and is the policy of the campaign.
"""
