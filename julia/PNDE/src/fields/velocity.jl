"""
    ambient_velocity(model, θ, u, [at])

The unconstrained f̄(u, w, p) `(n, B)`: the network sees normalised states, inputs and parameters and gives velocities, physical
ones or in units of the model's `speed` (paper, Appendix F.3).
"""
ambient_velocity(model::Model, θ, u, at = zero(eltype(u))) = ambient(model.form, model, θ, u, at)

function ambient(form::AbstractForm, model, θ, u, at)
    x = network_input(model.features, u, scaled(u, model.mean, model.std))
    v = network_output(model, θ, with_conditions(model.condition_mean, model.condition_std, x, at))
    v = in_form(form, model, v, u, at)
    if model.order == 2
        v = vcat(u[(size(u, 1) ÷ 2 + 1):end, :], v)
    end
    return with_physics(model.physics, v, u, at)
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

"Velocities, or accelerations, from what the network gives."
in_form(::VelocityForm, model, y, u, at) = model.speed === nothing ? y : times_constant(y, model.speed)

function in_form(form::SkewGradient, model, a, u, at)
    in_units(x) = model.speed === nothing ? x : times_constant(x, model.speed)
    slopes = in_units(reshape(dense(constraint_jacobian(model.constraint, u, at)), size(u, 1), :))
    up, down = a .* product(form.second, slopes), a .* product(form.first, slopes)
    return in_units(product(form.to_first, up) .- product(form.to_second, down))
end

network_input(::StateFeatures, u, normalised) = normalised
function network_input(::AngleFeatures, u, normalised)
    angles = first(halves(u))
    return vcat(sin.(angles), cos.(angles), last(halves(normalised)))
end

with_conditions(::Nothing, ::Nothing, x, at) = x
with_conditions(mean, std, x, at) = vcat(x, ignore_derivatives(() -> (conditions_at(at) .- mean) ./ std))

"Inputs, then parameters `(k + r, B)`."
conditions_at(at) = at.w === nothing ? at.p : at.p === nothing ? at.w : vcat(at.w, at.p)

with_physics(::Nothing, v, u, at) = v
with_physics(physics, v, u, at) = v .+ like(u, known_velocity(physics, u, at))

known_velocity(physics, u, at) = physics(u)
known_velocity(physics::TracedFunction, u, at) = physics(u, at)
known_velocity(physics::OfInstant, u, at) = physics.f(u, ignore_derivatives(() -> map(as_columns, given_all(at, physics.takes)))...)

"""
    velocity(model, θ, u, c, at)

u̇ `(n, B)` of states u with targets c `(m, B)` at an [`Instant`](@ref), or at times, a number or `(B,)`.
"""
velocity(model::Model, θ, u, c, at) = moving(model.form, model.method, model, θ, u, c, at)

moving(::AbstractForm, method, model, θ, u, c, at) = constrained(method, model, u, ambient_velocity(model, θ, u, at), c, at)

"G and W of what velocities are projected by."
projected_rows(model, u, at) = projected_rows(model.form, model.method, model, u, at)
projected_rows(::AbstractForm, method, model, u, at) = constraint_jacobian(model.constraint, u, at), inverse_metric(model.metric, u)

constrained(::NDE, model, u, v, c, at) = v

constrained(::Projected, model, u, v, c, at) = projected(model.bounds, model, u, v, at)

projected(bounds::Bounds, model, u, v, at) = bounded_velocity(model.projection, model.constraint, bounds, model.metric, u, v, at)
function projected(::Nothing, model, u, v, at)
    G = constraint_jacobian(model.constraint, u, at)
    return project(model.projection, G, v, drift(model.constraint, u, at), inverse_metric(model.metric, u))
end

function constrained(method::SNDE, model, u, v, c, at)
    G = constraint_jacobian(model.constraint, u, at)
    g = value(model.constraint, u, at) .- c
    return v .- cast(method.gamma, u) .* minimum_norm(model.projection, G, g, inverse_metric(model.metric, u))
end
