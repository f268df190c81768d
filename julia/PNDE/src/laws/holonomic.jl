"""
    Holonomic(φ; takes = (), domain = nothing)

Position constraints φ(q) = c of a second-order system u = (q, q̇), with their velocity rows dφ/dt (paper, Eq. 27-28). `takes`
names what else φ takes, by position, as in [`Constraint`](@ref).
"""
struct Holonomic{takes, F, D} <: LawOfOneState
    φ::F
    domain::D
end
Holonomic(φ; takes = (), domain = nothing) = Holonomic{Tuple(takes), typeof(φ), typeof(domain)}(φ, domain)

moves(::Holonomic{takes}) where {takes} = :t in takes || :w in takes

function row(law::Holonomic{takes}, u, at) where {takes}
    half = length(u) ÷ 2
    q, velocity = u[1:half], u[(half + 1):end]
    position(q, at) = as_row(law.φ(q, given_all(at, takes)...))
    rate = ForwardDiff.derivative(s -> position(q .+ s .* velocity, later(at, s)), zero(eltype(u)))
    return vcat(position(q, at), rate)
end

jacobian_of_state(law::Holonomic, u, at) = ForwardDiff.jacobian(u -> row(law, u, at), u)
