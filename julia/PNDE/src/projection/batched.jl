# Small dense factorisations of many matrices at once, batch last. Each is a loop over rows or columns whose body treats
# the whole batch, so that it runs on any array (a GPU's too) and allocates nothing per state. Arrays of the host have
# plain loops for the hot ones, GPU libraries have methods in the extensions.

"""
    cholesky_batched!(S)

Overwrite each S `(m, m, B)` by its lower Cholesky factor. A matrix that is not positive definite becomes NaN.
"""
function cholesky_batched!(S::AbstractArray{<:Any, 3})
    m = size(S, 1)
    for j in 1:m
        column = S[j:m, j:j, :] ./ positive_root.(S[j:j, j:j, :])
        below = column[2:end, :, :]
        S[j:m, j:j, :] = column
        S[1:(j - 1), j:j, :] .= zero(eltype(S))
        S[(j + 1):m, (j + 1):m, :] .-= below .* permutedims(below, (2, 1, 3))
    end
    return S
end

# A column of a small matrix is shorter than what a processor works on at once, so states are treated side by side.
function cholesky_batched!(S::Array{<:Any, 3})
    m, _, B = size(S)
    block = ones(eltype(S), LANES, m, m)
    for first in 1:LANES:B
        states = view(S, :, :, first:min(first + LANES - 1, B))
        @inbounds for (lane, b) in enumerate(axes(states, 3)), j in 1:m, i in j:m
            block[lane, i, j] = states[i, j, b]
        end
        factor_side_by_side!(block)
        @inbounds for (lane, b) in enumerate(axes(states, 3)), j in 1:m, i in 1:m
            states[i, j, b] = i < j ? zero(eltype(S)) : block[lane, i, j]
        end
    end
    return S
end

"How many states are treated side by side."
const LANES = 16

"The lower Cholesky factors of matrices `(LANES, m, m)`, in their place."
function factor_side_by_side!(S)
    m = size(S, 2)
    @inbounds for j in 1:m
        @simd ivdep for lane in 1:LANES
            S[lane, j, j] = positive_root(S[lane, j, j])
        end
        for i in (j + 1):m
            @simd ivdep for lane in 1:LANES
                S[lane, i, j] /= S[lane, j, j]
            end
        end
        for k in (j + 1):m, i in k:m
            @simd ivdep for lane in 1:LANES
                S[lane, i, k] -= S[lane, i, j] * S[lane, k, j]
            end
        end
    end
    return S
end

positive_root(x) = ifelse(x > 0, sqrt(abs(x)), oftype(float(x), NaN))

"""
    lower_solve!(L, x)

Overwrite x `(m, B)` by the solution of L x = b, L `(m, m, B)` or `(m, m, 1)` lower triangular.
"""
function lower_solve!(L::AbstractArray{<:Any, 3}, x::AbstractMatrix)
    m = size(L, 1)
    @views for j in 1:m
        x[j:j, :] ./= L[j:j, j, :]
        x[(j + 1):m, :] .-= L[(j + 1):m, j, :] .* x[j:j, :]
    end
    return x
end

function lower_solve!(L::Array{<:Any, 3}, x::Matrix)
    m = size(L, 1)
    @inbounds for b in axes(x, 2), j in 1:m
        l = of_state(L, b)
        x[j, b] /= L[j, j, l]
        @simd for i in (j + 1):m
            x[i, b] -= L[i, j, l] * x[j, b]
        end
    end
    return x
end

"""
    upper_solve!(L, x)

Overwrite x `(m, B)` by the solution of Lᵀx = b, L `(m, m, B)` or `(m, m, 1)` lower triangular.
"""
function upper_solve!(L::AbstractArray{<:Any, 3}, x::AbstractMatrix)
    @views for j in size(L, 1):-1:1
        x[j:j, :] ./= L[j:j, j, :]
        x[1:(j - 1), :] .-= L[j, 1:(j - 1), :] .* x[j:j, :]
    end
    return x
end

