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
