# Transients of a differential-algebraic system.

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
    out = push_along(law, start, push, τ, Settings(; rtol = 1.0e-9, atol = 1.0e-9)).u[:, 2, :]
    return retract(CholeskyProjection(), law, nothing, out, 0.0, zeros(count(!, system.moving), size(push, 2)))
end

"""
    simulate(system, u0, times, settings)

The truth from consistent states `u0` `(n, B)`, saved at `times` `(T,)`, by a Rosenbrock method on the mass matrix. Saved
states are put back on the manifold of the algebraic rows, which the method keeps to its tolerance.

# Returns

[`Trajectories`](@ref).
"""
function simulate(system::DifferentialAlgebraic, u0, times, settings = Settings(; solver = Rodas5P(), rtol = 1.0e-9, atol = 1.0e-9))
    out, law = Trajectories{Float64}(size(u0, 1), length(times), size(u0, 2)), AlgebraicRows(system)
    mass_matrix = Diagonal(Float64.(system.moving))
    right_hand_side = ODEFunction{true}(system.f!; mass_matrix, jac_prototype = Float64.(system.pattern))
    without_warnings() do
        for b in axes(u0, 2)
            problem = ODEProblem(right_hand_side, u0[:, b], (times[1], times[end]), system.p)
            # The states are consistent already.
            solution = solve(
                problem, settings.solver; saveat = times, tstops = times, initializealg = NoInit(),
                options(settings, Float64)...,
            )
            saved, c = saved_states(solution, times), zeros(count(!, system.moving), 1)
            record!(out, b, solution, retract(CholeskyProjection(), law, nothing, saved, times[1], c))
        end
    end
    return out
end
