# Laws h(u, t) = c on batches of states u `(n, B)`, with times `t` a number or `(B,)`.

"""
    AbstractConstraint

The law h(u, t) = c. A subtype has methods of [`value`](@ref) and [`constraint_jacobian`](@ref), and, where they apply, of
[`drift`](@ref) and [`indomain`](@ref). Zygote has to be able to differentiate them.
"""
abstract type AbstractConstraint end

"""
    value(law, u, t)

h(u, t) `(m, B)`
"""
function value end

"""
    constraint_jacobian(law, u, t)

G = ∂h/∂u: an array `(m, n, B)`, `(m, n, 1)` if all states share it, or an [`AbstractJacobian`](@ref).
"""
function constraint_jacobian end

"""
    drift(law, u, t)

∂h/∂t `(m, B)`, or `nothing` for a law that does not depend on time.
"""
drift(::AbstractConstraint, u, t) = nothing

"""
    indomain(law, u)

Where the law is defined: a `Bool` for each state.
"""
indomain(::AbstractConstraint, u) = fill(true, size(u, 2))

"""
    Constraint(h; jacobian, time_dependent, domain)

A law given as a function of one state.

# Arguments

  - `h`: function of a state `u` `(n,)`, or of `(u, t)` if `time_dependent`; returns a number or m numbers.

# Keywords

  - `jacobian`: function with the arguments of `h` giving ∂h/∂u `(m, n)`; ForwardDiff differentiates `h` without it.
  - `time_dependent`: whether `h` takes the time; the projection then includes ∂h/∂t.
  - `domain`: function of `u`, true where the law is defined.

# Examples

```julia
energy(u) = u[3]^2 / 2 + u[1]^2 / 2
law = Constraint(energy)
```
"""
struct Constraint{H, J, D} <: AbstractConstraint
    h::H
    jacobian::J
    time_dependent::Bool
    domain::D
end

function Constraint(h; jacobian = nothing, time_dependent = false, domain = nothing)
    return Constraint(h, jacobian, time_dependent, domain)
end

"""
    InDomain(law, domain)

A law that is defined where `domain(u)`, a program of the states, says so, and where the law itself does.
"""
struct InDomain{L <: AbstractConstraint, D} <: AbstractConstraint
    law::L
    domain::D
end
value(law::InDomain, u, t) = value(law.law, u, t)
constraint_jacobian(law::InDomain, u, t) = constraint_jacobian(law.law, u, t)
drift(law::InDomain, u, t) = drift(law.law, u, t)
indomain(law::InDomain, u) = indomain(law.law, u) .& truths(law.domain, u)

"A program that tells true from false, of each state."
truths(program, u) = vec(Array(truth.(program(u))))

value(law::Constraint, u, t) = per_state((u, t) -> row(law, u, t), u, t)

constraint_jacobian(law::Constraint, u, t) = per_state((u, t) -> jacobian_of_state(law, u, t), u, t)

function drift(law::Constraint, u, t)
    law.time_dependent || return nothing
    return per_state((u, t) -> ForwardDiff.derivative(t -> row(law, u, t), t), u, t)
end

indomain(law::Constraint{<:Any, <:Any, Nothing}, u) = fill(true, size(u, 2))
indomain(law::Constraint, u) = [law.domain(state) for state in eachcol(on_host(u))]

row(law::Constraint, u, t) = as_row(law.time_dependent ? law.h(u, t) : law.h(u))
as_row(h::Number) = [h]
as_row(h) = vec(collect(h))

function jacobian_of_state(law::Constraint, u, t)
    law.jacobian === nothing && return ForwardDiff.jacobian(u -> row(law, u, t), u)
    G = law.time_dependent ? law.jacobian(u, t) : law.jacobian(u)
    return G isa AbstractVector ? reshape(G, 1, :) : G
end

"""
The arrays f(u, t) of the states, stacked along the last dimension, in the precision of u whatever numbers f is written with.
Its pullback is ForwardDiff's, state by state. A function of one state runs on the host, wherever the states are.
"""
per_state(f, u::Array, t) = like(u, stack(f(view(u, :, b), time_of_state(t, b)) for b in axes(u, 2)))
per_state(f, u, t) = beside(u, per_state(f, on_host(u), on_host(t)))

"x in the precision of u."
function like(u, x)
    T, S = eltype(u), eltype(x)
    return T !== S && T <: AbstractFloat && S <: AbstractFloat ? T.(x) : x
end

time_of_state(t::Number, b) = t
time_of_state(t::AbstractVector, b) = t[b]

function ChainRulesCore.rrule(::typeof(per_state), f, u, t)
    function per_state_pullback(cotangent_of_y)
        y̅ = unthunk(cotangent_of_y)
        y̅ isa AbstractZero && return NoTangent(), NoTangent(), ZeroTangent(), NoTangent()
        states, times, y̅ = on_host(u), on_host(t), on_host(y̅)
        u̅ = stack(axes(states, 2)) do b
            ForwardDiff.gradient(u -> dot(selectdim(y̅, ndims(y̅), b), f(u, time_of_state(times, b))), states[:, b])
        end
        return NoTangent(), NoTangent(), beside(u, u̅), NoTangent()
    end
    return per_state(f, u, t), per_state_pullback
end

"Constants in the precision, and on the device, of `u`."
cast(constants::AbstractArray, u) = ignore_derivatives(() -> copyto!(similar(u, size(constants)), constants))
cast(constant::Number, u) = convert(eltype(u), constant)
