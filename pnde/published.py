"""The times that the paper publishes, beside which those of a machine at hand are shown."""

#: Table I, NVIDIA H100, batch 1024: minutes of training, ms of a forward pass, ms of a solve, by system and model.
TIMES: dict[tuple[str, str], tuple[float, float, float]] = {
    ("quartic", "NDE"): (3.9, 0.17, 2163),
    ("quartic", "SNDE γ=1"): (4.5, 0.50, 2743),
    ("quartic", "SNDE γ=10"): (4.5, 0.50, 3908),
    ("quartic", "PNDE"): (4.5, 0.42, 2531),
    ("lotka-volterra", "NDE"): (5.5, 0.20, 3201),
    ("lotka-volterra", "PNDE"): (6.6, 0.38, 3199),
    ("pendulum-4", "angular NDE"): (238, 1.22, 2235),
    ("pendulum-4", "SNDE γ=20"): (703, 1.68, 3696),
    ("pendulum-4", "SNDE γ=200"): (755, 1.70, 6089),
    ("pendulum-4", "PNDE"): (607, 1.50, 3506),
    ("pendulum-8", "angular NDE"): (320, 1.23, 3629),
    ("pendulum-8", "SNDE γ=20"): (1005, 1.95, 5980),
    ("pendulum-8", "SNDE γ=200"): (890, 1.90, 8778),
    ("pendulum-8", "PNDE"): (825, 1.75, 7725),
    ("ieee14", "NDE"): (9.8, 0.36, 36),
    ("ieee14", "SNDE γ=0.1"): (25.5, 1.22, 75),
    ("ieee14", "SNDE γ=1"): (23.3, 1.22, 83),
    ("ieee14", "SNDE γ=10"): (22.8, 1.23, 245),
    ("ieee14", "PNDE"): (21.3, 1.00, 67),
}
