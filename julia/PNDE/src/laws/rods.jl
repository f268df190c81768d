"""
    Rods(; moving_pivot = false)

A chain of N rods (paper, Sec. IV B), state [x₁ … x_N, y₁ … y_N, ẋ₁ … ẋ_N, ẏ₁ … ẏ_N]. It hangs on the origin, or on a pivot
whose position is the first two inputs. The law has the rows ‖Δqᵢ‖² (the squared lengths), then Δqᵢ·Δq̇ᵢ (= 0), with
Δqᵢ = qᵢ - qᵢ₋₁ (paper, Eq. 27-28).
"""
struct Rods <: AbstractConstraint
    moving_pivot::Bool
end
Rods(; moving_pivot = false) = Rods(moving_pivot)

function value(law::Rods, u, at)
    (; a, b, c, d) = constraint_jacobian(law, u, at)
    return vcat(a .^ 2 .+ b .^ 2, a .* c .+ b .* d)
end

function constraint_jacobian(law::Rods, u, at)
    parts = links(u)
    law.moving_pivot || return RodsJacobian(parts...)
    return RodsJacobian(map(from, parts, pivot_of(at, (:w, :rate), u))...)
end

function drift(law::Rods, u, at)
    law.moving_pivot || return nothing
    (; a, b, c, d) = constraint_jacobian(law, u, at)
    # How the links change where the bobs stand still: the first alone, as the pivot moves.
    x, y, vx, vy = map((part, origin) -> from(zero(part), origin), (a, b, c, d), pivot_of(at, (:rate, :curvature), u))
    return vcat(2 .* (a .* x .+ b .* y), c .* x .+ d .* y .+ a .* vx .+ b .* vy)
end

"The rows `(1, B)` of the pivot's position and velocity, or of their derivatives."
pivot_of(at, names, u) = ignore_derivatives() do
    parts = map(x -> like(u, x), given_all(at, names))
    return (parts[1][1:1, :], parts[1][2:2, :], parts[2][1:1, :], parts[2][2:2, :])
end

"Links `(N, B)`, the first one from an origin `(1, B)`."
from(part, origin) = vcat(part[1:1, :] .- origin, part[2:end, :])
