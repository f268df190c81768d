# Laws, metrics and physics that Python traced: programs, with those of their derivatives, which nothing here has to
# differentiate.

"""
    TracedFunction(value, pullback, shape)

A function of the states `(n, B)` and the time, from the programs of its values and of the cotangent of the state.

# Arguments

  - `value`: of (u, t), flat `(length, B)`; `pullback`: of (u, t, y̅), the cotangent u̅ `(n, B)`.
  - `shape`: of the result for one state.
"""
struct TracedFunction{N}
    value::Program
    pullback::Program
    shape::NTuple{N, Int}
end
TracedFunction(value, pullback, shape) = TracedFunction(value, pullback, Tuple(Int.(shape)))

(f::TracedFunction)(u, t = zero(eltype(u))) = reshape(f.value(u, as_row_of_times(t)), f.shape..., size(u, 2))

as_row_of_times(t::Number) = fill(t, 1, 1)
as_row_of_times(t::AbstractVector) = reshape(t, 1, :)

function ChainRulesCore.rrule(f::TracedFunction, u)
    y, pullback = ChainRulesCore.rrule(f, u, zero(eltype(u)))
    return y, cotangent_of_y -> pullback(cotangent_of_y)[1:2]
end
function ChainRulesCore.rrule(f::TracedFunction, u, t)
    function traced_pullback(cotangent_of_y)
        y̅ = unthunk(cotangent_of_y)
        y̅ isa AbstractZero && return NoTangent(), ZeroTangent(), NoTangent()
        return NoTangent(), f.pullback(u, as_row_of_times(t), reshape(y̅, :, size(u, 2))), NoTangent()
    end
    return f(u, t), traced_pullback
end

"""
    TracedLaw(h, jacobian, drift, domain)

A law from [`TracedFunction`](@ref)s: of h `(m,)`, ∂h/∂u `(m, n)`, and ∂h/∂t `(m,)` or `nothing`; and a [`Program`](@ref)
that tells where it is defined, or `nothing`.
"""
struct TracedLaw{R, D} <: AbstractConstraint
    h::TracedFunction
    jacobian::TracedFunction
    rate::R
    domain::D
end

value(law::TracedLaw, u, t) = law.h(u, t)
constraint_jacobian(law::TracedLaw, u, t) = law.jacobian(u, t)
drift(law::TracedLaw, u, t) = law.rate === nothing ? nothing : law.rate(u, t)
indomain(law::TracedLaw, u) = law.domain === nothing ? fill(true, size(u, 2)) : truths(law.domain, u)

"The inverses of diagonals `(n, B)`, or of matrices `(n, n, B)`."
batched_inverse(M::AbstractMatrix) = 1 ./ M
batched_inverse(M::AbstractArray{<:Any, 3}) = copyto!(similar(M), stack(inv, eachslice(Array(M); dims = 3)))

function ChainRulesCore.rrule(::typeof(batched_inverse), M::AbstractArray{<:Any, 3})
    W = batched_inverse(M)
    function inverse_pullback(cotangent_of_W)
        W̅ = unthunk(cotangent_of_W)
        W̅ isa AbstractZero && return NoTangent(), ZeroTangent()
        transposed = batched_transpose(W)
        return NoTangent(), -batched_mul(batched_mul(transposed, W̅), transposed)
    end
    return W, inverse_pullback
end
