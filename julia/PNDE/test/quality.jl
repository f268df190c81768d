using Aqua, PNDE

Aqua.test_all(PNDE)
