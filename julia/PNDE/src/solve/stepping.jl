# An explicit Runge-Kutta solve of a batch with common steps, whose derivative is that of its steps.
#
# An adjoint equation integrates as many numbers as there are weights and takes steps of its own. A segment takes a handful
# of steps, so the pullback of each evaluation is kept: the way back costs two evaluations for one of the way there. Steps
# are chosen as in the embedded engine: Hairer's first step, and a controller with the last error alone.

"The steps of a training solve: of a method that is not explicit they are not stored."
tableau_of(::Tsit5) = TSIT5
tableau_of(::Vern9) = VERN9
tableau_of(solver) = throw(ArgumentError("training stores the steps of Tsit5 and Vern9, not of $(nameof(typeof(solver)))"))

"""
    solve_stored(field, u0, θ, times, settings, scale, [retraction])

Solve u̇ = field(u, θ, t), a [`SegmentField`](@ref), from `u0` `(n, B)` at `times[1]`, all states with common steps, as
`settings` says.

# Arguments

  - `scale`: the unit of the absolute tolerance `(n, 1)`.
  - `retraction`: `(u, t)` ↦ u on the manifold, after each step; or `nothing`.

# Returns

The states at `times` `(n, B, T)`, NaN where the solve did not come; the [`Status`](@ref) and the steps, rejected ones
included. Differentiable with respect to `u0` and `θ`.
"""
solve_stored(field, u0, θ, times, settings, scale, retraction = nothing) =
    first(take_steps(plain, field, u0, Weights(field.model.layout, θ), times, settings, scale, retraction))

function ChainRulesCore.rrule(::typeof(solve_stored), field, u0, θ, times, settings, scale, retraction)
    θ̅ = zero(θ)
    network = Weights(field.model.layout, θ, θ̅)
    out, steps, tableau = take_steps(pullback_within(KEPT_BYTES[], activation_bytes(field.model, u0)), field, u0, network, times, settings, scale, retraction)
    function solve_stored_pullback(cotangent)
        u̅ = unthunk(unthunk(cotangent)[1])
        θ̅ .= 0
        u̅0 = u̅ isa AbstractZero ? zero(u0) : steps_back(tableau, steps, u̅, u0)
        return NoTangent(), NoTangent(), u̅0, copy(θ̅), ntuple(Returns(NoTangent()), 4)...
    end
    return out, solve_stored_pullback
end

"What `pullback` takes the place of where no derivative is wanted."
plain(f, arguments...) = (f(arguments...), nothing)

"How much the evaluations of one solve may keep for their derivative, bytes, as in the embedded engine."
const KEPT_BYTES = Ref(4 * 2^30)

"Outputs and slopes of the layers for states u, bytes: the least that an evaluation keeps."
activation_bytes(model, u) = 2 * sizeof(eltype(u)) * size(u, 2) * units(model.layout)
units(layout::Layout) = sum(size -> size[2], layout.sizes)
units(layout::PartsLayout) = sum(units, values(layout.networks))

"""
`Zygote.pullback` of functions of the states, which keep at least so many bytes `each`; once all of them have made more than
`most`, one that evaluates its function again on the way back.
"""
function pullback_within(most, each)
    made = Ref(0)
    return function (f, u)
        made[] > most && return f(u), y̅ -> last(Zygote.pullback(f, u))(y̅)
        # What is made and not kept is counted too. Of a card's memory Julia knows nothing.
        (; value, bytes) = @timed Zygote.pullback(f, u)
        made[] += max(bytes, each)
        return value
    end
end

"An accepted step: its size, the pullbacks of its slopes and of the retraction, and of the states saved in it position and weights."
struct Step{H, P, R}
    h::H
    pullbacks::Vector{P}
    retraction::R
    saved::Vector{Tuple{Int, Vector{H}}}
end

