# The projection p = v - W Gᵀλ with (G W Gᵀ) λ = G v + b (paper, Eq. 11-12 and Appendix A), and its derivative.
#
# With v' = v̇ - (W Gᵀ)˙ λ and b' = ḃ + Ġ p the derivative of the pair (p, λ) is the pair that belongs to (v', b'):
#
#     ṗ = v' - W Gᵀλ̇,     S λ̇ = G v' + b',     S = G W Gᵀ.
#
# Its transpose is the paper's backward pass (Eq. 13-15), extended by the metric and the offset:
#
#     S μ = G W p̅,   v̅ = p̅ - Gᵀμ,   G̅ = -μ pᵀ - λ (W v̅)ᵀ,   b̅ = -μ,   W̅ = -v̅ (Gᵀλ)ᵀ.
#
# So no derivative ever passes through a factorisation, and the factor is computed once.

"How the Gram matrix G W Gᵀ is factored."
abstract type AbstractProjection end

"""
    CholeskyProjection()

Factor the Gram matrix of the row-scaled G. The fastest; its error grows with κ(G)².
"""
struct CholeskyProjection <: AbstractProjection end

"""
    QRProjection()

Factor Gᵀ = Q R and apply Q, so that the error of p grows with κ(G). (The paper's Appendix C uses R alone, the semi-normal
equations, whose error can still grow with κ².)
"""
struct QRProjection <: AbstractProjection end

"""
    TruncatedProjection()

Leave out the singular values of G at rounding level: for laws whose rows are dependent.

# References

Golub and Pereyra (1973), The differentiation of pseudo-inverses: the rule above is the derivative at constant rank, with
the pseudo-inverse of S in the place of S⁻¹.
"""
struct TruncatedProjection <: AbstractProjection end

"""
    project([algorithm], G, v, [offset, W])

The velocities nearest to `v`, in the metric M = W⁻¹, with G p = -offset: p = v - W Gᵀλ, (G W Gᵀ) λ = G v + offset.

# Arguments

  - `algorithm`: [`CholeskyProjection`](@ref) (default), [`QRProjection`](@ref) or [`TruncatedProjection`](@ref).
  - `G`: constraint Jacobians, an array `(m, n, B)` or an [`AbstractJacobian`](@ref).
  - `v`: ambient velocities `(n, B)`.
  - `offset`: ∂h/∂t + (∂h/∂w) ẇ `(m, B)` of a law that depends on time or inputs, or `nothing`.
  - `W`: inverse metric; see [`InverseMetric`](@ref).

# Returns

p `(n, B)`; NaN for a state whose Gram matrix `algorithm` cannot factor, see [`condition`](@ref).

# References

Projected Neural Differential Equations, Eq. 11-15 and Appendices A-C.
"""
project(G::Jacobian, v, offset = nothing, W = nothing) = project(CholeskyProjection(), G, v, offset, W)
project(algorithm::AbstractProjection, G, v) = project(algorithm, G, v, nothing, nothing)
project(algorithm::AbstractProjection, G, v, offset) = project(algorithm, G, v, offset, nothing)

function project(algorithm::AbstractProjection, G, v, offset, W)
    return first(decompose(factorise(algorithm, G, W), G, v, offset, W))
end

"""
    minimum_norm(algorithm, G, b, W)

The smallest x `(n, B)`, in the metric M = W⁻¹, with G x = b: x = W Gᵀ S⁻¹ b.
"""
minimum_norm(algorithm, G, b, W) = -project(algorithm, G, no_velocity(G, b), b, W)

no_velocity(G::AbstractArray, b) = zeros_like(b, size(G, 2), size(b, 2))
@non_differentiable no_velocity(::Any, ::Any)

