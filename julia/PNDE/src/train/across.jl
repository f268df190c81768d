# A segment of training whose inputs jump: one solve from each jump to the next.

"""
[`predict`](@ref) for one segment with inputs that jump at the times `jumps`. Targets that are set anew at a jump depend on the
weights, so they are carried along with the state where the law has a [`Jump`](@ref).
"""
function predict_across(model, θ, segments, settings, jumps)
    (; u, c, drive, grid) = segments
    u0 = u[:, 1, :]
    carries = drive.jump !== nothing
    states, ended, steps = from_jump_to_jump(model, θ, carries ? vcat(u0, c) : u0, carries ? nothing : c, drive, grid, settings, grid[1], jumps)
    n = length(model.mean)
    return states[1:n, :, :], carries ? states[(n + 1):end, :, :] : c, ended, steps
end

"The states at those times of the grid that are not before `begins`; see [`predict_across`](@ref)."
function from_jump_to_jump(model, θ, x, c, drive, grid, settings, begins, jumps)
    final = isempty(jumps)
    ends = final ? grid[end] : jumps[1]
    here = ignore_derivatives(() -> filter(s -> begins <= s && (final || s < ends), grid))
    if begins < ends
        times = ignore_derivatives(() -> unique([begins; here; ends]))
        kept = ignore_derivatives(() -> findall(in(here), times))
        field = SegmentField(model, c, final ? drive : up_to(drive, ends))
        solved, ended, steps = solve_stored(
            field, x, θ, times, carrying(settings, x, model), unit(model, x), retraction_across(model, c, field.drive, settings),
        )
        states, last = solved[:, :, kept], solved[:, :, end]
    else
        states, last, ended, steps = reshape(x, size(x)..., 1), x, OK, 0
    end
    (final || ended != OK) && return states, ended, steps
    at = instant(drive, ends)
    after = c === nothing ? vcat(after_jump(model, drive.jump, split_off(model, last)[1], at, split_off(model, last)[2])...) : last
    left = ignore_derivatives(() -> changed(settings; max_steps = settings.max_steps - steps))
    later, ended, more = from_jump_to_jump(model, θ, after, c, drive, grid, left, ends, jumps[2:end])
    return cat(states, later; dims = 3), ended, steps + more
end

# Targets that are carried do not change within a solve, and have no part in the errors of its steps: their unit is infinite,
# and tolerances are tighter by what the mean over more rows is smaller.
unit(model, x) = ignore_derivatives() do
    std = reshape(model.std, :, 1)
    vcat(std, fill!(similar(std, size(x, 1) - length(std), 1), Inf))
end
carrying(settings, x, model) = ignore_derivatives() do
    factor = sqrt(length(model.std) / size(x, 1))
    changed(settings; rtol = factor * settings.rtol, atol = factor * settings.atol)
end

retraction_across(model, c, drive, settings) = retraction(model, c, drive, settings)
function retraction_across(model, ::Nothing, drive, settings)
    model.method isa Projected && settings.retract === :step || return nothing
    return function (x, t)
        u, c = split_off(model, x)
        return vcat(put_back(model, u, instant(drive, t), c), c)
    end
end