function take_steps(pullback, field, u, network, times, settings, scale, retraction)
    T, tableau = eltype(u), tableau_of(settings.solver)
    t, finish, saved = T(times[1]), T(times[end]), fill!(similar(u, size(u)..., length(times)), NaN)
    saved[:, :, 1] .= u
    function evaluate(u, t)
        collect_if_large()
        return evaluated(pullback, field, network, u, t)
    end
    slope, back = evaluate(u, t)
    defined = all(isfinite, slope)
    relative(x) = error_size(x, abs.(u), settings, scale)
    h = settings.step === nothing ? first_step(relative, (u, t) -> field(u, network, t), u, t, slope, tableau.order) : T(settings.step)
    smallest, steps, count, position = 16 * eps(T) * maximum(abs, times), Step[], 0, 2
    while position <= length(times) && count < settings.max_steps && defined && h > smallest
        count += 1
        # Steps end where the solve does, and where a method without an interpolant is asked for a state.
        stop = tableau.interpolant === nothing ? T(times[position]) : finish
        reaches = t + h > stop - 100 * eps(T) * abs(stop)
        step = reaches ? stop - t : h
        slopes, pullbacks = [slope], Any[back]
        new = u
        for (weights, c) in zip(tableau.a, tableau.c)
            new = combined(u, step, weights, slopes)
            k, back_of_k = evaluate(new, t + T(c) * step)
            push!(slopes, k)
            push!(pullbacks, back_of_k)
        end
        carries_over(tableau) || (new = combined(u, step, tableau.b, slopes))
        error = combined(nothing, step, tableau.error, slopes)
        raw, back_of_retraction = new, nothing
        if retraction !== nothing
            new, back_of_retraction = pullback(u -> retraction(u, t + step), raw)
        end
        kept, factor = settings.step === nothing ? controlled(error, u, new, tableau, settings, scale) : (true, one(T))
        if kept
            after, here = reaches ? stop : t + step, Tuple{Int, Vector{T}}[]
            while position <= length(times) && times[position] <= after
                x = (T(times[position]) - t) / step
                weights = tableau.interpolant === nothing ? T.(tableau.b) : collect(T, tableau.interpolant(x))
                saved[:, :, position] .= combined(u, step, weights, slopes)
                push!(here, (position, weights))
                position += 1
            end
            push!(steps, Step(step, pullbacks, back_of_retraction, here))
            t, u = after, new
            if carries_over(tableau)
                slope, back = slopes[end], pullbacks[end]
            else
                slope, back = evaluate(u, t)
            end
        end
        # A step that was cut short says little of the next one.
        h = settings.step === nothing ? (kept && step < h ? max(h, factor * step) : factor * step) : h
    end
    ended = !defined || !(h > smallest) ? NON_FINITE : position <= length(times) ? MAX_STEPS : all(isfinite, saved) ? OK : NON_FINITE
    return (saved, ended, count), steps, tableau
end

"u + h Σ wₖ kₖ; without u the sum alone."
function combined(u, h, weights, slopes)
    out = u === nothing ? zero(slopes[1]) : copy(u)
    for (w, k) in zip(weights, slopes)
        w isa Number && iszero(w) || (out .+= (h .* as_weight(eltype(out), w)) .* k)
    end
    return out
end

as_weight(::Type{T}, w::Number) where {T} = T(w)
as_weight(::Type, w) = w  # of each state its own

"Whether a step is kept, and what the next one is in units of it."
function controlled(error, u, new, tableau, settings, scale)
    T = eltype(u)
    size = all(isfinite, new) ? error_size(error, max.(abs.(u), abs.(new)), settings, scale) : T(Inf)
    kept = size < 1
    return kept, step_factor(size, kept, tableau.order)
end

"What the next step is in units of one with an error of this size."
step_factor(size::T, kept, order) where {T} =
    clamp(T(0.9) * (1 / size)^(one(T) / order), kept ? one(T) : T(0.2), kept ? T(10) : T(0.9))

