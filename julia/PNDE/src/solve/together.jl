# Forecasts on a device: one batch, in which each trajectory has steps of its own. What is done for one state is done for
# all; what is decided of a trajectory is decided on the host.

function rollout_together(model, network, u, times, c, settings, drive = placed_like(u, times[1, :]))
    T, count, tableau = eltype(u), size(u, 2), tableau_of(settings.solver)
    out, law = Trajectories{T}(size(u, 1), size(times, 1), count), model.constraint
    elapsed = T.(times .- times[1:1, :])
    any(with_jumps(drive, maximum(elapsed))) && throw(ArgumentError("forecasts with inputs that jump are for the host"))
    there(x) = placed_like(u, Array(x))
    of_columns(x) = there(reshape(x, 1, :))
    projected, scale = model.method isa Projected, reshape(model.std, :, 1)
    field(u, s) = velocity(model, network, u, c, instant(drive, s))
    retraction(u, s) = put_back(model, u, instant(drive, s), c)
    inside(u) = law === nothing ? trues(count) : indomain(law, u)

    out.u[:, 1, :] .= Array(u)
    worst = faults(model, u, instant(drive, zero(T)), c, settings)
    t, next, active = zeros(T, count), fill(2, count), trues(count)
    slope = field(u, t)
    relative(x) = error_sizes(x, abs.(u), settings, scale)
    h = settings.step === nothing ? first_step(relative, field, u, t, slope, tableau.order, of_columns) : fill(T(settings.step), count)
    out.evaluations .= settings.step === nothing ? 2 : 1
    finish, smallest = elapsed[end, :], 16 * eps(T) .* vec(maximum(abs, elapsed; dims = 1))
    ends(b, status) = (active[b] = false; out.status[b] = Int8(status))
    size(elapsed, 1) == 1 && (active .= false)
    while any(active)
        for b in findall(active)
            h[b] > smallest[b] || ends(b, NON_FINITE)  # NaN too
            out.steps[b] < settings.max_steps || !active[b] || ends(b, MAX_STEPS)
        end
        any(active) || break
        out.steps[active] .+= 1
        out.evaluations[active] .+= length(tableau.a) + !carries_over(tableau)
        stop = tableau.interpolant === nothing ? [elapsed[min(k, end), b] for (b, k) in enumerate(next)] : finish
        reaches = t .+ h .> stop .- 100 * eps(T) .* abs.(stop)
        step = ifelse.(active, ifelse.(reaches, stop .- t, h), zero(T))
        steps = of_columns(step)
        slopes, new = [slope], u
        for (weights, x) in zip(tableau.a, tableau.c)
            new = combined(u, steps, weights, slopes)
            push!(slopes, field(new, t .+ T(x) .* step))
        end
        carries_over(tableau) || (new = combined(u, steps, tableau.b, slopes))
        kept, factor = copy(active), ones(T, count)
        if settings.step === nothing
            sizes = error_sizes(combined(nothing, steps, tableau.error, slopes), max.(abs.(u), abs.(new)), settings, scale)
            kept .&= sizes .< 1
            factor = step_factor.(sizes, kept, tableau.order)
        end
        after = ifelse.(reaches, stop, t .+ step)
        if projected && settings.retract === :step
            new = retraction(new, after)
        end
        # What is wanted within the steps: of each trajectory the first, then of each the second, until there is no more.
        while true
            wanted = kept .& (next .<= size(elapsed, 1))
            wanted .&= [w && elapsed[next[b], b] <= after[b] for (b, w) in enumerate(wanted)]
            any(wanted) || break
            x = T[w ? (elapsed[next[b], b] - t[b]) / step[b] : one(T) for (b, w) in enumerate(wanted)]
            parts = tableau.interpolant === nothing ? T.(tableau.b) : map(of_columns, map(k -> getindex.(tableau.interpolant.(x), k), 1:7))
            state = combined(u, steps, parts, slopes)
            if projected && settings.retract !== :never
                state = retraction(state, t .+ x .* step)
            end
            within, values, fault = inside(state), Array(state), faults(model, state, instant(drive, t .+ x .* step), c, settings)
            for b in findall(wanted)
                if within[b]
                    out.u[:, next[b], b] .= values[:, b]
                    fault[b] == OK || worst[b] == RANK_DEFICIENT || (worst[b] = fault[b])
                    next[b] += 1
                else
                    ends(b, LEFT_DOMAIN)
                    kept[b] = false
                end
            end
        end
        taken = of_columns(kept)
        u = ifelse.(taken, new, u)
        within = inside(u)
        t .= ifelse.(kept, after, t)
        slope = carries_over(tableau) ? ifelse.(taken, slopes[end], slope) : field(u, t)
        for b in findall(kept)
            next[b] > size(elapsed, 1) ? (active[b] = false) : within[b] || ends(b, LEFT_DOMAIN)
        end
        settings.step === nothing && (h .= ifelse.(kept .& (step .< h), max.(h, factor .* step), factor .* step))
    end
    for b in 1:count
        out.status[b] == Int8(OK) && !all(isfinite, view(out.u, :, :, b)) && (out.status[b] = Int8(NON_FINITE))
        off = worst[b] in (OFF_MANIFOLD, INFEASIBLE) && out.status[b] == Int8(OK)
        (off || worst[b] == RANK_DEFICIENT) && (out.status[b] = Int8(worst[b]))
    end
    return out
end

"What is wrong with saved states of a projected model: the status of each, on the host."
function faults(model, u, at, c, settings)
    found = fill(OK, size(u, 2))
    model.method isa Projected || return found
    if settings.retract !== :never
        found[.!Vector{Bool}(vec(on_host(is_on_manifold(model.constraint, u, at, c))))] .= OFF_MANIFOLD
    end
    found[.!keeps_bounds(model, u, at, settings)] .= INFEASIBLE
    if model.constraint !== nothing
        factor = factorise(model.projection, projected_rows(model, u, at)...)
        # One number where all states share G.
        found[(on_host(condition(factor)) .< 16 * eps(eltype(u))) .| falses(length(found))] .= RANK_DEFICIENT
    end
    found[.!vec(Array(all(isfinite, u; dims = 1)))] .= OK
    return found
end
