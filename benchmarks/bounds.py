"""Velocities within bounds: against a reference solver, and what they cost in a step of training.

python benchmarks/bounds.py problems        # 10,000 random problems; needs quadprog
python benchmarks/bounds.py peer            # a batch of problems beside qpax; needs quadprog and qpax
python benchmarks/bounds.py cost            # steps of training with 0, 2, 8 and 28 bounds, at the paper's size
python benchmarks/bounds.py cost 2 64       # likewise, of another network
"""

import sys
import time

import jax
import numpy as np

import pnde
from pnde.engines import get
from pnde.engines.jax.bounded_projection import project_within
from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.models import initial_weights
from pnde.runs.new_model import new_model
from pnde.systems import law_for

# Smaller problems are filled up with rows of zeros, so that a few programs serve all.
COUNTS = (0, 2, 8, 28)
SIZES, EQUALITIES, INEQUALITIES = (4, 12, 24), 20, 12


def problem(rng, n, metric):
    """A problem with a solution: G, A, v, b, lo, hi, W. Among its rows are dependent and redundant ones."""
    r, m = rng.integers(0, min(n, EQUALITIES + 1)), rng.integers(1, INEQUALITIES + 1)
    kind = rng.integers(5)
    G, A = rng.normal(size=(r, n)), rng.normal(size=(m, n))
    if r > 1 and kind == 1:
        G[-1] = rng.normal(size=r - 1) @ G[:-1]
    if m > 1 and kind in (0, 2):
        A[-1] = 2 * A[0]
    if m > 2 and kind == 2:
        A[-2] = A[0] + A[1]
    if m > 3 and r > 0 and kind == 3:
        A[-3] = rng.normal(size=r) @ G
    if kind == 4:
        A[: min(m, n)] = np.eye(n)[: min(m, n)]
    inside = rng.normal(size=n)
    v = inside + 3 * rng.normal(size=n)
    room = rng.exponential(size=m)
    room[0] *= rng.random() < 0.8  # now and then the first row is tight
    lo = A @ inside - room
    hi = np.where(rng.random(m) < 0.5, np.inf, A @ inside + rng.exponential(size=m))
    if m > 1 and kind == 0:
        lo[-1], hi[-1] = 2 * lo[0] - rng.choice([0, 0.5]), np.inf
    root = rng.normal(size=(n, n))
    W = [np.ones(n), np.exp(rng.normal(size=n)), root @ root.T / n + 0.1 * np.eye(n)][metric]
    return G, A, v, -(G @ inside), lo, hi, W


def filled(G, A, v, b, lo, hi, W):
    more, below = EQUALITIES - len(G), INEQUALITIES - len(A)
    return (
        np.pad(G, ((0, more), (0, 0))),
        np.pad(A, ((0, below), (0, 0))),
        v,
        np.pad(b, (0, more)),
        np.pad(lo, (0, below), constant_values=-np.inf),
        np.pad(hi, (0, below), constant_values=np.inf),
        W,
    )


def reference(G, A, v, b, lo, hi, W):
    """The same by quadprog, in the space that the equalities leave."""
    import quadprog

    n = len(v)
    M = np.diag(1 / W) if W.ndim == 1 else np.linalg.inv(W)
    start, free = np.zeros(n), np.eye(n)
    if len(G):
        _, sigma, right = np.linalg.svd(G)
        rank = int((sigma > 1e-10 * sigma[0]).sum())
        start, free = np.linalg.pinv(G) @ -b, right[rank:].T
    above = np.isfinite(hi)
    C, d = np.concatenate([A, -A[above]]), np.concatenate([lo, -hi[above]])
    C, d = C @ free, d - C @ start
    kept = np.abs(C).max(axis=1) > 1e-10
    y = quadprog.solve_qp(free.T @ M @ free, free.T @ M @ (v - start), C[kept].T, d[kept])[0]
    return start + free @ y


