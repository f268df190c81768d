"""
    Selection(columns, n)

Rows that are states themselves, of n: unit vectors.
"""
struct Selection <: AbstractJacobian
    columns::Vector{Int}
    n::Int
end

no_velocity(G::Selection, b) = zeros_like(b, G.n, size(b, 2))

apply(G::Selection, w::AbstractMatrix) = w[G.columns, :]

function transpose_apply(G::Selection, y::AbstractMatrix)
    out = zeros_like(y, G.n, size(y, 2))
    # A state may be named several times.
    @views for (k, column) in enumerate(G.columns)
        out[column:column, :] .+= y[k:k, :]
    end
    return out
end

dense(G::Selection) = reshape([column == state for column in G.columns, state in 1:(G.n)], length(G.columns), G.n, 1)

cotangent(::Selection, y, w, z, x) = NoTangent()
tangent_operator(::Selection, _) = throw(ArgumentError("the rows of states themselves do not change"))
