"""
    Trajectories

States `u` `(n, T, B)` of B trajectories at T times, NaN from where one failed; and of each trajectory its `status`, the
`steps` of the solver, rejected ones included, and the `evaluations` of the vector field. Where inputs jump, `c` are the
targets `(m, T, B)`, which change there.
"""
struct Trajectories{T}
    u::Array{T, 3}
    status::Vector{Int8}
    steps::Vector{Int}
    evaluations::Vector{Int}
    c::Array{T, 3}
end

Trajectories{T}(n, times, count, m = 0) where {T} =
    Trajectories(fill(T(NaN), n, times, count), zeros(Int8, count), zeros(Int, count), zeros(Int, count), fill(T(NaN), m, times, count))

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
    count!(out, b, solution)
    out.status[b] = Int8(status(solution, all(isfinite, saved), reached < size(out.u, 2)))
    return out
end

"Add up what the solves of a trajectory cost."
function count!(out::Trajectories, b, solution)
    out.steps[b] += solution.stats.naccept + solution.stats.nreject
    out.evaluations[b] += solution.stats.nf
    return out
end

"""
    rollout(model, θ, u0, times, c, settings, [drive])

Solve the model from `u0` `(n, B)` with targets `c` `(m, B)`, each trajectory with steps of its own, saved at `times`
`(T, B)`, in double precision and on the host. A law knows the time as exactly; the solver counts it from the first. On
the host trajectories are solved one by one, on all threads; states on a device as one batch. `drive` is what drives the
trajectories, by clocks that begin at their first times; see [`Drive`](@ref).

# Returns

[`Trajectories`](@ref).
"""
function rollout(model::Model, θ, u0, times, c, settings::Settings, drive = placed_like(u0, times[1, :]))
    T = eltype(u0)
    weights = Weights(model.layout, θ)
    u0 isa Array || return rollout_together(model, weights, u0, times, c, settings, drive)
    out = Trajectories{T}(size(u0, 1), size(times, 1), size(u0, 2), may_jump(drive) ? size(c, 1) : 0)
    without_warnings() do
        Threads.@threads for b in axes(u0, 2)
            rollout_one!(out, b, model, weights, u0[:, b:b], times[:, b], c[:, b:b], settings, of_trajectories(drive, b))
        end
    end
    return out
end

function rollout_one!(out, b, model, weights, u, times, c, settings, drive)
    elapsed = eltype(u).(times .- times[1])
    # From jump to jump; a state that is saved at one is that after it.
    begins = elapsed[1]
    for ends in jumps_between(drive, begins, elapsed[end])
        u = stretch!(out, b, model, weights, u, elapsed, c, settings, up_to(drive, ends), begins, ends)
        u === nothing && return out
        u, c = after_jump(model, drive.jump, u, instant(drive, ends), c)
        begins = ends
    end
    stretch!(out, b, model, weights, u, elapsed, c, settings, drive, begins, nothing)
    return out
end

"""
Solve and record a trajectory from u at `begins` up to a jump at `ends`, or to the last of its times if that is `nothing`.
Returns the state at the jump, or `nothing` where the solve does not come there.
"""
function stretch!(out, b, model, weights, u, elapsed, c, settings, drive, begins, ends)
    law, projected = model.constraint, model.method isa Projected
    positions, missed, wanted = saved_between(elapsed, begins, ends)
    retraction(u, s) = put_back(model, u, instant(drive, s), c)
    domain = law === nothing ? nothing : u -> all(indomain(law, u))
    if wanted[end] > wanted[1]
        problem = ODEProblem{false}((u, _, s) -> velocity(model, weights, u, c, instant(drive, s)), u, (wanted[1], wanted[end]))
        # A kink is met by the end of a step; else it would be found by trial.
        kinks = settings.step === nothing ? kinks_between(drive, wanted[1], wanted[end]) : ()
        solution = solve(
            problem, settings.solver; saveat = wanted, tstops = kinks,
            callback = callbacks(projected ? retraction : nothing, domain, settings),
            options(settings, eltype(u), reshape(model.std, :, 1))..., maxiters = settings.max_steps - out.steps[b],
        )
        saved = saved_states(solution, wanted, domain)
        count!(out, b, solution)
        ended = status(solution, all(isfinite, saved), size(saved, 2) < length(wanted))
    else
        saved, ended = repeat(u, 1, length(wanted)), all(isfinite, u) ? OK : NON_FINITE
    end
    if projected && settings.retract !== :never
        for k in axes(saved, 2)
            saved[:, k:k] = retraction(saved[:, k:k], wanted[k])
        end
    end
    at = instants(drive, wanted[axes(saved, 2)])
    ended == OK && projected && !all(keeps_bounds(model, saved, at, settings)) && (ended = INFEASIBLE)
    ended == OK && projected && settings.retract !== :never && !all(is_on_manifold(law, saved, at, c)) && (ended = OFF_MANIFOLD)
    projected && rank_is_lost(model, saved, drive, wanted) && (ended = RANK_DEFICIENT)
    recorded = filter(k -> k > missed && k <= missed + length(positions), axes(saved, 2))
    out.u[:, positions[recorded .- missed], b] .= saved[:, recorded]
    may_jump(drive) && (out.c[:, positions[recorded .- missed], b] .= c)
    worst = Status(out.status[b])
    (worst == OK || ended == RANK_DEFICIENT) && (out.status[b] = Int8(ended))
    return size(saved, 2) == length(wanted) ? saved[:, end:end] : nothing
end

"""
At which times a solve from `begins` up to a jump at `ends`, or to the last of `elapsed` if that is `nothing`, has to give its
state: at those of `elapsed` there, whose positions come first, and at both ends. In between is whether the first of them is
none of `elapsed`, for the jump that it begins with lies between two of these.
"""
function saved_between(elapsed, begins, ends)
    positions = ends === nothing ? findall(>=(begins), elapsed) : findall(s -> begins <= s < ends, elapsed)
    own = elapsed[positions]
    missed = isempty(own) || own[1] > begins
    return positions, missed, [missed ? [begins] : empty(own); own; ends === nothing ? empty(own) : [ends]]
end

"Whether G is singular to rounding at one of the states."
function rank_is_lost(model, u, drive, times)
    model.constraint === nothing && return false
    reached = filter(k -> all(isfinite, view(u, :, k)), axes(u, 2))
    # A few at a time, for the factors of a large law are large.
    return any(Iterators.partition(reached, 64)) do few
        states, at = u[:, few], instants(drive, times[few])
        any(condition(factorise(model.projection, projected_rows(model, states, at)...)) .< 16 * eps(eltype(u)))
    end
end

"Which states `(B,)` of a projected model are inside of its bounds, and have a velocity that stays there."
function keeps_bounds(model, u, at, settings)
    (; projection, constraint, bounds, metric) = model
    kept = fill(true, size(u, 2))
    bounds === nothing && return kept
    retracts = settings.retract !== :never
    retracts && (kept .&= vec(on_host(is_inside(bounds, u, at))))
    moves(law) = law !== nothing && drift(law, u, at) !== nothing
    # Else a state at rest keeps them all.
    return moves(constraint) || moves(bounds.rows) || !retracts ? kept .& can_be_kept(projection, constraint, bounds, metric, u, at) : kept
end
