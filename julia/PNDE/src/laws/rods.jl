"""
    Rods()

A chain of N unit rods (paper, Sec. IV B), state [x₁ … x_N, y₁ … y_N, ẋ₁ … ẋ_N, ẏ₁ … ẏ_N], bob 0 at rest at the origin.
The law has the rows ‖Δqᵢ‖² (= 1), then Δqᵢ·Δq̇ᵢ (= 0), with Δqᵢ = qᵢ - qᵢ₋₁ (paper, Eq. 27-28).
"""
struct Rods <: AbstractConstraint end

function value(law::Rods, u, t)
    (; a, b, c, d) = constraint_jacobian(law, u, t)
    return vcat(a .^ 2 .+ b .^ 2, a .* c .+ b .* d)
end

constraint_jacobian(::Rods, u, t) = RodsJacobian(map(difference, quarters(u))...)