function ChainRulesCore.rrule(::typeof(project), algorithm::AbstractProjection, G, v, offset, W)
    factor = factorise(algorithm, G, W)
    p, λ = decompose(factor, G, v, offset, W)
    function project_pullback(cotangent_of_p)
        p̅ = unthunk(cotangent_of_p)
        p̅ isa AbstractZero && return ntuple(Returns(ZeroTangent()), 6)
        Wv̅, μ = decompose(factor, G, weigh(W, p̅), nothing, W)
        v̅ = W === nothing ? Wv̅ : p̅ .- transpose_apply(G, μ)
        G̅ = cotangent(G, μ, p, λ, Wv̅)
        b̅ = offset === nothing ? NoTangent() : -μ
        W̅ = W === nothing ? NoTangent() : cotangent_of_metric(W, v̅, transpose_apply(G, λ))
        return NoTangent(), NoTangent(), G̅, v̅, b̅, W̅
    end
    return p, project_pullback
end

function ChainRulesCore.frule(tangents::Tuple, ::typeof(project), algorithm::AbstractProjection, G, v, offset, W)
    _, _, Ġ, v̇, ḃ, Ẇ = tangents
    factor = factorise(algorithm, G, W)
    p, λ = decompose(factor, G, v, offset, W)
    velocity = v̇ isa AbstractZero ? zero(v) : v̇
    change = ḃ isa AbstractZero ? zero(λ) : ḃ
    if !(Ġ isa AbstractZero)
        Ġ = tangent_operator(G, unthunk(Ġ))
        velocity = velocity .- weigh(W, transpose_apply(Ġ, λ))
        change = change .+ apply(Ġ, p)
    end
    if !(Ẇ isa AbstractZero)
        velocity = velocity .- weigh(unthunk(Ẇ), transpose_apply(G, λ))
    end
    return p, first(decompose(factor, G, velocity, change, W))
end

"The tangent of G as an operator."
tangent_operator(::AbstractArray, Ġ) = Ġ

function cotangent_of_metric(W::AbstractMatrix, v̅, Gλ)
    W̅ = -(v̅ .* Gλ)
    return size(W, 2) == size(W̅, 2) ? W̅ : sum(W̅; dims = 2)
end
function cotangent_of_metric(W::AbstractArray{<:Any, 3}, v̅, Gλ)
    W̅ = -outer(v̅, Gλ)
    return size(W, 3) == size(W̅, 3) ? W̅ : sum(W̅; dims = 3)
end

"""
    factorise(algorithm, G, W)

The factor of S = G W Gᵀ of each state.
"""
factorise(algorithm::AbstractProjection, G::AbstractJacobian, W) = factorise(algorithm, dense(G), W)

"""
    decompose(factor, G, v, offset, W)

The p `(n, B)` and λ `(m, B)` with v = p + W Gᵀλ and G p = -offset.
"""
function decompose(factor, G, v, offset, W)
    λ = solve!(factor, with_offset(apply(G, v), offset))
    return v .- weigh(W, transpose_apply(G, λ)), λ
end

with_offset(b, ::Nothing) = b
with_offset(b, offset) = b .+ offset

"""
    condition(factor)

An estimate `(B,)` of 1/κ of the matrices that were factored; 0 where that failed.
"""
condition(factor) = (x -> ifelse(isfinite(x), x, zero(x))).(vec(reciprocal_condition(factor)))

"The smallest over the largest pivot."
ratio(pivots) = minimum(pivots; dims = 1) ./ maximum(pivots; dims = 1)

"S of a law with one row is a number."
struct Division{S}
    s::S
end

solve!(factor::Division, b) = b ./= factor.s
reciprocal_condition(factor::Division) = ifelse.(factor.s .> 0, one(eltype(factor.s)), zero(eltype(factor.s)))

"S = D⁻¹ L Lᵀ D⁻¹, with D scaling the rows of G to length one, which is exact and costs nothing."
struct CholeskyFactor{L, D}
    lower::L
    scale::D
end

function factorise(::CholeskyProjection, G::AbstractArray{<:Any, 3}, W)
    GW = weigh_columns(G, W)
    size(G, 1) == 1 && return Division(reshape(sum(GW .* G; dims = 2), 1, :))
    S = batched_mul(GW, batched_transpose(G))
    # S is smaller than G, and scaled in its place.
    scale = inverse_norm.(diagonals(S))
    S .*= in_rows(scale) .* in_columns(scale)
    return CholeskyFactor(cholesky_batched!(S), scale)
