# Laws, metrics and physics that Python traced: programs, with those of their derivatives, which nothing here has to
# differentiate.

"""
    TracedFunction(value, pullback, shape, takes = (:t,))

A function of the states `(n, B)` and of an instant, from the programs of its values and of the cotangent of the state.

# Arguments

  - `value`: of u and then what `takes` names, flat `(length, B)`; `pullback`: of these and y̅, the cotangent u̅ `(n, B)`.
  - `shape`: of the result for one state.
  - `takes`: parts of an instant, see [`given`](@ref).
"""
struct TracedFunction{N, K}
    value::Program
    pullback::Program
    shape::NTuple{N, Int}
    takes::NTuple{K, Symbol}
end
TracedFunction(value, pullback, shape, takes = (:t,)) = TracedFunction(value, pullback, Tuple(Int.(shape)), Tuple(Symbol.(takes)))

(f::TracedFunction)(u, at = zero(eltype(u))) = reshape(f.value(u, operands(f, at)...), f.shape..., size(u, 2))

operands(f::TracedFunction, at) = map(as_columns, given_all(at, f.takes))

function ChainRulesCore.rrule(f::TracedFunction, u)
    y, pullback = ChainRulesCore.rrule(f, u, zero(eltype(u)))
    return y, cotangent_of_y -> pullback(cotangent_of_y)[1:2]
end
function ChainRulesCore.rrule(f::TracedFunction, u, at)
    function traced_pullback(cotangent_of_y)
        y̅ = unthunk(cotangent_of_y)
        y̅ isa AbstractZero && return NoTangent(), ZeroTangent(), NoTangent()
        return NoTangent(), f.pullback(u, operands(f, at)..., reshape(y̅, :, size(u, 2))), NoTangent()
    end
    return f(u, at), traced_pullback
end

"""
    TracedLaw(h, jacobian, drift, domain)

A law from [`TracedFunction`](@ref)s: of h `(m,)`, ∂h/∂u `(m, n)`, and ∂h/∂t + (∂h/∂w) ẇ `(m,)` or
`nothing`; and a [`Program`](@ref) that tells where it is defined, or `nothing`.
"""
struct TracedLaw{R, D} <: AbstractConstraint
    h::TracedFunction
    jacobian::TracedFunction
    rate::R
    domain::D
end

value(law::TracedLaw, u, at) = law.h(u, at)
constraint_jacobian(law::TracedLaw, u, at) = law.jacobian(u, at)
drift(law::TracedLaw, u, at) = law.rate === nothing ? nothing : law.rate(u, at)
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
