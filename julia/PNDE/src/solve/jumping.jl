# Where an input jumps, the manifold does too: a solve ends there, the state is put on the new manifold, and another begins.

"""
    Jump(fixed, free)

What becomes of a law's targets, and of the states, where an input that it takes jumps.

# Arguments

  - `fixed`: which rows have a fixed target `(m,)`, that is met again; those of the others become what h is after the jump.
  - `free`: 1 for each state that may jump, else 0 `(n,)`; `nothing` if all may.
"""
struct Jump
    fixed::Vector{Bool}
    free::Union{Nothing, Vector{Float64}}
end

"""
    after_jump(model, jump, u, at, c)

States and targets just after a jump of the inputs, which at `at` are what they are then.

Rows with a fixed target are met by the states that may jump, by Newton's method. Unlike a retraction, which starts at rounding
from the manifold, this moves far, so its derivative is that of all its steps.
"""
after_jump(model, ::Nothing, u, at, c) = u, c
function after_jump(model, jump::Jump, u, at, c)
    model.method isa NDE && return u, c  # which knows no law
    law, rows = model.constraint, ignore_derivatives(() -> findall(jump.fixed))
    all_fixed = length(rows) == length(jump.fixed)
    for _ in 1:(isempty(rows) ? 0 : 12)
        G, g = constraint_jacobian(law, u, at), value(law, u, at) .- c
        W = restricted(inverse_metric(model.metric, u), jump.free, u)
        u = u .- (all_fixed ? minimum_norm(model.projection, G, g, W) : minimum_norm(model.projection, dense(G)[rows, :, :], g[rows, :], W))
    end
    all_fixed && return u, c
    fixed = ignore_derivatives(() -> placed_like(u, jump.fixed))
    return u, ifelse.(fixed, c, value(law, u, at))
end

"W of movements in which only the states with a 1 in `free` take part."
restricted(W, ::Nothing, u) = W
restricted(::Nothing, free::AbstractVector, u) = ignore_derivatives(() -> reshape(cast(free, u), :, 1))
restricted(W::AbstractMatrix, free::AbstractVector, u) = W .* ignore_derivatives(() -> cast(free, u))
function restricted(W::AbstractArray{<:Any, 3}, free::AbstractVector, u)
    at = ignore_derivatives(() -> findall(!iszero, free))
    block = batched_inverse(batched_inverse(W)[at, at, :])
    unit = ignore_derivatives(() -> cast(reshape(Matrix(1.0I, length(free), length(free))[:, at], length(free), length(at), 1), u))
    return batched_mul(batched_mul(unit, block), batched_transpose(unit))
end
