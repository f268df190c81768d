"""
    ambient_velocity(model, θ, u)

The unconstrained f̄(u) `(n, B)`: the network sees normalised states and gives velocities, physical ones or in units of the
model's `speed` (paper, Appendix F.3).
"""
function ambient_velocity(model::Model, θ, u)
    x = network_input(model.features, u, scaled(u, model.mean, model.std))
    v = network_output(model, θ, x)
    if model.speed !== nothing
        v = times_constant(v, model.speed)
    end
    if model.order == 2
        v = vcat(u[(size(u, 1) ÷ 2 + 1):end, :], v)
    end
    return with_physics(model.physics, v, u)
end

# Zygote would differentiate with respect to the constants too.
scaled(x, shift, scale) = (x .- shift) ./ scale
function ChainRulesCore.rrule(::typeof(scaled), x, shift, scale)
    scaled_pullback(y̅) = (NoTangent(), unthunk(y̅) ./ scale, NoTangent(), NoTangent())
    return scaled(x, shift, scale), scaled_pullback
end
times_constant(x, scale) = x .* scale
function ChainRulesCore.rrule(::typeof(times_constant), x, scale)
    times_pullback(y̅) = (NoTangent(), unthunk(y̅) .* scale, NoTangent())
    return times_constant(x, scale), times_pullback
end

network_input(::StateFeatures, u, normalised) = normalised
function network_input(::AngleFeatures, u, normalised)
    angles = first(halves(u))
    return vcat(sin.(angles), cos.(angles), last(halves(normalised)))
end

with_physics(::Nothing, v, u) = v
with_physics(physics, v, u) = v .+ like(u, physics(u))

"""
    velocity(model, θ, u, c, t)

u̇ `(n, B)` of states u with targets c `(m, B)` at times t, a number or `(B,)`.
"""
velocity(model::Model, θ, u, c, t) = constrained(model.method, model, u, ambient_velocity(model, θ, u), c, t)

constrained(::NDE, model, u, v, c, t) = v

function constrained(::Projected, model, u, v, c, t)
    G = constraint_jacobian(model.constraint, u, t)
    return project(model.projection, G, v, drift(model.constraint, u, t), inverse_metric(model.metric, u))
end

function constrained(method::SNDE, model, u, v, c, t)
    G = constraint_jacobian(model.constraint, u, t)
    g = value(model.constraint, u, t) .- c
    return v .- cast(method.gamma, u) .* minimum_norm(model.projection, G, g, inverse_metric(model.metric, u))
end
