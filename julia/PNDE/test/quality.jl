using Aqua, PNDE

# The check left out resolves a new environment, which needs a network; PNDE starts no task.
Aqua.test_all(PNDE; persistent_tasks = false)