end

reciprocal_condition(factor::CholeskyFactor) = ratio(diagonals(factor.lower)) .^ 2

solve!(factor::CholeskyFactor, b) = scaled!(factor.scale, cholesky_solve!(factor.lower, scaled!(factor.scale, b)))
scaled!(scale, b) = b .*= scale

"C ᵀGᵀD = Q Lᵀ with W = C Cᵀ."
struct QRFactor{Q, L, D, C}
    q::Q
    lower::L
    scale::D
    root::C
end

function factorise(::QRProjection, G::AbstractArray{<:Any, 3}, W)
    size(G, 1) == 1 && return factorise(CholeskyProjection(), G, W)
    rows, scale, root = scaled_rows(G, W)
    return QRFactor(orthonormalise(permutedims(rows, (2, 1, 3)))..., scale, root)
end

reciprocal_condition(factor::QRFactor) = ratio(diagonals(factor.lower))

function decompose(factor::QRFactor, G, v, offset, W)
    # In z = C⁻¹v the projection is Euclidean.
    y = transpose_apply(factor.q, root_solve(factor.root, v))
    if offset !== nothing
        y = y .+ lower_solve!(factor.lower, factor.scale .* offset)
    end
    p = v .- weigh(factor.root, apply(factor.q, y))
    return p, scaled!(factor.scale, upper_solve!(factor.lower, y))
end

"CᵀGᵀD = U Σ Vᵀ, with the inverse of Σ zero where Σ is at rounding level."
struct TruncatedFactor{U, V, S, D, C, R}
    basis::U
    right::V
    inverse::S
    scale::D
    root::C
    rcond::R
end

function factorise(::TruncatedProjection, G::AbstractArray{T, 3}, W) where {T}
    rows, scale, root = scaled_rows(G, W)
    UΣ, V = jacobi_svd(permutedims(rows, (2, 1, 3)))
    σ = sqrt.(sum(abs2, UΣ; dims = 1))
    largest = maximum(σ; dims = 2)
    kept = σ .> maximum(size(G)[1:2]) * eps(T) .* largest
    inverse = ifelse.(kept, 1 ./ ifelse.(kept, σ, one(T)), zero(T))
    # What is left after truncation is what the solves see.
    smallest = minimum(ifelse.(kept, σ, largest); dims = 2)
    rcond = ifelse.(largest .> 0, smallest ./ ifelse.(largest .> 0, largest, one(T)), one(T))
    return TruncatedFactor(UΣ .* inverse, V, reshape(inverse, size(G, 1), :), scale, root, vec(rcond))
end

reciprocal_condition(factor::TruncatedFactor) = factor.rcond

function decompose(factor::TruncatedFactor, G, v, offset, W)
    y = transpose_apply(factor.basis, root_solve(factor.root, v))
    if offset !== nothing
        y = y .+ factor.inverse .* transpose_apply(factor.right, factor.scale .* offset)
    end
    p = v .- weigh(factor.root, apply(factor.basis, y))
    return p, factor.scale .* apply(factor.right, factor.inverse .* y)
end

"1/√x, and 1 where x is zero."
inverse_norm(x) = ifelse(x > 0, 1 / sqrt(ifelse(x > 0, x, one(x))), one(x))

"The rows of G C scaled to length one `(m, n, B)`, their scales `(m, B)`, and C, with W = C Cᵀ."
function scaled_rows(G, W)
    root = square_root(W)
    rows = weigh_columns(G, root)
    scale = inverse_norm.(sum(abs2, rows; dims = 2))
    return scale .* rows, reshape(scale, size(G, 1), :), root
end

square_root(::Nothing) = nothing
square_root(W::AbstractMatrix) = sqrt.(W)
square_root(W::AbstractArray{<:Any, 3}) = cholesky_batched!(copy(W))

root_solve(::Nothing, x) = x
root_solve(root::AbstractMatrix, x) = x ./ root
root_solve(root::AbstractArray{<:Any, 3}, x) = lower_solve!(root, copy(x))