"Root mean squares of an error relative to the tolerances: of each state `(B,)`, on the host; infinite for NaN."
function error_sizes(error, magnitude, settings, scale)
    T = eltype(error)
    squares = sum(abs2, error ./ (T(settings.atol) .* scale .+ T(settings.rtol) .* magnitude); dims = 1)
    return map(x -> isnan(x) ? T(Inf) : sqrt(x / size(error, 1)), vec(on_host(squares)))
end

"The same of all states as one."
error_size(error, magnitude, settings, scale) = sqrt(mean(abs2, error_sizes(error, magnitude, settings, scale)))

"""
    first_step(relative, field, u, t, slope, order, [of_columns])

The first step of the states u `(n, B)` at t, as one system or each its own. `relative` gives the size of a vector at u, of all
states or of each, and `of_columns` a step as what can be multiplied with the states.

# References

Hairer, Nørsett, Wanner (1993), Solving ordinary differential equations I, Sec. II.4.
"""
function first_step(relative, field, u, t, slope, order, of_columns = identity)
    T = eltype(u)
    d0, d1 = relative(u), relative(slope)
    h0 = ifelse.((d0 .< 1e-5) .| (d1 .< 1e-5), T(1e-6), T(0.01) .* d0 ./ d1)
    d2 = relative(field(u .+ of_columns(h0) .* slope, t .+ h0) .- slope) ./ h0
    d = max.(d1, d2)
    h1 = ifelse.(d .<= 1e-15, max.(T(1e-6), h0 .* T(1e-3)), (T(0.01) ./ d) .^ (one(T) / order))
    return min.(100 .* h0, h1)
end

"The cotangent of u0, from those of the saved states `(n, B, T)`. That of the weights is added to as it is met."
function steps_back(tableau, steps, cotangent, u0)
    u̅ = zero(u0)
    last_slope = nothing  # the cotangent of the slope that the next step began with
    function back(pullback, k̅)
        collect_if_large()
        return only(pullback(k̅))
    end
    for (; h, pullbacks, retraction, saved) in Iterators.reverse(steps)
        k̅ = [zero(u0) for _ in pullbacks]
        before = zero(u0)
        # Where no stage is the new state, the slope at its end belongs to the next step alone.
        if carries_over(tableau)
            last_slope === nothing || (k̅[end] .+= last_slope)
        end
        for (position, weights) in saved
            s̅ = cotangent[:, :, position]
            before .+= s̅
            accumulate_slopes!(k̅, h, weights, s̅)
        end
        new = retraction === nothing ? u̅ : something(only(retraction(u̅)), zero(u0))
        if carries_over(tableau)
            states = u_through(back(pullbacks[end], k̅[end]), new)
            before .+= states
            accumulate_slopes!(k̅, h, last(tableau.a), states)
            later = length(pullbacks) - 1
        else
            before .+= new
            accumulate_slopes!(k̅, h, tableau.b, new)
            later = length(pullbacks)
        end
        for stage in later:-1:2
            state = back(pullbacks[stage], k̅[stage])
            state === nothing && continue
            before .+= state
            accumulate_slopes!(k̅, h, tableau.a[stage - 1], state)
        end
        if carries_over(tableau)
            last_slope = k̅[1]
        else
            first_part = back(pullbacks[1], k̅[1])
            first_part === nothing || (before .+= first_part)
        end
        u̅ = before
    end
    if carries_over(tableau) && !isempty(steps)
        first_part = back(first(steps).pullbacks[1], last_slope)
        first_part === nothing || (u̅ .+= first_part)
    end
    u̅ .+= cotangent[:, :, 1]
    return u̅
end

u_through(part, new) = part === nothing ? new : part .+ new

function accumulate_slopes!(k̅, h, weights, cotangent)
    for (k, w) in zip(k̅, weights)
        iszero(w) || (k .+= (h * eltype(k)(w)) .* cotangent)
    end
    return k̅
end
