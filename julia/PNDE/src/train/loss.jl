# Training: mean squared error over the predicted points of segments, AdamW. The caller drives it step by step, so that
# it can be interrupted, draw its progress, and save between steps.

"""
    Segments(u, c, drive, grid, share, [known])

Segments to train on.

# Arguments

  - `u`: states `(n, k + 1, S)`; `c`: targets `(m, S)`.
  - `drive`: the time of the first point `(S,)`, in double precision for laws that know it; or a [`Drive`](@ref).
  - `grid`: times relative to the start, on the host, `(k + 1,)` where all segments share them, else `(k + 1, S)`.
  - `share`: weight of each segment in the mean `(S,)`.
  - `known`: 1 for the entries of `u` that were measured, 0 for the others `(n, k + 1, S)`; `nothing` if all were.
"""
struct Segments{A, C, D, G, W, K}
    u::A
    c::C
    drive::D
    grid::G
    share::W
    known::K
end
Segments(u, c, drive, grid, share) = Segments(u, c, drive, grid, share, nothing)

"The segments at positions `at`, which have the times `grid`."
function part(segments::Segments, at, grid)
    (; u, c, drive, share, known) = segments
    return Segments(u[:, :, at], c[:, at], of_trajectories(drive, at), grid, share[at], known === nothing ? nothing : known[:, :, at])
end

"""
    batch_loss(model, θ, segments, settings, [report])

Mean squared error of the normalised states at the predicted points: over segments, and over the known entries of the points
after the first.

Segments that share their time grid are solved as one system with common steps, as in the paper; others, and those with inputs
that jump, each with their own. The loss is NaN where a solve failed. `report`, if given, is called with the status and steps of each solve.

# Throws

  - `ArgumentError` for an adjoint equation, which knows nothing of a retraction after each step, with a projected model and
    `retract = :step`, or with inputs that jump.
"""
function batch_loss(model::Model, θ, segments::Segments, settings::Settings, report = Returns(nothing))
    if model.method isa Projected && settings.retract === :step && !(settings.adjoint isa StoredSteps)
        throw(ArgumentError("an adjoint equation cannot retract each step: use Settings(; retract = :save), or StoredSteps()"))
    end
    together = ignore_derivatives(() -> with_common_steps(segments))
    length(together) == 1 && return solved_loss(model, θ, ignore_derivatives(() -> only(together)), settings, report)
    return sum(map(part -> solved_loss(model, θ, part, settings, report), together))
end

"The segments of a batch in parts, of which each is solved as one system."
function with_common_steps(segments)
    (; grid, drive) = segments
    count = size(segments.u, 3)
    grid isa AbstractMatrix && return [part(segments, s:s, grid[:, s]) for s in 1:count]
    alone = with_jumps(drive, grid[end])
    any(alone) || return [segments]
    apart, others = [part(segments, s:s, grid) for s in findall(alone)], findall(!, alone)
    return isempty(others) ? apart : [apart; part(segments, others, grid)]
end

function solved_loss(model, θ, segments, settings, report)
    (; u, drive, grid) = segments
    predicted, c, ended, steps = predict(settings.adjoint, model, θ, segments, settings)
    ignore_derivatives(() -> report(ended, steps))
    ended == OK || return eltype(u)(NaN)
    if model.method isa Projected && settings.retract !== :never
        predicted = retract_saved(model, predicted, c, drive, grid)
    end
    return squared_error(permutedims(predicted ./ model.std, (1, 3, 2))[:, 2:end, :], model.std, segments)
end

"""
The states `(n, S, k + 1)` that a solve comes to, the targets `(m, S)` or, where they change, `(m, S, k + 1)`; its status and its
steps.
"""
function predict(::StoredSteps, model, θ, segments, settings)
    (; u, c, drive, grid) = segments
    u0, jumps = u[:, 1, :], ignore_derivatives(() -> size(u, 3) == 1 ? jumps_between(drive, grid[1], grid[end]) : ())
    isempty(jumps) || return predict_across(model, θ, segments, settings, jumps)
    predicted, ended, steps = solve_stored(SegmentField(model, c, drive), u0, θ, grid, settings, reshape(model.std, :, 1), retraction(model, c, drive, settings))
    return predicted, c, ended, steps
end

