# Laws h(u, t, w, p) = c on batches of states u `(n, B)`, at an [`Instant`](@ref) or a time, a number or `(B,)`.

"""
    AbstractConstraint

The law h(u, t, w, p) = c. A subtype has methods of [`value`](@ref) and [`constraint_jacobian`](@ref), and, where they apply,
of [`drift`](@ref) and [`indomain`](@ref). Zygote has to be able to differentiate them by the states.
"""
abstract type AbstractConstraint end

"""
    value(law, u, at)

h `(m, B)` of states at an instant.
"""
function value end

"""
    constraint_jacobian(law, u, at)

G = ∂h/∂u: an array `(m, n, B)`, `(m, n, 1)` if all states share it, or an [`AbstractJacobian`](@ref).
"""
function constraint_jacobian end

"""
    drift(law, u, at)

∂h/∂t + (∂h/∂w) ẇ `(m, B)`, or `nothing` for a law that depends on neither time nor inputs.
"""
drift(::AbstractConstraint, u, at) = nothing

"""
    indomain(law, u)

Where the law is defined: a `Bool` for each state.
"""
indomain(::AbstractConstraint, u) = fill(true, size(u, 2))

"A law given as a function of one state; it has methods of `row`, `jacobian_of_state` and `moves`, and a field `domain`."
abstract type LawOfOneState <: AbstractConstraint end

"""
    Constraint(h; jacobian, takes, domain)

A law given as a function of one state.

# Arguments

  - `h`: function of a state `u` `(n,)`, and then by position of what `takes` names; returns a number or m numbers.

# Keywords

  - `jacobian`: function with the arguments of `h` giving ∂h/∂u `(m, n)`; ForwardDiff differentiates `h` without it.
  - `takes`: what else `h` takes, a tuple of `:t`, the time, `:w`, the inputs `(k,)`, and `:p`, the parameters `(r,)`; the
    projection then includes ∂h/∂t + (∂h/∂w) ẇ.
  - `domain`: function of `u`, true where the law is defined.

# Examples

```julia
energy(u) = u[3]^2 / 2 + u[1]^2 / 2
law = Constraint(energy)
spring = Constraint((u, p) -> u[2]^2 / 2 + p[1] * u[1]^2 / 2; takes = (:p,))
```
"""
struct Constraint{takes, H, J, D} <: LawOfOneState
    h::H
    jacobian::J
    domain::D
end

Constraint(h; jacobian = nothing, takes = (), domain = nothing) =
    Constraint{Tuple(takes), typeof(h), typeof(jacobian), typeof(domain)}(h, jacobian, domain)

moves(::Constraint{takes}) where {takes} = :t in takes || :w in takes

"""
    InDomain(law, domain)

A law that is defined where `domain(u)`, a program of the states, says so, and where the law itself does.
"""
struct InDomain{L <: AbstractConstraint, D} <: AbstractConstraint
    law::L
    domain::D
end
value(law::InDomain, u, at) = value(law.law, u, at)
constraint_jacobian(law::InDomain, u, at) = constraint_jacobian(law.law, u, at)
drift(law::InDomain, u, at) = drift(law.law, u, at)
indomain(law::InDomain, u) = indomain(law.law, u) .& truths(law.domain, u)

"A program that tells true from false, of each state."
truths(program, u) = vec(Array(truth.(program(u))))

value(law::LawOfOneState, u, at) = per_state((u, at) -> row(law, u, at), u, at)

constraint_jacobian(law::LawOfOneState, u, at) = per_state((u, at) -> jacobian_of_state(law, u, at), u, at)

function drift(law::LawOfOneState, u, at)
    moves(law) || return nothing
    return per_state((u, at) -> ForwardDiff.derivative(s -> row(law, u, later(at, s)), 0.0), u, at)
end

function indomain(law::LawOfOneState, u)
    law.domain === nothing && return fill(true, size(u, 2))
    return [law.domain(state) for state in eachcol(on_host(u))]
end

row(law::Constraint{takes}, u, at) where {takes} = as_row(law.h(u, given_all(at, takes)...))
as_row(h::Number) = [h]
as_row(h) = vec(collect(h))

function jacobian_of_state(law::Constraint{takes}, u, at) where {takes}
    law.jacobian === nothing && return ForwardDiff.jacobian(u -> row(law, u, at), u)
    G = law.jacobian(u, given_all(at, takes)...)
    return G isa AbstractVector ? reshape(G, 1, :) : G
end

"""
The arrays f(u, at) of the states, stacked along the last dimension, in the precision of u whatever numbers f is written with.
Its pullback is ForwardDiff's, state by state. A function of one state runs on the host, wherever the states are.
"""
per_state(f, u::Array, at) = like(u, stack(f(view(u, :, b), at_state(at, b)) for b in axes(u, 2)))
per_state(f, u, at) = beside(u, per_state(f, on_host(u), on_host(at)))

"x in the precision of u."
function like(u, x)
    T, S = eltype(u), eltype(x)
    return T !== S && T <: AbstractFloat && S <: AbstractFloat ? T.(x) : x
end

function ChainRulesCore.rrule(::typeof(per_state), f, u, at)
    function per_state_pullback(cotangent_of_y)
        y̅ = unthunk(cotangent_of_y)
        y̅ isa AbstractZero && return NoTangent(), NoTangent(), ZeroTangent(), NoTangent()
        states, instants, y̅ = on_host(u), on_host(at), on_host(y̅)
        u̅ = stack(axes(states, 2)) do b
            ForwardDiff.gradient(u -> dot(selectdim(y̅, ndims(y̅), b), f(u, at_state(instants, b))), states[:, b])
        end
        return NoTangent(), NoTangent(), beside(u, u̅), NoTangent()
    end
    return per_state(f, u, at), per_state_pullback
end

"Constants in the precision, and on the device, of `u`."
cast(constants::AbstractArray, u) = ignore_derivatives(() -> copyto!(similar(u, size(constants)), constants))
cast(constant::Number, u) = convert(eltype(u), constant)
