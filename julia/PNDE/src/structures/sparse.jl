"""
    Pattern(matrix)

Where G of a law whose rows know few of the states can be other than zero: the structure of a sparse `matrix` `(m, n)`. That of
the Gram matrix and its order of elimination follow from it, and are found once.
"""
struct Pattern
    size::NTuple{2, Int}
    "Of each entry, column by column."
    rows::Vector{Int}
    columns::Vector{Int}
    "The upper triangle of G Gᵀ, and the pairs of entries whose products make each of its entries."
    gram::SparseMatrixCSC{Float64, Int}
    pairs::Vector{NTuple{3, Int}}
    factor::SparseArrays.CHOLMOD.Factor{Float64, Int}
end

function Pattern(matrix::SparseMatrixCSC)
    m, n = size(matrix)
    rows = rowvals(matrix)
    columns = [j for j in 1:n for _ in nzrange(matrix, j)]
    # Rows are in order in each column, so a ≤ b is above the diagonal.
    products = [(a, b) for j in 1:n for a in nzrange(matrix, j) for b in a:last(nzrange(matrix, j))]
    at(k) = [rows[pair[k]] for pair in products]
    # With a heavy diagonal any numbers have a factor.
    gram = sparse(at(1), at(2), 1.0, m, m) + (length(products) + 1) * sparse(1.0I, m, m)
    number = SparseMatrixCSC(m, m, gram.colptr, rowvals(gram), collect(1:nnz(gram)))
    pairs = [(a, b, number[rows[a], rows[b]]) for (a, b) in products]
    return Pattern((m, n), rows, columns, gram, pairs, cholesky(Symmetric(gram)))
end

"G Gᵀ `(m, m)` from the entries of G."
function gram_matrix(pattern::Pattern, entries)
    (; gram, pairs) = pattern
    values = zeros(nnz(gram))
    @inbounds for (a, b, k) in pairs
        values[k] += entries[a] * entries[b]
    end
    return Symmetric(SparseMatrixCSC(size(gram)..., gram.colptr, rowvals(gram), values))
end

"""
    SparseJacobian(pattern, values)

G of a law whose rows know few of the states: the entries that are not zero by construction. Factors are CHOLMOD's, on the
host and in double precision.

# Arguments

  - `pattern`: a [`Pattern`](@ref), or a `SparseMatrixCSC` `(m, n)` with that structure.
  - `values`: the entries of each state `(entries, B)`, in the order of the pattern.
"""
struct SparseJacobian{V <: AbstractMatrix} <: AbstractJacobian
    pattern::Pattern
    values::V
end
SparseJacobian(pattern::SparseMatrixCSC, values) = SparseJacobian(Pattern(pattern), values)

no_velocity(G::SparseJacobian, b) = zeros_like(b, G.pattern.size[2], size(b, 2))

function apply(G::SparseJacobian, w::AbstractMatrix)
    (; rows, columns) = G.pattern
    return beside(w, gathered(G.pattern.size[1], rows, columns, on_host(G.values), on_host(w)))
end

function transpose_apply(G::SparseJacobian, y::AbstractMatrix)
    (; rows, columns) = G.pattern
    return beside(y, gathered(G.pattern.size[2], columns, rows, on_host(G.values), on_host(y)))
end

"Σ values w[from] at each place `to` `(length, B)`."
function gathered(length, to, from, values, w)
    out = zeros(promote_type(eltype(values), eltype(w)), length, size(w, 2))
    @inbounds for b in axes(w, 2), k in eachindex(to)
        out[to[k], b] += values[k, b] * w[from[k], b]
    end
    return out
end

function dense(G::SparseJacobian)
    (; rows, columns) = G.pattern
    values = on_host(G.values)
    out = zeros(eltype(values), G.pattern.size..., size(values, 2))
    for b in axes(out, 3), k in eachindex(rows)
        out[rows[k], columns[k], b] = values[k, b]
    end
    return beside(G.values, out)
end

function ChainRulesCore.rrule(::typeof(dense), G::SparseJacobian)
    function dense_pullback(cotangent_of_G)
        G̅ = unthunk(cotangent_of_G)
        G̅ isa AbstractZero && return NoTangent(), ZeroTangent()
        at = CartesianIndex.(G.pattern.rows, G.pattern.columns)
        return NoTangent(), Tangent{typeof(G)}(; values = G̅[at, :])
    end
    return dense(G), dense_pullback
end

function cotangent(G::SparseJacobian, y, w, z, x)
    (; rows, columns) = G.pattern
    values = @views -(y[rows, :] .* w[columns, :] .+ z[rows, :] .* x[columns, :])
    return Tangent{typeof(G)}(; values)
end

tangent_operator(G::SparseJacobian, Ġ) = SparseJacobian(G.pattern, unthunk(Ġ.values))

"CHOLMOD's factors of the row-scaled Gram matrix of each state."
struct SparseFactor{F, D}
    factors::Vector{F}
    scale::D
end

function factorise(::Union{CholeskyProjection, QRProjection}, G::SparseJacobian, W::Union{Nothing, AbstractMatrix})
    (; rows, columns, factor) = G.pattern
    rooted = Float64.(on_host(G.values))
    if W !== nothing
        root = sqrt.(Float64.(on_host(W)))
        rooted .*= size(root, 2) == 1 ? root[columns] : root[columns, :]
    end
    scale = inverse_norm.(gathered(G.pattern.size[1], rows, eachindex(rows), rooted, rooted))
    rooted .*= scale[rows, :]
    factors = map(entries -> cholesky!(copy(factor), gram_matrix(G.pattern, entries); check = false), eachcol(rooted))
    return SparseFactor(factors, scale)
end

# The pivots are those of the Gram matrix, which rounding keeps from zero where rows are dependent. Solutions are corrected,
# so their errors grow with κ(G).
function reciprocal_condition(factor::SparseFactor)
    return map(factor.factors) do F
        issuccess(F) || return NaN
        smallest, largest = extrema(diag(F))
        squared = (smallest / largest)^2
        squared < 100 * eps() ? 0.0 : sqrt(squared)
    end
end

function solve!(factor::SparseFactor, b)
    for (k, F) in enumerate(factor.factors)
        b[:, k] .= issuccess(F) ? factor.scale[:, k] .* (F \ (factor.scale[:, k] .* b[:, k])) : NaN
    end
    return b
end

# Corrected by what it misses, the solution of the Gram matrix is as good as one by QR, unless κ(G)² is at rounding level
# (Björck 1987, Stability analysis of the method of seminormal equations).
function decompose(factor::SparseFactor, G, v, offset, W)
    in_double(x) = x === nothing ? nothing : Float64.(on_host(x))
    H = SparseJacobian(G.pattern, in_double(G.values))
    p, λ, b, weight = in_double(v), zeros(H.pattern.size[1], size(v, 2)), in_double(offset), in_double(W)
    for _ in 1:3
        change = solve!(factor, with_offset(apply(H, p), b))
        p, λ = p .- weigh(weight, transpose_apply(H, change)), λ .+ change
    end
    return beside(v, p), beside(v, λ)
end
