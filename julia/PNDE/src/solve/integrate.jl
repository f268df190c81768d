"""
    integrate(rhs!, u0, times, settings, [law])

Solve u̇ = rhs(u, t), given as `rhs!(du, u, t)`, from `u0` `(n, B)`, saved at `times` `(T, B)`; on the manifold if a law is
given.

# Returns

[`Trajectories`](@ref).
"""
function integrate(rhs!, u0, times, settings::Settings, law = nothing)
    out = Trajectories{eltype(u0)}(size(u0, 1), size(times, 1), size(u0, 2))
    without_warnings() do
        for b in axes(u0, 2)
            integrate_one!(out, b, rhs!, u0[:, b], times[:, b], settings, law)
        end
    end
    return out
end

function integrate_one!(out, b, rhs!, u0, times, settings, law)
    as_matrix(u) = reshape(u, :, 1)
    c = law === nothing ? nothing : value(law, as_matrix(u0), times[1])
    start, elapsed = times[1], eltype(u0).(times .- times[1])
    retraction(u, s) = vec(retract(CholeskyProjection(), law, nothing, as_matrix(u), start + s, c))
    domain = law === nothing ? nothing : u -> all(indomain(law, as_matrix(u)))
    function field!(du, u, _, s)
        rhs!(du, u, start + s)
        return nothing
    end
    problem = ODEProblem{true}(field!, u0, (elapsed[1], elapsed[end]))
    # Interpolation is not accurate enough at the tolerances that truth is made with.
    solution = solve(
        problem, settings.solver; saveat = elapsed, tstops = elapsed,
        callback = callbacks(law === nothing ? nothing : retraction, domain, settings), options(settings, eltype(u0))...,
    )
    saved = saved_states(solution, elapsed, domain)
    if law !== nothing && settings.retract !== :never
        for k in axes(saved, 2)
            saved[:, k] = retraction(saved[:, k], elapsed[k])
        end
    end
    record!(out, b, solution, saved)
    if law !== nothing && settings.retract !== :never && out.status[b] == Int8(OK) && !all(is_on_manifold(law, saved, times[1:size(saved, 2)], c))
        out.status[b] = Int8(OFF_MANIFOLD)
    end
    return out
end
