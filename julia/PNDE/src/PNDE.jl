"""
Projected neural differential equations: learn dynamics from data while known laws hold to machine precision.

States are batches `(n, B)`, batch last. The parts, from the inside out: [`project`](@ref), laws
([`AbstractConstraint`](@ref)), [`retract`](@ref), the vector field of a [`Model`](@ref), [`rollout`](@ref), and training
with a [`Trainer`](@ref).
"""
module PNDE

using ChainRulesCore
using ChainRulesCore: @non_differentiable, ignore_derivatives
using ForwardDiff: ForwardDiff
using Libdl: dlopen, dlsym
using LinearAlgebra
using Logging: Logging, ConsoleLogger, with_logger
using Lux: Lux
using NaNMath: NaNMath
using NNlib: batched_mul, batched_transpose, gelu, relu, sigmoid, softplus, tanh_fast
using Optimisers: Optimisers, Adam
using OrdinaryDiffEqRosenbrock: OrdinaryDiffEqRosenbrock, Rodas4, Rodas5P
using OrdinaryDiffEqTsit5: OrdinaryDiffEqTsit5, Tsit5
using OrdinaryDiffEqVerner: OrdinaryDiffEqVerner, Vern9
using PrecompileTools: @compile_workload, @setup_workload
using Random
using SciMLBase: SciMLBase, CallbackSet, DiscreteCallback, NoInit, ODEFunction, ODEProblem, ReturnCode, solve, terminate!, u_modified!
using SciMLSensitivity: SciMLSensitivity, BacksolveAdjoint, GaussAdjoint, InterpolatingAdjoint, ZygoteVJP
using SparseArrays
using SparseMatrixColorings: ColoringProblem, GreedyColoringAlgorithm, column_colors, coloring
using Statistics: mean
using TOML: TOML
using Zygote: Zygote

export AbstractProjection, CholeskyProjection, QRProjection, TruncatedProjection, project
export AbstractConstraint, Constraint, Holonomic, InDomain, Linear, Stacked, value, constraint_jacobian
export Quartic, LotkaVolterra, LotkaVolterraFamily, Rods, PowerBalance, ieee14
export Drive, Instant, Jump, OfInstant
export DifferentialAlgebraic, AlgebraicRows, SparseJacobian, ambient_forcing, simulate, with_inputs
export Bounds, States, project_within, enclose
export retract
export Model, NDE, SNDE, Projected, StateFeatures, AngleFeatures, VelocityForm, SkewGradient, Mechanical, PartsLayout, velocity
export Settings, rollout, Tsit5, Vern9, Rodas4, Rodas5P
export StoredSteps, GaussAdjoint, InterpolatingAdjoint, BacksolveAdjoint, ZygoteVJP
export Program, TracedFunction, TracedLaw
export Segments, Trainer, step!, evaluate, loss_and_gradient

include("laws/instant.jl")
include("program/operations.jl")
include("program/program.jl")
include("structures/jacobian.jl")
include("projection/batched.jl")
include("projection/magma.jl")
include("projection/project.jl")
include("structures/rods.jl")
include("structures/sparse.jl")
include("structures/selection.jl")
include("laws/constraint.jl")
include("laws/holonomic.jl")
include("laws/linear.jl")
include("laws/stacked.jl")
include("laws/traced.jl")
include("laws/twin.jl")
include("laws/quartic.jl")
include("laws/lotka_volterra.jl")
include("laws/rods.jl")
include("laws/power_balance.jl")
include("laws/bounds.jl")
include("laws/algebraic_rows.jl")
include("projection/retract.jl")
include("projection/active_set.jl")
include("projection/within.jl")
include("projection/enclose.jl")
include("fields/model.jl")
include("fields/layout.jl")
include("fields/network.jl")
include("fields/velocity.jl")
include("fields/parts.jl")
include("fields/mechanics.jl")
include("solve/jumping.jl")
include("solve/driving.jl")
include("solve/settings.jl")
include("solve/collecting.jl")
include("solve/tableaus.jl")
include("solve/stepping.jl")
include("solve/rollout.jl")
include("solve/together.jl")
include("solve/integrate.jl")
include("solve/push.jl")
include("solve/differential_algebraic.jl")
include("train/loss.jl")
include("train/across.jl")
include("train/trainer.jl")
include("program/of_rows.jl")
include("device.jl")
include("names.jl")
include("precompile.jl")

end
