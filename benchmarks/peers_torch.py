"""The projected neural ODE as one writes it with PyTorch, for torchdiffeq and torchode."""

from __future__ import annotations

import numpy as np
import torch
import torchode
from problems import Problem
from torchdiffeq import odeint


class Field(torch.nn.Module):
    """u̇ = v - Gᵀ(G Gᵀ)⁻¹ G v for a batch `(B, n)`, by a linear solve that PyTorch differentiates."""

    def __init__(self, problem: Problem):
        super().__init__()
        model = problem.model
        dtype = getattr(torch, model.config.solver.precision)
        self.layers = torch.nn.ModuleList()
        for i in range(len(problem.weights) // 2):
            weight, bias = (problem.weights[f"layers.{i}.{kind}"] for kind in ("weight", "bias"))
            layer = torch.nn.Linear(*weight.shape, dtype=dtype)
            layer.load_state_dict({"weight": torch.tensor(weight.T), "bias": torch.tensor(bias)})
            self.layers.append(layer)
        self.skip, self.order = model.config.network.skip, model.order
        self.register_buffer("mean", torch.tensor(model.mean, dtype=dtype))
        self.register_buffer("std", torch.tensor(model.std, dtype=dtype))
        self.register_buffer("speed", torch.tensor(model.speed, dtype=dtype))
        grid = getattr(model.constraint, "grid", None)
        self.jacobian = rods if grid is None else PowerBalance(grid, dtype)

    def forward(self, t, u):
        x = (u - self.mean) / self.std
        for i, layer in enumerate(self.layers[:-1]):
            y = torch.nn.functional.gelu(layer(x), approximate="tanh")
            x = x + y if self.skip and i > 0 else y
        v = self.layers[-1](x) * self.speed
        if self.order == 2:
            v = torch.cat([u[:, u.shape[1] // 2 :], v], dim=1)
        if isinstance(self.jacobian, PowerBalance):
            v = v * self.jacobian.free
        G = self.jacobian(u)
        right = (G @ v[..., None]).squeeze(-1)
        multipliers = torch.linalg.solve(G @ G.mT, right)
        return v - (G.mT @ multipliers[..., None]).squeeze(-1)


def rods(u):
    """G of the squared lengths and the stretching of a pendulum's rods, `(B, 2N, 4N)` (paper, Appendix I)."""
    count = u.shape[1] // 4
    bobs = u.reshape(-1, 4, count)
    differences = torch.diff(bobs, dim=2, prepend=torch.zeros_like(bobs[:, :, :1]))
    D = torch.eye(count, dtype=u.dtype) - torch.diag(torch.ones(count - 1, dtype=u.dtype), -1)
    x, y, vx, vy = (differences[:, k, :, None] * D for k in range(4))
    zero = torch.zeros_like(x)
    positions = torch.cat([2 * x, 2 * y, zero, zero], dim=2)
    return torch.cat([positions, torch.cat([vx, vy, x, y], dim=2)], dim=1)


class PowerBalance:
    """G of the loads' powers without the slack's columns, `(B, 2L, 2N)` (paper, Appendix I)."""

    def __init__(self, grid, dtype):
        admittance = grid.admittance().toarray()
        self.g = torch.tensor(np.ascontiguousarray(admittance.real), dtype=dtype)
        self.b = torch.tensor(np.ascontiguousarray(admittance.imag), dtype=dtype)
        self.loads = torch.tensor(grid.loads)
        self.own = torch.eye(grid.size, dtype=dtype)[self.loads]
        self.free = torch.ones(2 * grid.size, dtype=dtype)
        self.free[np.concatenate([grid.slack, grid.slack + grid.size])] = 0

    def __call__(self, u):
        re, im = u.chunk(2, dim=1)
        i, j = re @ self.g.T - im @ self.b.T, re @ self.b.T + im @ self.g.T
        a, c, i, j = (x[:, self.loads, None] for x in (re, im, i, j))
        g, b = self.g[self.loads], self.b[self.loads]
        along, across = a * g + c * b, c * g - a * b
        active = torch.cat([i * self.own + along, j * self.own + across], dim=2)
        reactive = torch.cat([across - j * self.own, i * self.own - along], dim=2)
        return torch.cat([active, reactive], dim=1) * self.free


class _Torch:
    """What both libraries share: data, loss, optimiser."""

    def __init__(self, problem: Problem):
        self.model = problem.model
        self.field = Field(problem)
        dtype = getattr(torch, self.model.config.solver.precision)
        self.u = torch.tensor(problem.batch.u, dtype=dtype)
        self.times = torch.tensor(problem.batch.grid, dtype=dtype)
        decay = self.model.config.optimiser.weight_decay
        self.optimiser = torch.optim.AdamW(self.field.parameters(), lr=1e-5, weight_decay=decay)

    def solve(self, u0, times, tolerance):
        """States `(B, T, n)`."""
        raise NotImplementedError

    def loss(self):
        predicted = self.solve(self.u[:, 0], self.times, self.model.config.solver.rtol)
        return (((predicted - self.u)[:, 1:] / self.field.std) ** 2).mean()

    def loss_and_gradient(self) -> tuple[float, np.ndarray]:
        self.optimiser.zero_grad()
        loss = self.loss()
        loss.backward()
        parts = [[x.weight.grad.T.reshape(-1), x.bias.grad] for x in self.field.layers]
        return loss.item(), np.concatenate([x.numpy() for pair in parts for x in pair])

    def train_step(self) -> float:
        self.optimiser.zero_grad()
        loss = self.loss()
        loss.backward()
        self.optimiser.step()
        return loss.item()

    def rollout(self, times: np.ndarray, tolerance: float) -> np.ndarray:
        with torch.no_grad():
            times = torch.tensor(times, dtype=self.u.dtype)
            return self.solve(self.u[:, 0], times, tolerance).numpy()


class TorchDiffEq(_Torch):
    """torchdiffeq: the batch is one system, and the gradient goes through the solver's operations."""

    def solve(self, u0, times, tolerance):
        atol = tolerance * self.field.std
        states = odeint(self.field, u0, times, rtol=tolerance, atol=atol, method="dopri5")
        return states.transpose(0, 1)


class TorchOde(_Torch):
    """torchode: each trajectory has steps of its own."""

    def solve(self, u0, times, tolerance):
        term = torchode.ODETerm(self.field)
        atol = tolerance * self.field.std
        controller = torchode.IntegralController(atol=atol, rtol=tolerance, term=term)
        solver = torchode.AutoDiffAdjoint(torchode.Dopri5(term=term), controller)
        every = times.expand(len(u0), -1)
        return solver.solve(torchode.InitialValueProblem(y0=u0, t_eval=every)).ys
