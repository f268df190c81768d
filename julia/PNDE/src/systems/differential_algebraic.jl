"""
    DifferentialAlgebraic(f!, moving, p, names, operation_point)

A differential-algebraic system of index 1 as it is: `moving .* u̇ = f`, with `f!(du, u, p, t)` and a mass matrix of zeros
and ones. Its algebraic rows are the law. `DifferentialAlgebraic(network)` makes one from a PowerDynamics.jl network.

# Arguments

  - `f!`, `p`: the right-hand side and its parameters; `moving`: the diagonal of the mass matrix `(n,)`.
  - `names`: of the states; `operation_point`: a state at rest `(n,)`.
"""
struct DifferentialAlgebraic{F, P}
    f!::F
    moving::Vector{Bool}
    p::P
    names::Vector{String}
    operation_point::Vector{Float64}
end

"""
    AlgebraicRows(system)

The law of a [`DifferentialAlgebraic`](@ref) system: its algebraic rows vanish.
"""
struct AlgebraicRows{S <: DifferentialAlgebraic} <: AbstractConstraint
    system::S
end

value(law::AlgebraicRows, u, t) = per_state((u, t) -> algebraic_rows(law.system, u, t), u, t)

constraint_jacobian(law::AlgebraicRows, u, t) =
    per_state((u, t) -> ForwardDiff.jacobian(u -> algebraic_rows(law.system, u, t), u), u, t)

function algebraic_rows(system, u, t)
    du = similar(u)
    system.f!(du, u, system.p, t)
    return du[.!system.moving]
end

"""
    ambient_forcing(system, push; τ = 0.2)

Consistent states `(n, B)`: the operation point, pushed by the constant vectors `push` `(n, B)` along the manifold of the
algebraic rows for a pseudo-time τ, du/ds = (I - Jᵀ(JJᵀ)⁻¹J) push.

# References

Büttner et al. (2022), Ambient forcing.
"""
function ambient_forcing(system::DifferentialAlgebraic, push; τ = 0.2)
    law = AlgebraicRows(system)
    start = repeat(system.operation_point, 1, size(push, 2))
    field(u, push, s) = project(constraint_jacobian(law, u, 0.0), push)
    problem = ODEProblem{false}(field, start, (0.0, τ), push)
    out = solve(problem, Tsit5(); reltol = 1.0e-9, abstol = 1.0e-9, save_everystep = false).u[end]
    return retract(CholeskyProjection(), law, nothing, out, 0.0, zeros(count(!, system.moving), size(push, 2)))
end

"""
    simulate(system, u0, times, settings)

The truth from consistent states `u0` `(n, B)`, saved at `times` `(T,)`, by a Rosenbrock method on the mass matrix.

# Returns

[`Trajectories`](@ref).
"""
function simulate(system::DifferentialAlgebraic, u0, times, settings = Settings(; solver = Rodas5P(), rtol = 1.0e-9, atol = 1.0e-9))
    out = Trajectories{Float64}(size(u0, 1), length(times), size(u0, 2))
    right_hand_side = ODEFunction{true}(system.f!; mass_matrix = Diagonal(Float64.(system.moving)))
    for b in axes(u0, 2)
        problem = ODEProblem(right_hand_side, u0[:, b], (times[1], times[end]), system.p)
        solution = solve(problem, settings.solver; saveat = times, tstops = times, options(settings, Float64)...)
        record!(out, b, solution, saved_states(solution, times))
    end
    return out
end
