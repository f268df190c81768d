"""
    SparseJacobian(pattern, values)

G of a law whose rows know few of the states: the entries that are not zero by construction.

# Arguments

  - `pattern`: a `SparseMatrixCSC` `(m, n)`; only its structure counts.
  - `values`: the entries of each state `(entries, B)`, in the order of the pattern.
"""
struct SparseJacobian{V <: AbstractMatrix} <: AbstractJacobian
    pattern::SparseMatrixCSC{Bool, Int}
    values::V
end

"Rows and columns of the entries."
places(G::SparseJacobian) = (rowvals(G.pattern), columns(G.pattern))
columns(pattern) = reduce(vcat, (fill(j, length(nzrange(pattern, j))) for j in axes(pattern, 2)); init = Int[])

no_velocity(G::SparseJacobian, b) = zeros_like(b, size(G.pattern, 2), size(b, 2))

apply(G::SparseJacobian, w::AbstractMatrix) = gathered(size(G.pattern, 1), places(G)..., G.values, w)
transpose_apply(G::SparseJacobian, y::AbstractMatrix) = gathered(size(G.pattern, 2), reverse(places(G))..., G.values, y)

"Σ values w[from] at each place `to` `(length, B)`."
function gathered(length, to, from, values, w)
    out = zeros(promote_type(eltype(values), eltype(w)), length, size(w, 2))
    for b in axes(w, 2), k in eachindex(to)
        out[to[k], b] += values[k, b] * w[from[k], b]
    end
    return out
end

function dense(G::SparseJacobian)
    rows, cols = places(G)
    out = zeros(eltype(G.values), size(G.pattern)..., size(G.values, 2))
    for b in axes(out, 3), k in eachindex(rows)
        out[rows[k], cols[k], b] = G.values[k, b]
    end
    return out
end

function cotangent(G::SparseJacobian, y, w, z, x)
    rows, cols = places(G)
    values = @views -(y[rows, :] .* w[cols, :] .+ z[rows, :] .* x[cols, :])
    return Tangent{typeof(G)}(; values)
end

tangent_operator(G::SparseJacobian, Ġ) = SparseJacobian(G.pattern, unthunk(Ġ.values))

"CHOLMOD's factors, in double precision, of the row-scaled Gram matrix of each state."
struct SparseFactor{F, D}
    factors::Vector{F}
    scale::D
    rcond::Vector{Float64}
end

function factorise(::CholeskyProjection, G::SparseJacobian, W::Union{Nothing, AbstractMatrix})
    rows, cols = places(G)
    weights = W === nothing ? ones(1, 1) : W
    root = sqrt.(Float64.(weights[size(weights, 1) == 1 ? ones(Int, length(cols)) : cols, :]))
    GC = Float64.(G.values) .* root
    squares = gathered(size(G.pattern, 1), rows, ones(Int, length(rows)), GC .^ 2, ones(1, size(GC, 2)))
    scale = inverse_norm.(squares)
    scaled = GC .* scale[rows, :]
    factors = map(eachcol(scaled)) do entries
        A = SparseMatrixCSC(size(G.pattern)..., G.pattern.colptr, rows, collect(entries))
        cholesky(Symmetric(A * A'); check = false)
    end
    rcond = map(F -> issuccess(F) ? (minimum(diag(F)) / maximum(diag(F)))^2 : NaN, factors)
    return SparseFactor(factors, scale, rcond)
end

reciprocal_condition(factor::SparseFactor) = factor.rcond

function solve!(factor::SparseFactor, b)
    for (k, F) in enumerate(factor.factors)
        b[:, k] .= issuccess(F) ? factor.scale[:, k] .* (F \ (factor.scale[:, k] .* b[:, k])) : NaN
    end
    return b
end
