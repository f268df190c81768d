# Integration with the OrdinaryDiffEq solvers, with the state retracted onto the manifold.

"How a solve ended; the numbers are those of `pnde.engines.Status`."
@enum Status OK = 0 MAX_STEPS = 1 NON_FINITE = 2 LEFT_DOMAIN = 3 RANK_DEFICIENT = 4

"""
    Settings(; solver, rtol, atol, max_steps, step, retract, adjoint)

How an ODE is solved.

# Keywords

  - `solver`: an OrdinaryDiffEq algorithm, such as `Tsit5()`, `Vern9()` or `Rodas5P()`.
  - `rtol`, `atol`: tolerances; `step`: or a fixed step; `max_steps`: rejected ones included.
  - `retract`: `:step`, every accepted step and saved state is put back on the manifold (not in training); `:save`, saved
    states are; `:never`, as in the paper.
  - `adjoint`: a SciMLSensitivity algorithm for derivatives. The default integrates the gradient with the adjoint state,
    under the same tolerances; `GaussAdjoint` has it from a quadrature that no tolerance controls, which is off by 1e-5
    where a segment takes but a step or two.
"""
Base.@kwdef struct Settings{S, H, A}
    solver::S = Tsit5()
    rtol::Float64 = 1e-6
    atol::Float64 = 1e-6
    max_steps::Int = 100_000
    step::H = nothing
    retract::Symbol = :step
    adjoint::A = InterpolatingAdjoint(; autojacvec = ZygoteVJP())
end

"The keywords of `solve` that belong to the settings, for times of type T."
function options(settings::Settings, ::Type{T}) where {T}
    shared = (; maxiters = settings.max_steps)
    settings.step === nothing || return (; shared..., adaptive = false, dt = T(settings.step))
    return (; shared..., reltol = T(settings.rtol), abstol = T(settings.atol))
end

"How a solve ended is told by its status, so the solvers' warnings are not shown."
without_warnings(f) = with_logger(f, ConsoleLogger(stderr, Logging.Error))

"The retraction of each accepted step, the end at the border of the domain, or `nothing`."
function callbacks(retraction, domain, settings::Settings)
    every_step = retraction !== nothing && settings.retract === :step
    return CallbackSet(
        (every_step ? (retracting(retraction),) : ())..., (domain === nothing ? () : (leaving(domain),))...,
    )
end

function retracting(retraction)
    function affect!(integrator)
        integrator.u = retraction(integrator.u, integrator.t)
        # The stage that a first-same-as-last method carries over was evaluated just off the manifold, at a distance of
        # the local error; it is kept, for the difference is of the order of that error times the step.
        return u_modified!(integrator, false)
    end
    return DiscreteCallback((u, t, integrator) -> true, affect!; save_positions = (false, false))
end

leaving(domain) = DiscreteCallback((u, t, _) -> !domain(u), terminate!; save_positions = (false, false))

function status(solution, complete)
    code = solution.retcode
    code == ReturnCode.Terminated && return LEFT_DOMAIN
    code == ReturnCode.MaxIters && return MAX_STEPS
    return SciMLBase.successful_retcode(solution) && complete ? OK : NON_FINITE
end

"""
    Trajectories

States `u` `(n, T, B)` of B trajectories at T times, NaN from where one failed; and of each trajectory its `status`, the
`steps` of the solver, rejected ones included, and the `evaluations` of the vector field.
"""
struct Trajectories{T}
    u::Array{T, 3}
    status::Vector{Int8}
    steps::Vector{Int}
    evaluations::Vector{Int}
end

Trajectories{T}(n, times, count) where {T} =
    Trajectories(fill(T(NaN), n, times, count), zeros(Int8, count), zeros(Int, count), zeros(Int, count))

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
    complete = reached == size(out.u, 2) && all(isfinite, saved)
    out.status[b] = Int8(status(solution, complete))
    out.steps[b] = solution.stats.naccept + solution.stats.nreject
    out.evaluations[b] = solution.stats.nf
    return out
