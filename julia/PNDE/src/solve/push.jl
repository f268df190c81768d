"""
    push_along(law, u0, velocity, duration, settings)

States pushed along a law's manifold: u̇ = (I - G⁺G) v from `u0` `(n, B)`, with constant v `(n, B)`, for a duration.

# Returns

[`Trajectories`](@ref), of the start and the end.
"""
function push_along(law, u0, velocity, duration, settings::Settings)
    T = eltype(u0)
    times, out = T[0, duration], Trajectories{T}(size(u0, 1), 2, size(u0, 2))
    field(u, v, s) = project(constraint_jacobian(law, u, zero(T)), v)
    without_warnings() do
        for b in axes(u0, 2)
            problem = ODEProblem{false}(field, u0[:, b:b], (times[1], times[2]), velocity[:, b:b])
            solution = solve(problem, settings.solver; saveat = times, options(settings, T)...)
            record!(out, b, solution, saved_states(solution, times))
        end
    end
    return out
end
