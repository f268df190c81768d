# The velocity nearest to a given one that keeps a law and stays within bounds:
#
#     minimise ‖p - v‖_M   with   G p = -b   and   lo ≤ A p ≤ hi.
#
# At the solution some rows of A are at a bound. With these joined to G it is the projection of project.jl, and so is its
# derivative: the same one linear system, where no row is about to act or to let go.

"""
    project_within(algorithm, G, A, v, offset, lo, hi, W)

The velocities nearest to `v`, in the metric M = W⁻¹, with G p = -offset and lo ≤ A p ≤ hi.

# Arguments

  - `G`, `offset`, `W`, `algorithm`: as those of [`project`](@ref); `nothing` for G where there is no law.
  - `A`: the rows of inequalities; `lo` ≤ `hi` `(m, B)`: infinite where there is no bound.

# Returns

p `(n, B)`; of rows that contradict one another, or the law, as many as can be kept.
"""
project_within(algorithm::AbstractProjection, G, A, v, offset, lo, hi, W) = within(algorithm, G, A, v, offset, lo, hi, W).p

"What a multiplier 1 of each row changes: velocities `(n, m, B)`, the law's multipliers `(r, m, B)`, and rows, K `(m, m, B)`."
struct Moves{V, L, K, N}
    velocity::V
    multipliers::L
    gram::K
    "The diagonal of A W Aᵀ `(m, B)`."
    norms::N
end

"`m`: how many rows A has; `v`: velocities `(n, B)`, as an example."
function Moves(factor, G, A, W, m, v)
    unit(k) = (y = zeros_like(v, m, size(v, 2)); y[k:k, :] .= one(eltype(v)); y)
    parts = map(1:m) do k
        pushed = weigh(W, transpose_apply(A, unit(k)))
        velocity, multipliers = of_law(factor, G, pushed, nothing, W)
        velocity, multipliers, apply(A, velocity), apply(A, pushed)[k:k, :]
    end
    columns(j) = reduce(hcat, map(part -> reshape(part[j], size(part[j], 1), 1, size(v, 2)), parts))
    gram = columns(3)
    half = one(eltype(v)) / 2
    return Moves(columns(1), columns(2), half .* (gram .+ permutedims(gram, (2, 1, 3))), reduce(vcat, last.(parts)))
end

"The factor of a law's S, with the rows of inequalities that act eliminated behind it; no `moves` where none acts."
struct JointFactor{F, M, I}
    factor::F
    moves::M
    inverse::I
end

"[`decompose`](@ref) by the law, if there is one."
of_law(factor, G, v, offset, W) = decompose(factor, G, v, offset, W)
of_law(::Nothing, ::Nothing, v, offset, W) = v, zeros_like(v, 0, size(v, 2))

factor_of_law(algorithm, ::Nothing, W) = nothing
factor_of_law(algorithm, G, W) = factorise(algorithm, G, W)

"p, and the multipliers of the law and of the rows of A, of which those that act have A p = `target`."
function decompose(joint::JointFactor, G, A, v, offset, target, W)
    (; factor, moves, inverse) = joint
    p, λ = of_law(factor, G, v, offset, W)
    moves === nothing && return p, λ, zero(target)
    miss = apply(A, p) .- target
    μ = apply(inverse, miss)
    μ = μ .+ apply(inverse, miss .- apply(moves.gram, μ))  # what rounding left
    return p .- apply(moves.velocity, μ), λ .- apply(moves.multipliers, μ), μ
end

"Everything that [`project_within`](@ref) finds: p, multipliers, which rows act, and of which states all can be kept."
function within(algorithm, G, A, v, offset, lo, hi, W)
    factor = factor_of_law(algorithm, G, W)
    p, λ = of_law(factor, G, v, offset, W)
    y = apply(A, p)
    # Most batches have no state at a bound: what it takes to find the rows that act is spared then.
    if !any((y .< lo) .| (y .> hi))
        none = fill!(similar(y, Bool), false)
        joint = JointFactor(factor, nothing, nothing)
        return (; p, λ, μ = zero(y), joint, rows = none, upper = none, feasible = fill(true, size(y, 2)))
    end
    moves = Moves(factor, G, A, W, size(lo, 1), v)
    scale = maximum(lengths(v, W); dims = 1) .+ maximum(lengths(p, W); dims = 1)
    rounding = 8 * eps(eltype(y)) .* (abs.(y) .+ sqrt.(moves.norms) .* scale)
    rows, upper, inverse, feasible = active_rows(moves.gram, y, lo, hi, moves.norms, rounding)
    joint = JointFactor(factor, moves, inverse)
    target = ifelse.(rows, ifelse.(upper, hi, lo), zero(eltype(y)))
    p, λ, μ = decompose(joint, G, A, v, offset, target, W)
    return (; p, λ, μ, joint, rows, upper, feasible)
end

"How long each entry of a velocity is in the metric, at most."
lengths(v, ::Nothing) = abs.(v)
lengths(v, W::AbstractMatrix) = abs.(v) ./ sqrt.(W)
lengths(v, W::AbstractArray{<:Any, 3}) = abs.(v) ./ sqrt.(diagonals(W))

