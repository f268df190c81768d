"""
    retract(algorithm, law, metric, u, at, c)

Newton's method u ← u - W GᵀS⁻¹ (h - c), state by state until the residual is at rounding level or stops falling.

Velocity projection keeps ġ = 0, but an integrator still drifts by its own error; this removes the drift. The derivative is
that of the limit, which moves along the manifold: du = P du₀ + W GᵀS⁻¹ dc.

# References

Hairer (2011), Solving differential equations on manifolds, Sec. 2.
"""
function retract(algorithm, law, metric, u, at, c)
    g = value(law, u, at) .- c
    size = largest(g)
    # Rounding of h itself: a few ulp of its size, and of the products it is made of, which scale like G u.
    enough = 2 * eps(eltype(u)) .* (largest(c) .+ largest(apply(constraint_jacobian(law, u, at), u)))
    active = size .> enough
    for _ in 1:20
        any(active) || break
        step = minimum_norm(algorithm, constraint_jacobian(law, u, at), g, inverse_metric(metric, u))
        new = u .- step
        new_g = value(law, new, at) .- c
        new_size = largest(new_g)
        better = active .& (new_size .< size)  # false for NaN too
        u, g = ifelse.(better, new, u), ifelse.(better, new_g, g)
        size = ifelse.(better, new_size, size)
        active = better .& (size .> enough)
    end
    return u
end

"""
    is_on_manifold(law, u, at, c)

Which states u `(n, B)` are at h = c, to far more than Newton's method leaves where it converges: in double precision
1e-9 of the size of c and of the products that h is made of.
"""
function is_on_manifold(law, u, at, c)
    scale = largest(c) .+ largest(apply(constraint_jacobian(law, u, at), u))
    return largest(value(law, u, at) .- c) .<= max(1.0e-9, 100 * eps(eltype(u))) .* scale
end

is_on_manifold(::Nothing, u, at, c) = fill(true, 1, size(u, 2))

largest(x) = maximum(abs, x; dims = 1)

function ChainRulesCore.rrule(::typeof(retract), algorithm, law, metric, u, at, c)
    out = retract(algorithm, law, metric, u, at, c)
    function retract_pullback(cotangent_of_out)
        p̅ = unthunk(cotangent_of_out)
        p̅ isa AbstractZero && return ntuple(Returns(ZeroTangent()), 7)
        G, W = constraint_jacobian(law, out, at), inverse_metric(metric, out)
        Wu̅, c̅ = decompose(factorise(algorithm, G, W), G, weigh(W, p̅), nothing, W)
        u̅ = W === nothing ? Wu̅ : p̅ .- transpose_apply(G, c̅)
        return NoTangent(), NoTangent(), NoTangent(), NoTangent(), u̅, NoTangent(), c̅
    end
    return out, retract_pullback
end

"""
    inverse_metric(metric, u)

W = M⁻¹ of the states u, for a metric `nothing`, diagonals `(n,)`, a matrix `(n, n)`, or a function of one state that gives
either.
"""
inverse_metric(::Nothing, u) = nothing
inverse_metric(metric::AbstractVector, u) = ignore_derivatives(() -> reshape(1 ./ cast(metric, u), :, 1))
inverse_metric(metric::AbstractMatrix, u) = ignore_derivatives(() -> reshape(cast(inv(metric), u), size(metric)..., 1))
inverse_metric(metric::TracedFunction, u) = batched_inverse(metric(u))
inverse_metric(metric, u) = per_state((u, _) -> inverse(metric(u)), u, zero(eltype(u)))

inverse(M::AbstractVector) = 1 ./ M
inverse(M::AbstractMatrix) = inv(M)
