"""
    enclose(algorithm, law, bounds, metric, u, at, c)

The states on h = c and inside of the bounds, moved as little as possible in the metric.

The law, if there is one, and the rows of the bounds are taken to first order, and the nearest state that obeys both is found,
until it obeys them without that: Newton's method, as in [`retract`](@ref), with [`project_within`](@ref). The last word
belongs to the bounds: states that are bounded themselves are cut off there, so that a concentration is not even -1e-18, and the
law is met by the others. The derivative is that of the state's projection on the rows that it was put back to.
"""
enclose(algorithm, law, bounds, metric, u, at, c) = first(enclosed(algorithm, law, bounds, metric, u, at, c))

"The states, and the rows `(m, B)` that they were put back to."
function enclosed(algorithm, law, bounds, metric, u, at, c)
    low, high = box(bounds, u)
    h = value(bounds.rows, u, at)
    lower, upper = aims(bounds, h)
    pushed = fill!(similar(h, Bool), false)
    miss = missed(law, bounds, u, at, c)
    active = miss .> 0
    for _ in 1:20
        any(active) || break
        G, g = law === nothing ? (nothing, nothing) : (constraint_jacobian(law, u, at), value(law, u, at) .- c)
        h, A = value(bounds.rows, u, at), constraint_jacobian(bounds.rows, u, at)
        found = within(algorithm, G, A, zero(u), g, lower .- h, upper .- h, inverse_metric(metric, u))
        new = clamp.(u .+ found.p, low, high)
        new_miss = missed(law, bounds, new, at, c)
        better = active .& (new_miss .< miss)  # false for NaN too
        u, miss = ifelse.(better, new, u), ifelse.(better, new_miss, miss)
        pushed = pushed .| (better .& found.rows)
        active = better .& (miss .> 0)
    end
    return clamp.(u, low, high), pushed
end

"How far states are outside, or off the law beyond rounding, relative to the sizes of both `(1, B)`."
function missed(law, bounds, u, at, c)
    h = value(bounds.rows, u, at)
    lower, upper, scale = map(x -> cast(x, u), (bounds.lower, bounds.upper, bounds.scale))
    outside = max.(maximum(max.(lower .- h, h .- upper) ./ scale; dims = 1), zero(eltype(u)))
    law === nothing && return outside
    size = largest(c) .+ largest(apply(constraint_jacobian(law, u, at), u))
    off = largest(value(law, u, at) .- c)
    return outside .+ ifelse.(off .<= 2 * eps(eltype(u)) .* size, zero(eltype(u)), off ./ size)
end

"""
What rows with the values h are put back to: the bounds of a state themselves; else a few roundings inside, so that h,
computed again, is there.
"""
function aims(bounds, h)
    lower, upper, scale = map(x -> cast(x, h), (bounds.lower, bounds.upper, bounds.scale))
    inset = 16 * eps(eltype(h)) .* (abs.(h) .+ scale) .* cast(Float64.(bounds.columns .== 0), h)
    inset = min.(inset, (upper .- lower) ./ 2)
    return lower .+ inset, upper .- inset
end

"Which states `(1, B)` have no row outside of its bounds by more than 1e-9 of its size, in double precision."
function is_inside(bounds, u, at)
    h = value(bounds.rows, u, at)
    lower, upper, scale = map(x -> cast(x, u), (bounds.lower, bounds.upper, bounds.scale))
    slack = max(1.0e-9, 100 * eps(eltype(u))) .* scale
    return all((h .>= lower .- slack) .& (h .<= upper .+ slack); dims = 1)
end

is_inside(::Nothing, u, at) = fill(true, 1, size(u, 2))

function ChainRulesCore.rrule(::typeof(enclose), algorithm, law, bounds, metric, u, at, c)
    out, pushed = enclosed(algorithm, law, bounds, metric, u, at, c)
    function enclose_pullback(cotangent_of_out)
        p̅ = unthunk(cotangent_of_out)
        p̅ isa AbstractZero && return ntuple(Returns(ZeroTangent()), 8)
        G, W = law === nothing ? nothing : constraint_jacobian(law, out, at), inverse_metric(metric, out)
        A, factor = constraint_jacobian(bounds.rows, out, at), factor_of_law(algorithm, G, W)
        joint = JointFactor(factor, nothing, nothing)
        if any(pushed)
            moves = Moves(factor, G, A, W, size(pushed, 1), out)
            joint = JointFactor(factor, moves, last(inverse_among(moves.gram, pushed, moves.norms)))
        end
        Wu̅, c̅, μ̅ = decompose(joint, G, A, weigh(W, p̅), nothing, zeros_like(out, size(pushed)...), W)
        u̅ = W === nothing ? Wu̅ : p̅ .- pushed_back(G, A, c̅, μ̅)
        return NoTangent(), NoTangent(), NoTangent(), NoTangent(), NoTangent(), u̅, NoTangent(), c̅
    end
    return out, enclose_pullback
end

"""
    put_back(model, u, at, c)

The states on the manifold of the model's law and inside of its bounds, of which there is at least one.
"""
put_back(model, u, at, c) = put_back(model.bounds, model, u, at, c)
put_back(::Nothing, model, u, at, c) = retract(model.projection, model.constraint, model.metric, u, at, c)
put_back(bounds::Bounds, model, u, at, c) = enclose(model.projection, model.constraint, bounds, model.metric, u, at, c)