"What puts states on the manifold after each step, or `nothing`."
function retraction(model, c, drive, settings)
    model.method isa Projected && settings.retract === :step || return nothing
    return (u, t) -> put_back(model, u, instant(drive, t), c)
end

# States are integrated in units of their standard deviations, so that one absolute tolerance fits them all, and the adjoint
# state too.
function predict(adjoint, model, θ, segments, settings)
    (; u, c, drive, grid) = segments
    any(with_jumps(drive, grid[end])) && throw(ArgumentError("an adjoint equation cannot go back through inputs that jump: use StoredSteps()"))
    problem = ODEProblem{false}(ScaledField(SegmentField(model, c, drive)), u[:, 1, :] ./ model.std, (grid[1], grid[end]), θ)
    solution = solve(problem, settings.solver; saveat = grid, sensealg = adjoint, options(settings, eltype(u))...)
    predicted = Array(solution)
    ended = ignore_derivatives() do
        status(solution, size(predicted, 3) == length(grid))
    end
    return predicted .* model.std, c, ended, solution.stats.naccept + solution.stats.nreject
end

function squared_error(predicted, std, segments)
    (; u, share, known) = segments
    truth = ignore_derivatives(() -> u[:, 2:end, :] ./ std)
    known === nothing && return dot(share, vec(mean(abs2, predicted .- truth; dims = (1, 2))))
    weight = ignore_derivatives(() -> known[:, 2:end, :])
    # What stands for an entry that is not known may be NaN.
    there = ignore_derivatives(() -> ifelse.(weight .> 0, truth, zero(eltype(truth))))
    count = ignore_derivatives(() -> max.(sum(weight; dims = (1, 2)), one(eltype(weight))))
    return dot(share, vec(sum(abs2, (predicted .- there) .* weight; dims = (1, 2)) ./ count))
end

"""
The velocity of the segments of a batch. Its type says nothing of the model, so that the solver is compiled once for all
models, with the package. Without `c` the targets are the last rows of the state.
"""
struct SegmentField
    model::Any
    c::Any
    drive::Any
end
(field::SegmentField)(u, θ, t) = as_type_of(u, segment_velocity(field.model, θ, u, field.c, field.drive, t))

segment_velocity(model, θ, u, c, drive, t) = velocity_or_carrying(model, θ, u, c, instant(drive, t))

"The velocity and its pullback to the states, with `pullback`, of a field whose type names no model."
evaluated(pullback, field::SegmentField, weights, u, t) =
    velocity_with(pullback, field.model, weights, u, field.c, field.drive, t)
function velocity_with(pullback, model, weights, u, c, drive, t)
    at = instant(drive, t)
    return pullback(u -> velocity_or_carrying(model, weights, u, c, at), u)
end

velocity_or_carrying(model, θ, u, c, at) = velocity(model, θ, u, c, at)
function velocity_or_carrying(model, θ, x, ::Nothing, at)
    u, c = split_off(model, x)
    return vcat(velocity(model, θ, u, c, at), zero(c))
end

"States and targets that are one array."
split_off(model, x) = (n = length(model.mean); (x[1:n, :], x[(n + 1):end, :]))

"The same in units of the states' standard deviations."
struct ScaledField
    field::SegmentField
end
(scaled::ScaledField)(u, θ, t) = as_type_of(u, scaled_velocity(scaled.field, θ, u, scaled.field.model.std, t))

scaled_velocity(field, θ, u, std, t) = field(u .* std, θ, t) ./ std

as_type_of(u, v) = v
as_type_of(u::Array{T, N}, v) where {T, N} = v::Array{T, N}

"The states `(n, S, k + 1)` put back on the manifold, as one batch."
function retract_saved(model, predicted, c, drive, grid)
    n, count, times = size(predicted)
    at = ignore_derivatives(() -> instant(of_trajectories(drive, repeat(1:count, times)), repeat(grid; inner = count)))
    targets = ndims(c) == 3 ? reshape(c, size(c, 1), :) : repeat(c, 1, times)
    u = put_back(model, reshape(predicted, n, :), at, targets)
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
    return without_collections(settings.adjoint, θ) do
        without_warnings() do
            loss, pullback = Zygote.pullback(θ -> batch_loss(model, θ, segments, settings, report), θ)
            worst, average = maximum(statuses), mean(steps)
            isfinite(loss) || return loss, fill!(similar(θ), NaN), worst, average
            loss, only(pullback(one(loss))), worst, average
        end
    end
end
