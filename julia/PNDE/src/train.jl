# Training: mean squared error over the predicted points of segments, AdamW. The caller drives it step by step, so that
# it can be interrupted, draw its progress, and save between steps.

"""
    Segments(u, c, start, grid, share)

Segments to train on.

# Arguments

  - `u`: states `(n, k + 1, S)`; `c`: targets `(m, S)`; `start`: the time of the first point `(S,)`.
  - `grid`: times relative to the start, `(k + 1,)` where all segments share them, else `(k + 1, S)`.
  - `share`: weight of each segment in the mean `(S,)`.
"""
struct Segments{A, C, V, G}
    u::A
    c::C
    start::V
    grid::G
    share::V
end

"""
    batch_loss(model, θ, segments, settings, [report])

Mean squared error of the normalised states at the predicted points: over segments, the points after the first, and states.

Segments that share their time grid are solved as one system with common steps, as in the paper; others each with their
own. The loss is NaN where a solve failed. `report`, if given, is called with the status and steps of each solve.

# Throws

  - `ArgumentError` for a projected model with `retract = :step`: an adjoint equation knows nothing of a retraction after
    each step.
"""
function batch_loss(model::Model, θ, segments::Segments, settings::Settings, report = Returns(nothing))
    (; u, c, start, grid, share) = segments
    if model.method isa Projected && settings.retract === :step
        throw(ArgumentError("training cannot retract each step: use Settings(; retract = :save) or :never"))
    end
    if grid isa AbstractVector
        return solved_loss(model, θ, u, c, start, grid, share, settings, report)
    end
    losses = map(axes(u, 3)) do s
        solved_loss(model, θ, u[:, :, s:s], c[:, s:s], start[s:s], grid[:, s], share[s:s], settings, report)
    end
    return sum(losses)
end

function solved_loss(model, θ, u, c, start, grid, share, settings, report)
    problem = ODEProblem{false}(SegmentField(model, c, start), u[:, 1, :], (grid[1], grid[end]), θ)
    solution = solve(
        problem, settings.solver; saveat = grid, sensealg = settings.adjoint, options(settings, eltype(u))...,
    )
    predicted = Array(solution)
    ended = ignore_derivatives() do
        status(solution, size(predicted, 3) == length(grid))
    end
    ignore_derivatives(() -> report(ended, solution.stats.naccept + solution.stats.nreject))
    ended == OK || return eltype(u)(NaN)
    if model.method isa Projected && settings.retract !== :never
        predicted = retract_saved(model, predicted, c, start, grid)
    end
    error = (permutedims(predicted, (1, 3, 2)) .- u)[:, 2:end, :] ./ model.std
    return dot(share, vec(mean(abs2, error; dims = (1, 2))))
end

"""
The velocity of the segments of a batch. Its type says nothing of the model, so that the solver and the adjoint are compiled
once for all models, with the package.
"""
struct SegmentField
    model::Any
    c::Any
    start::Any
end
(field::SegmentField)(u, θ, t) = as_type_of(u, segment_velocity(field.model, θ, u, field.c, field.start, t))

segment_velocity(model, θ, u, c, start, t) = velocity(model, θ, u, c, start .+ t)

as_type_of(u, v) = v
as_type_of(u::Array{T, N}, v) where {T, N} = v::Array{T, N}

"The states `(n, S, k + 1)` put back on the manifold, as one batch."
function retract_saved(model, predicted, c, start, grid)
    n, count, times = size(predicted)
    t = ignore_derivatives(() -> vec(start .+ grid'))
    u = retract(model.projection, model.constraint, model.metric, reshape(predicted, n, :), t, repeat(c, 1, times))
    return reshape(u, n, count, times)
end

"""
    loss_and_gradient(model, θ, segments, settings)

The training loss of a batch, its gradient with respect to θ, the worst status of the solves, and their mean steps. Where
the loss is not finite the gradient is NaN.
"""
function loss_and_gradient(model::Model, θ, segments::Segments, settings::Settings)
    statuses, steps = Status[], Int[]
    report(status, count) = (push!(statuses, status); push!(steps, count); nothing)
    return without_warnings() do
        loss, pullback = Zygote.pullback(θ -> batch_loss(model, θ, segments, settings, report), θ)
        worst, average = maximum(statuses), mean(steps)
        isfinite(loss) || return loss, fill!(similar(θ), NaN), worst, average
        loss, only(pullback(one(loss))), worst, average
    end
end

"""
    Trainer(model, θ, settings; weight_decay, clip, [moments])

A training under way: its weights `θ`, and the state of AdamW.

# Keywords

  - `weight_decay`: λ of θ ← θ - rate (m̂ / (√v̂ + ε) + λ θ); `clip`: largest size of a gradient component, or `nothing`.
  - `moments`: `(count, mu, nu)` of a training that is resumed.
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
    count, mu, nu = moments === nothing ? (0, zero(θ), zero(θ)) : moments
    return Trainer(
        model, copy(θ), settings, Float64(weight_decay), clip, rule, Int(count), (copy(mu), copy(nu), rule.beta .^ (count + 1)),
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

The loss of a batch with the weights of the trainer, and the worst status of its solves.
"""
function evaluate(trainer::Trainer, segments::Segments)
    worst = OK
    report(status, _) = (worst = max(worst, status); nothing)
    loss = without_warnings(() -> batch_loss(trainer.model, trainer.θ, segments, trainer.settings, report))
    return loss, Int(worst)
end

"""
    learning_rate(epoch; high, low, period)

The rate of an epoch, counted from 0: a cosine from `high` to `low` over `period` epochs, then constant.
"""
learning_rate(epoch; high, low, period) = epoch >= period ? low : low + (high - low) * (1 + cospi(epoch / period)) / 2

"""
    train!(trainer, batches; epochs, rate, [seed, callback])

Train for a number of epochs, each in an order of its own. `rate` is a function of the epoch, such as
[`learning_rate`](@ref); `callback(epoch, loss)` is called after each.
"""
function train!(trainer::Trainer, batches; epochs, rate, seed = 1, callback = Returns(nothing))
    for epoch in 0:(epochs - 1)
        losses = map(randperm(Xoshiro(hash((seed, epoch))), length(batches))) do i
            first(step!(trainer, batches[i], rate(epoch)))
        end
        all(isfinite, losses) || throw(DomainError(losses, "the training loss is not finite in epoch $(epoch + 1)"))
        callback(epoch + 1, mean(losses))
    end
    return trainer
end
