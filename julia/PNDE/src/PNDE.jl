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
using NNlib: batched_mul, batched_transpose, gelu, relu, softplus
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
using Zygote: Zygote

export AbstractProjection, CholeskyProjection, QRProjection, TruncatedProjection, project
export AbstractConstraint, Constraint, Holonomic, Linear, Stacked, value, constraint_jacobian
export Quartic, LotkaVolterra, NPendulum, PowerBalance, ieee14
export DifferentialAlgebraic, AlgebraicRows, SparseJacobian, ambient_forcing, simulate
export retract
export Model, NDE, SNDE, Projected, StateFeatures, AngleFeatures, velocity
export Settings, rollout, Tsit5, Vern9, Rodas4, Rodas5P
export GaussAdjoint, InterpolatingAdjoint, BacksolveAdjoint, ZygoteVJP
export Segments, Trainer, step!, evaluate, train!, learning_rate, loss_and_gradient

include("jacobians.jl")
include("batched.jl")
include("magma.jl")
include("projection.jl")
include("sparse_jacobian.jl")
include("constraints.jl")
include("systems/quartic.jl")
include("systems/lotka_volterra.jl")
include("systems/npendulum.jl")
include("systems/power_balance.jl")
include("retraction.jl")
include("fields.jl")
include("solve.jl")
include("train.jl")
include("systems/differential_algebraic.jl")
include("program.jl")
include("names.jl")
include("precompile.jl")

end
