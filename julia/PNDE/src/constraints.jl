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

value(law::Constraint, u, t) = per_state((u, t) -> row(law, u, t), u, t)

constraint_jacobian(law::Constraint, u, t) = per_state((u, t) -> jacobian_of_state(law, u, t), u, t)

function drift(law::Constraint, u, t)
    law.time_dependent || return nothing
    return per_state((u, t) -> ForwardDiff.derivative(t -> row(law, u, t), t), u, t)
end

indomain(law::Constraint{<:Any, <:Any, Nothing}, u) = fill(true, size(u, 2))
indomain(law::Constraint, u) = [law.domain(state) for state in eachcol(u)]

row(law::Constraint, u, t) = as_row(law.time_dependent ? law.h(u, t) : law.h(u))
as_row(h::Number) = [h]
as_row(h) = vec(collect(h))

function jacobian_of_state(law::Constraint, u, t)
    law.jacobian === nothing && return ForwardDiff.jacobian(u -> row(law, u, t), u)
    G = law.time_dependent ? law.jacobian(u, t) : law.jacobian(u)
    return G isa AbstractVector ? reshape(G, 1, :) : G
end

"The arrays f(u, t) of the states, stacked along the last dimension. Its pullback is ForwardDiff's, state by state."
per_state(f, u, t) = stack(f(view(u, :, b), time_of_state(t, b)) for b in axes(u, 2))

time_of_state(t::Number, b) = t
time_of_state(t::AbstractVector, b) = t[b]

function ChainRulesCore.rrule(::typeof(per_state), f, u, t)
    y = per_state(f, u, t)
    function per_state_pullback(cotangent_of_y)
        y̅ = unthunk(cotangent_of_y)
        y̅ isa AbstractZero && return NoTangent(), NoTangent(), ZeroTangent(), NoTangent()
        u̅ = stack(axes(u, 2)) do b
            ForwardDiff.gradient(u -> dot(selectdim(y̅, ndims(y̅), b), f(u, time_of_state(t, b))), u[:, b])
        end
        return NoTangent(), NoTangent(), u̅, NoTangent()
    end
    return y, per_state_pullback
end

"""
    Holonomic(φ)

Position constraints φ(q) = c of a second-order system u = (q, q̇), with their velocity rows φ'(q) q̇ (paper, Eq. 27-28).
"""
function Holonomic(φ; domain = nothing)
    function h(u)
        half = length(u) ÷ 2
        q, velocity = u[1:half], u[(half + 1):end]
        rate = ForwardDiff.derivative(s -> as_row(φ(q .+ s .* velocity)), zero(eltype(u)))
        return vcat(as_row(φ(q)), rate)
    end
    return Constraint(h; domain)
end

"""
    Linear(A)

Linear laws h(u) = A u, A `(m, n)`. All states share the Jacobian, so it is factored once for a batch.
"""
struct Linear{M <: AbstractMatrix} <: AbstractConstraint
    matrix::M
end

value(law::Linear, u, t) = cast(law.matrix, u) * u
constraint_jacobian(law::Linear, u, t) = ignore_derivatives(() -> reshape(cast(law.matrix, u), size(law.matrix)..., 1))

"""
    Stacked(laws...)

Several laws at once, the rows of each below those of the one before.
"""
struct Stacked{L <: Tuple} <: AbstractConstraint
    laws::L
end
Stacked(laws::AbstractConstraint...) = Stacked(laws)

value(law::Stacked, u, t) = reduce(vcat, map(part -> value(part, u, t), law.laws))

function constraint_jacobian(law::Stacked, u, t)
    return reduce(vcat, map(part -> for_each_state(dense(constraint_jacobian(part, u, t)), u), law.laws))
end

function drift(law::Stacked, u, t)
    parts = map(part -> drift(part, u, t), law.laws)
    all(isnothing, parts) && return nothing
    return reduce(vcat, map((part, d) -> d === nothing ? zero(value(part, u, t)) : d, law.laws, parts))
end

indomain(law::Stacked, u) = reduce((a, b) -> a .& b, map(part -> indomain(part, u), law.laws))

"G `(m, n, B)` of a G that all states share."
for_each_state(G, u) = size(G, 3) == size(u, 2) ? G : repeat(G, 1, 1, size(u, 2))

"Constants in the precision, and on the device, of `u`."
cast(constants::AbstractArray, u) = ignore_derivatives(() -> copyto!(similar(u, size(constants)), constants))
cast(constant::Number, u) = convert(eltype(u), constant)

"""
    load_code(source; parameters...)

What a piece of Julia, or a `.jl` file, gives. This runs the caller's own code, in a module of its own that has the names of
`PNDE` and `LinearAlgebra`.

# Arguments

  - `source`: an expression, or the path of a file whose last value counts.

# Keywords

  - `parameters`: if there are any, `source` gives a function or type, and is called with them.

# Examples

```julia
load_code("u -> u[1]^2 + u[2]^2")
load_code("LotkaVolterra"; alpha = 1.5, beta = 1.0, gamma = 3.0, delta = 1.0)
```
"""
function load_code(source::AbstractString; parameters...)
    sandbox = Module(:Law)
    Core.eval(sandbox, :(const PNDE = $PNDE))
    Core.eval(sandbox, :(const LinearAlgebra = $LinearAlgebra))
    Core.eval(sandbox, :(using .PNDE, .LinearAlgebra))
    Core.eval(sandbox, :(include(path) = Base.include($sandbox, path)))
    code = endswith(source, ".jl") ? Base.include(sandbox, abspath(source)) : include_string(sandbox, source, "law")
    return isempty(parameters) ? code : Base.invokelatest(code; parameters...)
end

"""
    as_constraint(code, [time_dependent, source])

The law that `load_code` gave: a law, its type, or a function of one state.

# Throws

  - `ArgumentError` if it is none of these.
"""
as_constraint(law::AbstractConstraint, time_dependent = false, source = "") = law
as_constraint(law::Type{<:AbstractConstraint}, time_dependent = false, source = "") = law()
as_constraint(law::Function, time_dependent = false, source = "") = Constraint(law; time_dependent)
function as_constraint(law, time_dependent = false, source = "")
    throw(ArgumentError("$source is a $(typeof(law)), neither a law nor a function of the state"))
end