function upper_solve!(L::Array{<:Any, 3}, x::Matrix)
    m = size(L, 1)
    @inbounds for b in axes(x, 2), j in m:-1:1
        l = of_state(L, b)
        sum = x[j, b]
        @simd for i in (j + 1):m
            sum -= L[i, j, l] * x[i, b]
        end
        x[j, b] = sum / L[j, j, l]
    end
    return x
end

of_state(A, b) = size(A, 3) == 1 ? 1 : b

"""
    cholesky_solve!(L, x)

Overwrite x `(m, B)` by the solution of L Lᵀx = b.
"""
cholesky_solve!(L, x) = upper_solve!(L, lower_solve!(L, x))

"The diagonals `(m, B)` of the matrices `(m, m, B)`."
diagonals(A) = reshape(A, :, size(A, 3))[1:(size(A, 1) + 1):end, :]

"""
    orthonormalise(A)

Q `(n, m, B)` with orthonormal columns and L `(m, m, B)` lower triangular with A = Q Lᵀ, the thin QR factorisation.

Gram and Schmidt's process, done twice, is as good as Householder's, and is made of products of whole batches.

# References

Giraud, Langou, Rozložník (2005), The loss of orthogonality in the Gram-Schmidt orthogonalization process.
"""
function orthonormalise(A::AbstractArray{<:Any, 3})
    m = size(A, 2)
    Q, L = similar(A), zeros_like(A, m, m, size(A, 3))
    for j in 1:m
        a = A[:, j:j, :]
        if j > 1
            before = Q[:, 1:(j - 1), :]
            for _ in 1:2
                r = batched_mul(batched_transpose(before), a)
                a = a .- batched_mul(before, r)
                L[j:j, 1:(j - 1), :] .+= reshape(r, 1, j - 1, :)
            end
        end
        length = sqrt.(sum(abs2, a; dims = 1))
        L[j:j, j:j, :] .= length
        Q[:, j:j, :] .= a ./ length
    end
    return Q, L
end

"""
    jacobi_svd(A)

U Σ `(n, m, B)` and V `(m, m, B)` with A = (U Σ) Vᵀ, by one-sided Jacobi rotations.

It is slower than LAPACK's, but for any number and array type, and finds small singular values to high relative accuracy
(Demmel and Veselić 1992).
"""
function jacobi_svd(A::AbstractArray{T, 3}) where {T}
    m = size(A, 2)
    A, V = copy(A), zeros_like(A, m, m, size(A, 3))
    for j in 1:m
        V[j:j, j:j, :] .= one(T)
    end
    # Columns below this are rounding errors, which no rotation makes orthogonal.
    noise = eps(T)^2 .* sum(abs2, A; dims = (1, 2))
    for _ in 1:60
        largest = zero(T)
        for i in 1:(m - 1), j in (i + 1):m
            ai, aj = A[:, i:i, :], A[:, j:j, :]
            α, β = sum(abs2, ai; dims = 1), sum(abs2, aj; dims = 1)
            γ = ifelse.(min.(α, β) .> noise, sum(ai .* aj; dims = 1), zero(T))
            largest = max(largest, maximum(cosine.(α, β, γ)))
            t = tangent_of_rotation.(α, β, γ)
            c = 1 ./ sqrt.(1 .+ t .^ 2)
            s = c .* t
            for X in (A, V)
                xi, xj = X[:, i:i, :], X[:, j:j, :]
                X[:, i:i, :] .= c .* xi .- s .* xj
                X[:, j:j, :] .= s .* xi .+ c .* xj
            end
        end
        largest <= 4eps(T) && break
    end
    return A, V
end

cosine(α, β, γ) = iszero(γ) ? γ : abs(γ) / sqrt(α * β)

function tangent_of_rotation(α, β, γ)
    iszero(γ) && return γ
    ζ = (β - α) / 2γ
    return ifelse(ζ < 0, -one(ζ), one(ζ)) / (abs(ζ) + sqrt(1 + ζ^2))
end

zeros_like(A, dims...) = fill!(similar(A, dims...), zero(eltype(A)))
