# MAGMA's batched Cholesky factorisation through its C interface (magma_dbatched.h). It needs of an array only that
# `pointer` gives an address which the library can read, so the tests run it against a library of the host.

"""
    Magma(path; device = 0, stream = C_NULL)

The MAGMA library at `path`, with a queue on a CUDA stream.

# Throws

  - `ErrorException` if there is no such library.
"""
struct Magma
    library::Ptr{Cvoid}
    queue::Ptr{Cvoid}
end

function Magma(path::AbstractString; device = 0, stream = C_NULL)
    library, queue = dlopen(path), Ref(C_NULL)
    ccall(dlsym(library, :magma_init), Cint, ())
    ccall(
        dlsym(library, :magma_queue_create_from_cuda_internal), Cvoid,
        (Cint, Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Ref{Ptr{Cvoid}}, Cstring, Cstring, Cint),
        device, stream, C_NULL, C_NULL, queue, "PNDE", "magma.jl", 0,
    )
    return Magma(library, queue[])
end

const MAGMA_LOWER = Cint(122)
# Larger batches have been seen to fail (pytorch #24403).
const MAGMA_LARGEST_BATCH = 65_535

magma_symbol(::Type{Float32}, name) = Symbol("magma_s", name)
magma_symbol(::Type{Float64}, name) = Symbol("magma_d", name)

"[`cholesky_batched!`](@ref) by `magma_[sd]potrf_batched`."
function cholesky_batched!(magma::Magma, S::AbstractArray{T, 3}) where {T <: Union{Float32, Float64}}
    m, _, B = size(S)
    matrices, info = addresses(S), fill!(similar(S, Cint, B), 0)
    potrf = dlsym(magma.library, magma_symbol(T, "potrf_batched"))
    for first in 1:MAGMA_LARGEST_BATCH:B
        GC.@preserve S matrices info ccall(
            potrf, Cint, (Cint, Cint, Ptr{Cvoid}, Cint, Ptr{Cvoid}, Cint, Ptr{Cvoid}),
            MAGMA_LOWER, m, address(matrices, first), m, address(info, first), chunk(first, B), magma.queue,
        )
    end
    return accept_factors!(S, info)
end

"[`cholesky_solve!`](@ref) by `magma_[sd]potrs_batched`."
function cholesky_solve!(magma::Magma, L::AbstractArray{T, 3}, x::AbstractMatrix{T}) where {T <: Union{Float32, Float64}}
    m, B = size(x)
    factors, vectors = addresses(L), addresses(reshape(x, m, 1, B))
    potrs = dlsym(magma.library, magma_symbol(T, "potrs_batched"))
    for first in 1:MAGMA_LARGEST_BATCH:B
        GC.@preserve L x factors vectors ccall(
            potrs, Cint, (Cint, Cint, Cint, Ptr{Cvoid}, Cint, Ptr{Cvoid}, Cint, Cint, Ptr{Cvoid}),
            MAGMA_LOWER, m, 1, address(factors, first), m, address(vectors, first), m, chunk(first, B), magma.queue,
        )
    end
    return x
end

chunk(first, B) = min(MAGMA_LARGEST_BATCH, B - first + 1)

"The address of each matrix of a batch, in an array beside it."
function addresses(A::AbstractArray{T, 3}) where {T}
    size_of_one = sizeof(T) * size(A, 1) * size(A, 2)
    out = similar(A, UInt, size(A, 3))
    out .= UInt(pointer(A)) .+ UInt.(size_of_one .* (0:(size(A, 3) - 1)))
    return out
end

address(A::AbstractVector, first) = Ptr{Cvoid}(UInt(pointer(A, first)))

"Factors as [`cholesky_batched!`](@ref) leaves them: NaN where the library reports a failure, zero above the diagonal."
function accept_factors!(S::AbstractArray{T, 3}, info) where {T}
    m = size(S, 1)
    S .= ifelse.(reshape(info, 1, 1, :) .!= 0, T(NaN), ifelse.((1:m) .>= (1:m)', S, zero(T)))
    return S
end
