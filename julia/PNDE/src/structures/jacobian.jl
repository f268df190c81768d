# Constraint Jacobians as linear operators. The projection needs of G only G w, Gᵀy, the derivative of both, and a
# factor of its Gram matrix, so a Jacobian with structure is a subtype of `AbstractJacobian` with methods for these.

"""
    AbstractJacobian

G = ∂h/∂u of a batch of states with a structure that beats a dense array `(m, n, B)`.

A subtype gives `apply`, `transpose_apply`, `dense` and `cotangent`; a method of `factorise` makes it fast.
"""
abstract type AbstractJacobian end

"G of a batch: an array `(m, n, B)`, `(m, n, 1)` if all states share it, or an [`AbstractJacobian`](@ref)."
const Jacobian = Union{AbstractArray{<:Any, 3}, AbstractJacobian}

"W = M⁻¹ of a batch: `nothing`, diagonals `(n, B)`, or matrices `(n, n, B)`; B may be 1."
const InverseMetric = Union{Nothing, AbstractMatrix, AbstractArray{<:Any, 3}}

"""
    apply(G, w)

G w `(m, B)` of vectors w `(n, B)`.
"""
apply(G::AbstractArray{<:Any, 3}, w::AbstractMatrix) =
    reshape(batched_mul(G, reshape(w, size(w, 1), 1, size(w, 2))), size(G, 1), max(size(G, 3), size(w, 2)))

"""
    transpose_apply(G, y)

Gᵀy `(n, B)` of vectors y `(m, B)`.
"""
transpose_apply(G::AbstractArray{<:Any, 3}, y::AbstractMatrix) = apply(batched_transpose(G), y)

# Zygote's own cotangent of G would be a transpose that is not made, which a card's arrays are not added to.
function ChainRulesCore.rrule(::typeof(transpose_apply), G::AbstractArray{<:Any, 3}, y::AbstractMatrix)
    function transpose_apply_pullback(cotangent_of_x)
        x̅ = unthunk(cotangent_of_x)
        x̅ isa AbstractZero && return NoTangent(), ZeroTangent(), ZeroTangent()
        return NoTangent(), @thunk(summed(G, outer(y, x̅))), apply(G, x̅)
    end
    return transpose_apply(G, y), transpose_apply_pullback
end

"""
    dense(G)

G as an array `(m, n, B)`.
"""
dense(G::AbstractArray{<:Any, 3}) = G

"""
    cotangent(G, y, w, z, x)

The cotangent of G that belongs to -y wᵀ - z xᵀ of each state.
"""
cotangent(G::AbstractArray{<:Any, 3}, y, w, z, x) = summed(G, .-(in_rows(y) .* in_columns(w) .+ in_rows(z) .* in_columns(x)))

"Cotangents of each state as that of G, which all may share."
summed(G, G̅) = size(G, 3) == size(G̅, 3) ? G̅ : sum(G̅; dims = 3)

"y wᵀ `(m, n, B)` of each state."
outer(y, w) = in_rows(y) .* in_columns(w)
in_rows(y) = reshape(y, size(y, 1), 1, :)
in_columns(w) = reshape(w, 1, size(w, 1), :)

"W x `(n, B)`"
weigh(::Nothing, x) = x
weigh(W::AbstractMatrix, x) = W .* x
weigh(W::AbstractArray{<:Any, 3}, x) = apply(W, x)

"G W `(m, n, B)`"
weigh_columns(G, ::Nothing) = G
weigh_columns(G, W::AbstractMatrix) = G .* reshape(W, 1, size(W)...)
weigh_columns(G, W::AbstractArray{<:Any, 3}) = batched_mul(G, W)