end

"""
    rollout(model, θ, u0, times, c, settings)

Solve the model from `u0` `(n, B)` with targets `c` `(m, B)`, each trajectory with steps of its own, saved at `times`
`(T, B)`.

# Returns

[`Trajectories`](@ref).
"""
function rollout(model::Model, θ, u0, times, c, settings::Settings)
    T = eltype(u0)
    out = Trajectories{T}(size(u0, 1), size(times, 1), size(u0, 2))
    without_warnings() do
        Threads.@threads for b in axes(u0, 2)
            rollout_one!(out, b, model, θ, u0[:, b:b], times[:, b], c[:, b:b], settings)
        end
    end
    return out
end

function rollout_one!(out, b, model, θ, u0, times, c, settings)
    law, projected = model.constraint, model.method isa Projected
    retraction(u, t) = retract(model.projection, law, model.metric, u, t, c)
    domain = law === nothing ? nothing : u -> all(indomain(law, u))
    problem = ODEProblem{false}((u, θ, t) -> velocity(model, θ, u, c, t), u0, (times[1], times[end]), θ)
    solution = solve(
        problem, settings.solver; saveat = times, callback = callbacks(projected ? retraction : nothing, domain, settings),
        options(settings, eltype(u0))...,
    )
    saved = saved_states(solution, times, domain)
    if projected && settings.retract !== :never
        for k in axes(saved, 2)
            saved[:, k:k] = retraction(saved[:, k:k], times[k])
        end
    end
    record!(out, b, solution, saved)
    if projected && rank_is_lost(model, saved, times)
        out.status[b] = Int8(RANK_DEFICIENT)
    end
    return out
end

"Whether G is singular to rounding at one of the states."
function rank_is_lost(model, u, times)
    reached = filter(k -> all(isfinite, view(u, :, k)), axes(u, 2))
    isempty(reached) && return false
    u, t = u[:, reached], times[reached]
    factor = factorise(model.projection, constraint_jacobian(model.constraint, u, t), inverse_metric(model.metric, u))
    return any(condition(factor) .< 16 * eps(eltype(u)))
end

"""
    integrate(rhs!, u0, times, settings, [law])

Solve u̇ = rhs(u, t), given as `rhs!(du, u, t)`, from `u0` `(n, B)`, saved at `times` `(T, B)`; on the manifold if a law is
given.

# Returns

[`Trajectories`](@ref).
"""
function integrate(rhs!, u0, times, settings::Settings, law = nothing)
    out = Trajectories{eltype(u0)}(size(u0, 1), size(times, 1), size(u0, 2))
    without_warnings() do
        for b in axes(u0, 2)
            integrate_one!(out, b, rhs!, u0[:, b], times[:, b], settings, law)
        end
    end
    return out
end

function integrate_one!(out, b, rhs!, u0, times, settings, law)
    as_matrix(u) = reshape(u, :, 1)
    c = law === nothing ? nothing : value(law, as_matrix(u0), times[1])
    retraction(u, t) = vec(retract(CholeskyProjection(), law, nothing, as_matrix(u), t, c))
    domain = law === nothing ? nothing : u -> all(indomain(law, as_matrix(u)))
    function field!(du, u, _, t)
        rhs!(du, u, t)
        return nothing
    end
    problem = ODEProblem{true}(field!, u0, (times[1], times[end]))
    # Interpolation is not accurate enough at the tolerances that truth is made with.
    solution = solve(
        problem, settings.solver; saveat = times, tstops = times,
        callback = callbacks(law === nothing ? nothing : retraction, domain, settings), options(settings, eltype(u0))...,
    )
    saved = saved_states(solution, times, domain)
    if law !== nothing && settings.retract !== :never
        for k in axes(saved, 2)
            saved[:, k] = retraction(saved[:, k], times[k])
        end
    end
    return record!(out, b, solution, saved)
end
