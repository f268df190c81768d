"""
    Trainer(model, θ, settings; weight_decay, clip, [moments])

A training under way: its weights `θ`, and the state of AdamW.

# Keywords

  - `weight_decay`: λ of θ ← θ - rate (m̂ / (√v̂ + ε) + λ θ); `clip`: largest size of a gradient component, or `nothing`.
  - `moments`: `(count, mu, nu, beta)` of a training that is resumed; `beta` are the powers of Adam's β, which are
    multiplied up step by step and round differently if taken anew.
"""
mutable struct Trainer{M, V, S, O}
    const model::M
    const θ::V
    const settings::S
    const weight_decay::Float64
    const clip::Union{Nothing, Float64}
    const rule::O
    count::Int
    moments::Any
end

function Trainer(model::Model, θ::AbstractVector{T}, settings::Settings; weight_decay = 0.0, clip = nothing, moments = nothing) where {T}
    rule = Adam(one(T), (T(0.9), T(0.999)), T(1e-8))
    count, mu, nu, beta = moments === nothing ? (0, zero(θ), zero(θ), rule.beta) : moments
    return Trainer(
        model, copy(θ), settings, Float64(weight_decay), clip, rule, Int(count), (copy(mu), copy(nu), (T(beta[1]), T(beta[2]))),
    )
end

"""
    step!(trainer, segments, rate)

One step of AdamW on a batch. The weights stay as they are if the loss or its gradient is not finite.

# Returns

The loss, the norm of the gradient, the worst status of the solves, and their mean steps.
"""
function step!(trainer::Trainer, segments::Segments, rate)
    (; model, θ, settings, clip, rule) = trainer
    loss, gradient, worst, steps = loss_and_gradient(model, θ, segments, settings)
    length_of_gradient = norm(gradient)
    if isfinite(loss) && isfinite(length_of_gradient)
        if clip !== nothing
            # Component by component, as the reference does.
            gradient = clamp.(gradient, -eltype(θ)(clip), eltype(θ)(clip))
        end
        trainer.moments, direction = Optimisers.apply!(rule, trainer.moments, θ, gradient)
        trainer.count += 1
        rate, decay = eltype(θ)(rate), eltype(θ)(trainer.weight_decay)
        θ .-= rate .* (direction .+ decay .* θ)
    end
    return loss, length_of_gradient, Int(worst), steps
end

"""
    evaluate(trainer, segments)

The loss of a batch with the weights of the trainer, the worst status of its solves, and their mean steps.
"""
function evaluate(trainer::Trainer, segments::Segments)
    statuses, steps = Status[], Int[]
    report(status, count) = (push!(statuses, status); push!(steps, count); nothing)
    loss = without_warnings(() -> batch_loss(trainer.model, trainer.θ, segments, trainer.settings, report))
    return loss, Int(maximum(statuses)), mean(steps)
end

"""
    conditions(model, segments)

[`condition`](@ref) `(S,)`, on the host, of the factors with which velocities at the starts of the segments are projected.
"""
function conditions(model::Model, segments::Segments)
    u = segments.u[:, 1, :]
    rows = projected_rows(model, u, instant(segments.drive, zero(eltype(u))))
    return on_host(condition(factorise(model.projection, rows...)))
end

"1/κ(G) by QR of one state `(n, 1)`, by which rows that repeat others are told from nearly dependent ones."
best_condition(model::Model, u, at) = only(condition(factorise(QRProjection(), projected_rows(model, u, at)...)))
