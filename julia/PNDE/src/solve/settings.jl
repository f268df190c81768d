# Integration with the OrdinaryDiffEq solvers, with the state retracted onto the manifold.

"""
The gradient of the steps of a training solve themselves (discretise, then optimise), for `Tsit5()` and `Vern9()`; see
[`solve_stored`](@ref).
"""
struct StoredSteps end

"How a solve ended; the numbers are those of `pnde.engines.Status`."
@enum Status OK = 0 MAX_STEPS = 1 NON_FINITE = 2 LEFT_DOMAIN = 3 RANK_DEFICIENT = 4 OFF_MANIFOLD = 5 INFEASIBLE = 6

"""
    Settings(; solver, rtol, atol, max_steps, step, retract, adjoint)

How an ODE is solved.

# Keywords

  - `solver`: an OrdinaryDiffEq algorithm, such as `Tsit5()`, `Vern9()` or `Rodas5P()`.
  - `rtol`, `atol`: tolerances, of a model's states the absolute one in units of its `std`; `step`: or a fixed step; `max_steps`: rejected ones included.
  - `retract`: `:step`, every accepted step and saved state is put back on the manifold; `:save`, saved
    states are; `:never`, as in the paper.
  - `adjoint`: how a training has its gradient, by default [`StoredSteps`](@ref), else by an adjoint equation of
    SciMLSensitivity. `InterpolatingAdjoint` integrates the gradient with the adjoint state, under the same tolerances;
    `GaussAdjoint` has it from a quadrature that no tolerance controls, which is off by 1e-5 where a segment takes but a step
    or two.
"""
Base.@kwdef struct Settings{S, H, A}
    solver::S = Tsit5()
    rtol::Float64 = 1e-6
    atol::Float64 = 1e-6
    max_steps::Int = 100_000
    step::H = nothing
    retract::Symbol = :step
    adjoint::A = StoredSteps()
end

"The settings with some of them changed."
changed(settings::Settings; options...) = Settings(; (name => getfield(settings, name) for name in fieldnames(Settings))..., options...)

"The keywords of `solve` that belong to the settings, for times of type T and states whose unit is `scale`."
function options(settings::Settings, ::Type{T}, scale = one(T)) where {T}
    shared = (; maxiters = settings.max_steps)
    settings.step === nothing || return (; shared..., adaptive = false, dt = T(settings.step))
    return (; shared..., reltol = T(settings.rtol), abstol = T(settings.atol) .* scale)
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

"How a solve ended, of whose states some may be `cut` off, for they are outside the domain."
function status(solution, finite, cut = false)
    code = solution.retcode
    code == ReturnCode.Terminated && return LEFT_DOMAIN
    code == ReturnCode.MaxIters && return MAX_STEPS
    SciMLBase.successful_retcode(solution) && finite || return NON_FINITE
    return cut ? LEFT_DOMAIN : OK
end
