# Transients of a differential-algebraic system.

"""
    ambient_forcing(system, push; τ = 0.2)

Consistent states `(n, B)`: the operation point, pushed by the constant vectors `push` `(n, B)` along the manifold of the
algebraic rows for a pseudo-time τ, du/ds = (I - Jᵀ(JJᵀ)⁻¹J) push. What is an input has its usual value.

# References

Büttner et al. (2022), Ambient forcing.
"""
function ambient_forcing(system::DifferentialAlgebraic, push; τ = 0.2)
    law = AlgebraicRows(with_inputs(system, String[]))
    start = repeat(system.operation_point, 1, size(push, 2))
    out = push_along(law, start, push, τ, Settings(; rtol = 1.0e-9, atol = 1.0e-9)).u[:, 2, :]
    return retract(CholeskyProjection(), law, nothing, out, 0.0, zeros(count(!, system.moving), size(push, 2)))
end

"""
    simulate(system, u0, times; drive, settings)

The truth from consistent states `u0` `(n, B)`, saved at `times` `(T,)`, by a Rosenbrock method on the mass matrix. Saved
states are put back on the manifold of the algebraic rows, which the method keeps to its tolerance.

# Keywords

  - `drive`: a [`Drive`](@ref), of a system with inputs. No step goes across a jump: there, and at the start, the states
    without a derivative are solved for anew, and the others stay.

# Returns

[`Trajectories`](@ref).
"""
function simulate(
        system::DifferentialAlgebraic, u0, times; drive = fill(times[1], size(u0, 2)),
        settings = Settings(; solver = Rodas5P(), rtol = 1.0e-9, atol = 1.0e-9),
    )
    out, law = Trajectories{Float64}(size(u0, 1), length(times), size(u0, 2)), AlgebraicRows(system)
    without_warnings() do
        for b in axes(u0, 2)
            simulate_one!(out, b, law, u0[:, b:b], times .- times[1], of_trajectories(drive, b), settings)
        end
    end
    return out
end

function simulate_one!(out, b, law, u, elapsed, drive, settings)
    begins, c = elapsed[1], zeros(law.pattern.size[1], 1)
    isempty(law.system.inputs) || (u = with_new_algebraic_states(law, u, instant(drive, begins)))
    for ends in [jumps_between(drive, begins, elapsed[end])..., nothing]
        piece = ends === nothing ? drive : up_to(drive, ends)
        positions, missed, wanted = saved_between(elapsed, begins, ends)
        saved, ended = repeat(u, 1, length(wanted)), all(isfinite, u) ? OK : NON_FINITE
        if wanted[end] > wanted[1]
            kinks = kinks_between(drive, wanted[1], wanted[end])
            # The states are consistent already.
            solution = solve(
                ODEProblem(right_hand_side(law.system, piece), vec(u), (wanted[1], wanted[end])), settings.solver;
                saveat = wanted, tstops = [wanted; kinks...], initializealg = NoInit(), options(settings, Float64)...,
            )
            saved = saved_states(solution, wanted)
            count!(out, b, solution)
            ended = status(solution, all(isfinite, saved))
        end
        saved = retract(CholeskyProjection(), law, nothing, saved, instants(piece, wanted[axes(saved, 2)]), c)
        reached = min(size(saved, 2) - missed, length(positions))
        out.u[:, positions[1:reached], b] .= saved[:, missed .+ (1:reached)]
        out.status[b] = Int8(ended)
        (ended == OK && ends !== nothing) || return out
        u, begins = with_new_algebraic_states(law, saved[:, end:end], instant(drive, ends)), ends
        if !all(is_on_manifold(law, u, instant(drive, ends), c))
            out.status[b] = Int8(OFF_MANIFOLD)
            return out
        end
    end
    return out
end

"f with its mass matrix, as a function of the clock of one trajectory."
function right_hand_side(system, drive)
    at(s) = at_state(instant(drive, s), 1)
    function f!(du, u, _, s)
        now = at(s)
        system.f!(du, u, parameters_at(system, now), given(now, :t))
        return nothing
    end
    function tgrad!(change, u, _, s)
        change .= ForwardDiff.derivative(s -> velocities(system, u, at(s)), s)
        return nothing
    end
    mass_matrix = Diagonal(Float64.(system.moving))
    return ODEFunction{true}(f!; mass_matrix, tgrad = tgrad!, jac_prototype = Float64.(system.pattern))
end

"States whose inputs have become others: those without a derivative are solved for by Newton's method."
function with_new_algebraic_states(law, u, at)
    W = reshape(Float64.(.!law.system.moving), :, 1)
    for _ in 1:30
        step = minimum_norm(CholeskyProjection(), constraint_jacobian(law, u, at), value(law, u, at), W)
        u = u .- step
        largest(step)[1] <= 1.0e-14 * largest(u)[1] && break
    end
    return u
end
