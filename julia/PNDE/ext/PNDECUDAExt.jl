"""
Batched factorisations on NVIDIA GPUs: cuSOLVER's Cholesky, or MAGMA's where the environment variable `MAGMA_LIB` gives its
library; cuBLAS's QR. Everything else in PNDE runs on `CuArray`s as it is.
"""
module PNDECUDAExt

using CUDA: CUDA, CuArray, CuPtr
using PNDE: PNDE, Magma, accept_factors!, addresses
using NNlib: batched_mul

# CUDA.jl 6 has them as packages of their own, under the libraries' own names.
const CUBLAS = isdefined(CUDA, :cuBLAS) ? CUDA.cuBLAS : CUDA.CUBLAS
const CUSOLVER = isdefined(CUDA, :cuSOLVER) ? CUDA.cuSOLVER : CUDA.CUSOLVER

function __init__()
    CUDA.functional() && (PNDE.CARD[] = CuArray)
    return nothing
end

const Real4Or8 = Union{Float32, Float64}

"The MAGMA of a stream, or `nothing` without `MAGMA_LIB`; one queue for each stream."
function magma()
    path = get(ENV, "MAGMA_LIB", "")
    isempty(path) && return nothing
    device, stream = CUDA.deviceid(CUDA.device()), CUDA.stream()
    return get!(() -> Magma(path; device, stream = Ptr{Cvoid}(UInt(stream.handle))), QUEUES, stream)
end
const QUEUES = Dict{Any, Magma}()

function PNDE.cholesky_batched!(S::CuArray{T, 3}) where {T <: Real4Or8}
    library = magma()
    library === nothing || return PNDE.cholesky_batched!(library, S)
    m, _, B = size(S)
    matrices, info = addresses(S), CUDA.zeros(Cint, B)
    GC.@preserve S matrices potrf(T)(
        CUSOLVER.dense_handle(), CUBLAS.CUBLAS_FILL_MODE_LOWER, m, pointers(T, matrices), m, info, B,
    )
    return accept_factors!(S, info)
end

function PNDE.cholesky_solve!(L::CuArray{T, 3}, x::CuArray{T, 2}) where {T <: Real4Or8}
    m, B = size(x)
    # One factor for all states: one triangular solve with many right-hand sides.
    size(L, 3) == 1 && return shared_solve!(reshape(L, m, m), x)
    library = magma()
    library === nothing || return PNDE.cholesky_solve!(library, L, x)
    factors, vectors, info = addresses(L), addresses(reshape(x, m, 1, B)), CUDA.zeros(Cint, 1)
    GC.@preserve L x factors vectors potrs(T)(
        CUSOLVER.dense_handle(), CUBLAS.CUBLAS_FILL_MODE_LOWER, m, 1, pointers(T, factors), m, pointers(T, vectors), m,
        info, B,
    )
    return x
end

function shared_solve!(L, x)
    CUBLAS.trsm!('L', 'L', 'N', 'N', true, L, x)
    return CUBLAS.trsm!('L', 'L', 'T', 'N', true, L, x)
end

potrf(::Type{Float32}) = CUSOLVER.cusolverDnSpotrfBatched
potrf(::Type{Float64}) = CUSOLVER.cusolverDnDpotrfBatched
potrs(::Type{Float32}) = CUSOLVER.cusolverDnSpotrsBatched
potrs(::Type{Float64}) = CUSOLVER.cusolverDnDpotrsBatched

"An array of addresses as the libraries' signatures want it."
pointers(::Type{T}, addresses) where {T} = reinterpret(CuPtr{CuPtr{T}}, pointer(addresses))

"""
The thin QR factorisation by `geqrfBatched`. It gives R; Q = A R⁻¹ loses orthogonality with κ(A), so the same is done to
that Q once more.
"""
function PNDE.orthonormalise(A::CuArray{T, 3}) where {T <: Real4Or8}
    Q = copy(A)
    first = lower_factor!(Q)
    second = lower_factor!(Q)
    return Q, batched_mul(first, second)
end

"L with A = Q Lᵀ; A becomes Q."
function lower_factor!(A::CuArray{T, 3}) where {T}
    n, m, B = size(A)
    reflections, tau, info = copy(A), CUDA.zeros(T, m, 1, B), Ref{Cint}(0)
    columns, scalars = addresses(reflections), addresses(tau)
    GC.@preserve reflections tau columns scalars geqrf(T)(
        CUBLAS.handle(), n, m, pointers(T, columns), n, pointers(T, scalars), info, B,
    )
    R = reflections[1:m, :, :]
    R .= ifelse.((1:m) .<= (1:m)', R, zero(T))
    triangles, matrices = addresses(R), addresses(A)
    GC.@preserve A R triangles matrices trsm(T)(
        CUBLAS.handle(), CUBLAS.CUBLAS_SIDE_RIGHT, CUBLAS.CUBLAS_FILL_MODE_UPPER, CUBLAS.CUBLAS_OP_N,
        CUBLAS.CUBLAS_DIAG_NON_UNIT, n, m, one(T), pointers(T, triangles), m, pointers(T, matrices), n, B,
    )
    return permutedims(R, (2, 1, 3))
end

geqrf(::Type{Float32}) = CUBLAS.cublasSgeqrfBatched
geqrf(::Type{Float64}) = CUBLAS.cublasDgeqrfBatched
trsm(::Type{Float32}) = CUBLAS.cublasStrsmBatched
trsm(::Type{Float64}) = CUBLAS.cublasDtrsmBatched

end