function ChainRulesCore.rrule(::typeof(project_within), algorithm::AbstractProjection, G, A, v, offset, lo, hi, W)
    (; p, λ, μ, joint, rows, upper) = within(algorithm, G, A, v, offset, lo, hi, W)
    function project_within_pullback(cotangent_of_p)
        p̅ = unthunk(cotangent_of_p)
        p̅ isa AbstractZero && return ntuple(Returns(ZeroTangent()), 9)
        Wv̅, λ̅, μ̅ = decompose(joint, G, A, weigh(W, p̅), nothing, zero(μ), W)
        v̅ = W === nothing ? Wv̅ : p̅ .- pushed_back(G, A, λ̅, μ̅)
        G̅ = G === nothing ? NoTangent() : cotangent(G, λ̅, p, λ, Wv̅)
        A̅ = joint.moves === nothing ? ZeroTangent() : cotangent(A, μ̅, p, μ, Wv̅)
        b̅ = offset === nothing ? NoTangent() : -λ̅
        none = zero(eltype(μ̅))
        lo̅, hi̅ = ifelse.(rows .& .!upper, μ̅, none), ifelse.(rows .& upper, μ̅, none)
        W̅ = W === nothing ? NoTangent() : cotangent_of_metric(W, v̅, pushed_back(G, A, λ, μ))
        return NoTangent(), NoTangent(), G̅, A̅, v̅, b̅, lo̅, hi̅, W̅
    end
    return p, project_within_pullback
end

"Gᵀλ + Aᵀμ"
pushed_back(::Nothing, A, λ, μ) = transpose_apply(A, μ)
pushed_back(G, A, λ, μ) = transpose_apply(G, λ) .+ transpose_apply(A, μ)

# Bounds of states by themselves: nothing couples them in such a metric.
const Uncoupled = Union{Nothing, AbstractMatrix}

project_within(::AbstractProjection, ::Nothing, A::Selection, v, offset, lo, hi, W::Uncoupled) = first(cut_off(A, v, lo, hi))

function within(::AbstractProjection, ::Nothing, A::Selection, v, offset, lo, hi, W::Uncoupled)
    p, below, above = cut_off(A, v, lo, hi)
    return (; p, rows = below .| above, upper = above, feasible = fill(true, size(v, 2)))
end

"v within its bounds, and which rows below and above act on it."
function cut_off(A::Selection, v, lo, hi)
    p, below, above = copy(v), fill!(similar(lo, Bool), false), fill!(similar(lo, Bool), false)
    own = v[A.columns, :]
    for (k, column) in enumerate(A.columns)
        # Of several rows of one state the last that goes farther acts.
        low, high = lo[k:k, :], hi[k:k, :]
        now = p[column:column, :]
        up, down = (own[k:k, :] .< low) .& (now .< low), (own[k:k, :] .> high) .& (now .> high)
        p[column:column, :] = ifelse.(up, low, ifelse.(down, high, now))
        others = findall(==(column), A.columns[1:(k - 1)])
        for before in others
            below[before:before, :] .&= .!up
            above[before:before, :] .&= .!down
        end
        below[k:k, :] = up
        above[k:k, :] = down
    end
    return p, below, above
end

function ChainRulesCore.rrule(
        ::typeof(project_within), ::AbstractProjection, ::Nothing, A::Selection, v, offset, lo, hi, W::Uncoupled,
    )
    p, below, above = cut_off(A, v, lo, hi)
    function cut_off_pullback(cotangent_of_p)
        p̅ = unthunk(cotangent_of_p)
        p̅ isa AbstractZero && return ntuple(Returns(ZeroTangent()), 9)
        own, none = apply(A, p̅), zero(eltype(p̅))
        lo̅, hi̅ = ifelse.(below, own, none), ifelse.(above, own, none)
        v̅ = p̅ .- transpose_apply(A, lo̅ .+ hi̅)
        return NoTangent(), NoTangent(), NoTangent(), NoTangent(), v̅, NoTangent(), lo̅, hi̅, NoTangent()
    end
    return p, cut_off_pullback
end

"""
    bounded_velocity(algorithm, law, bounds, metric, u, v, at)

The velocities nearest to v, in the metric, that keep the law, if there is one, and the bounds.
"""
bounded_velocity(algorithm, law, bounds, metric, u, v, at) =
    project_within(algorithm, bounded_problem(law, bounds, metric, u, v, at)...)

"Of which states `(B,)` there is a velocity that keeps the law and the bounds."
can_be_kept(algorithm, law, bounds, metric, u, at) =
    within(algorithm, bounded_problem(law, bounds, metric, u, zero(u), at)...).feasible

function bounded_problem(law, bounds, metric, u, v, at)
    G, offset = law === nothing ? (nothing, nothing) : (constraint_jacobian(law, u, at), drift(law, u, at))
    return (G, constraint_jacobian(bounds.rows, u, at), v, offset, limits(bounds, u, at)..., inverse_metric(metric, u))
end
