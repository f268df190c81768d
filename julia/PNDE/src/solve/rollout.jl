"""
    Trajectories

States `u` `(n, T, B)` of B trajectories at T times, NaN from where one failed; and of each trajectory its `status`, the
`steps` of the solver, rejected ones included, and the `evaluations` of the vector field.
"""
struct Trajectories{T}
    u::Array{T, 3}
    status::Vector{Int8}
    steps::Vector{Int}
    evaluations::Vector{Int}
end

Trajectories{T}(n, times, count) where {T} =
    Trajectories(fill(T(NaN), n, times, count), zeros(Int8, count), zeros(Int, count), zeros(Int, count))

"The states `(n, reached)` at those of the times that the solve reached inside the domain."
function saved_states(solution, times, domain = nothing)
    reached = count(splat(==), zip(solution.t, times))
    # A step may leap over the border, and is found out at its end.
    outside = domain === nothing ? nothing : findfirst(!domain, solution.u[1:reached])
    return stack(vec, solution.u[1:(outside === nothing ? reached : max(outside - 1, 1))])
end

function record!(out::Trajectories, b, solution, saved)
    reached = size(saved, 2)
    out.u[:, 1:reached, b] .= saved
    out.status[b] = Int8(status(solution, all(isfinite, saved), reached < size(out.u, 2)))
    out.steps[b] = solution.stats.naccept + solution.stats.nreject
    out.evaluations[b] = solution.stats.nf
    return out
end

"""
    rollout(model, θ, u0, times, c, settings)

Solve the model from `u0` `(n, B)` with targets `c` `(m, B)`, each trajectory with steps of its own, saved at `times`
`(T, B)`, in double precision and on the host. A law knows the time as exactly; the solver counts it from the first. On
the host trajectories are solved one by one, on all threads; states on a device as one batch.

# Returns

[`Trajectories`](@ref).
"""
function rollout(model::Model, θ, u0, times, c, settings::Settings)
    T = eltype(u0)
    weights = Weights(model.layout, θ)
    u0 isa Array || return rollout_together(model, weights, u0, times, c, settings)
    out = Trajectories{T}(size(u0, 1), size(times, 1), size(u0, 2))
    without_warnings() do
        Threads.@threads for b in axes(u0, 2)
            rollout_one!(out, b, model, weights, u0[:, b:b], times[:, b], c[:, b:b], settings)
        end
    end
    return out
end

function rollout_one!(out, b, model, weights, u0, times, c, settings)
    law, projected = model.constraint, model.method isa Projected
    start, elapsed = times[1], eltype(u0).(times .- times[1])
    retraction(u, s) = retract(model.projection, law, model.metric, u, start + s, c)
    domain = law === nothing ? nothing : u -> all(indomain(law, u))
    problem = ODEProblem{false}((u, _, s) -> velocity(model, weights, u, c, start + s), u0, (elapsed[1], elapsed[end]))
    solution = solve(
        problem, settings.solver; saveat = elapsed, callback = callbacks(projected ? retraction : nothing, domain, settings),
        options(settings, eltype(u0), reshape(model.std, :, 1))...,
    )
    saved = saved_states(solution, elapsed, domain)
    retracted = projected && settings.retract !== :never
    if retracted
        for k in axes(saved, 2)
            saved[:, k:k] = retraction(saved[:, k:k], elapsed[k])
        end
    end
    record!(out, b, solution, saved)
    if retracted && out.status[b] == Int8(OK) && !all(is_on_manifold(law, saved, times[1:size(saved, 2)], c))
        out.status[b] = Int8(OFF_MANIFOLD)
    end
    if projected && rank_is_lost(model, saved, times)
        out.status[b] = Int8(RANK_DEFICIENT)
    end
    return out
end

"Whether G is singular to rounding at one of the states."
function rank_is_lost(model, u, times)
    reached = filter(k -> all(isfinite, view(u, :, k)), axes(u, 2))
    # A few at a time, for the factors of a large law are large.
    return any(Iterators.partition(reached, 64)) do few
        states = u[:, few]
        G, W = constraint_jacobian(model.constraint, states, times[few]), inverse_metric(model.metric, states)
        any(condition(factorise(model.projection, G, W)) .< 16 * eps(eltype(u)))
    end
end