def random_problems(count=10_000, seed=0):
    """The largest difference from the reference, and how many problems of each kind of trouble there are."""
    rng, worst, differ, contradict, refused = np.random.default_rng(seed), 0.0, 0, 0, 0
    outside, off = 0.0, 0.0

    def one(G, A, v, b, lo, hi, W):
        return project_within(DenseJacobian(G), DenseJacobian(A), v, b, lo, hi, W, "truncated")

    with numerics():
        program = jax.jit(jax.vmap(one))
        for n in SIZES:
            for metric in range(3):
                made = [problem(rng, n, metric) for _ in range(count // 9 + 1)]
                arrays = [np.stack(part) for part in zip(*(filled(*p) for p in made), strict=True)]
                found = program(*arrays)
                p, feasible = np.asarray(found.p), np.asarray(found.feasible)
                contradict += int((~feasible).sum())
                for own, x in zip(made, p, strict=True):
                    G, A, v, b, lo, hi, _ = own
                    size = max(1.0, np.abs(v).max())
                    outside = max(outside, np.maximum(lo - A @ x, A @ x - hi).max() / size)
                    off = max(off, np.abs(G @ x + b).max(initial=0) / size)
                    try:
                        difference = np.abs(x - reference(*own)).max() / size
                    except ValueError:
                        refused += 1
                        continue
                    worst, differ = max(worst, difference), differ + (difference > 1e-10)
    print(f"{9 * (count // 9 + 1)} problems: differ from quadprog by at most {worst:.1e}")
    print(
        f"{differ} by more than 1e-10; rows outside by at most {outside:.1e}, law off by {off:.1e}"
    )
    print(f"said to contradict: {contradict}; refused by quadprog: {refused}")
    return worst


def beside_qpax(count=256, n=24, equalities=8, inequalities=8):
    """Milliseconds of a batch of problems of one shape, by `project_within` and by qpax, to the same accuracy."""
    import qpax

    def own(G, A, v, b, lo, method="cholesky"):
        high = np.full(inequalities, np.inf)
        return project_within(DenseJacobian(G), DenseJacobian(A), v, b, lo, high, None, method).p

    def theirs(G, A, v, b, lo):
        return qpax.solve_qp(np.eye(n), -v, G, -b, -A, -lo, solver_tol=1e-10)[0]

    rng, made = np.random.default_rng(0), []
    for _ in range(count):
        G, A = rng.normal(size=(equalities, n)), rng.normal(size=(inequalities, n))
        inside = rng.normal(size=n)
        v = inside + 3 * rng.normal(size=n)
        made.append((G, A, v, -G @ inside, A @ inside - rng.exponential(size=inequalities)))
    arrays = [np.stack(part) for part in zip(*made, strict=True)]
    right = [reference(*p, np.full(inequalities, np.inf), np.ones(n)) for p in made]
    with numerics():
        for name, one in (("own", own), ("qpax", theirs)):
            program, best = jax.jit(jax.vmap(one)), np.inf
            found = jax.block_until_ready(program(*arrays))
            for _ in range(5):
                began = time.perf_counter()
                found = jax.block_until_ready(program(*arrays))
                best = min(best, time.perf_counter() - began)
            away = np.abs(np.asarray(found) - right).max()
            print(f"{name}: {count} problems in {1e3 * best:.1f} ms, off by at most {away:.1e}")
        G, A, v, b, lo = (part[0] for part in arrays)
        twice = np.concatenate([G, G[:1]]), A, v, np.append(b, b[0]), lo
        print("with a law's row repeated:")
        print("own:", np.asarray(own(*twice, "truncated"))[:3], "right:", right[0][:3])
        print("qpax:", np.asarray(jax.jit(theirs)(*twice))[:3])


def step_costs(layers=10, width=512, steps=8):
    """Seconds of a step of training the 14-bus grid, with so many of its states kept within those of the data."""
    data = pnde.systems.ieee14().simulate(trajectories=60)
    settings = {"layers": layers, "width": width, "epochs": 1, "engine": "jax"}
    config = pnde.Config.make(pnde.Config.preset("grid", "paper"), **settings)
    data = pnde.split_data(data, 50, 5, 5)
    states = [str(name) for name in data["state"].values]
    low, high = (getattr(data["u"], end)(("trajectory", "time")).values for end in ("min", "max"))
    law, engine, best = law_for(data, None), get("jax"), {}
    trainings = {}
    for count in COUNTS:
        # Sources first: loads follow, and the slack stands still.
        names = np.argsort(low - high)[:count]
        given = law
        if count:
            bounded = [states[k] for k in names]
            given = law & pnde.Bounded(bounded, lower=low[names], upper=high[names])
        model, batches = new_model(engine, data, given, config, None, None, None)
        weights = initial_weights(model, 1)
        trainings[count] = engine.start(model, batches.train, batches.valid, weights)
        best[count] = np.inf
        for _ in range(3):
            trainings[count].step(0, 1e-4)
    for k in range(steps):
        for count, training in trainings.items():
            began = time.perf_counter()
            training.step(k % len(batches.train), 1e-4)
            best[count] = min(best[count], time.perf_counter() - began)
    for count in COUNTS:
        ratio = best[count] / best[0]
        print(f"{layers} × {width}, {count} bounds: {best[count]:.3f} s, {ratio:.2f} times")


if __name__ == "__main__":
    began = time.perf_counter()
    what, *sizes = sys.argv[1:]
    jobs = {"problems": random_problems, "peer": beside_qpax, "cost": step_costs}
    jobs[what](*map(int, sizes))
    print(f"{time.perf_counter() - began:.0f} s")
