"""
    Quartic()

Energy of a unit mass in the potential r⁴/4, state (x, y, ẋ, ẏ): E = ½(ẋ² + ẏ²) + ¼(x² + y²)² (paper, Eq. 19).
"""
struct Quartic <: AbstractConstraint end

function value(::Quartic, u, at)
    x, y, vx, vy = rows(u)
    return (vx .^ 2 .+ vy .^ 2) ./ 2 .+ (x .^ 2 .+ y .^ 2) .^ 2 ./ 4
end

"G = (x r², y r², ẋ, ẏ) (paper, Appendix I)"
function constraint_jacobian(::Quartic, u, at)
    x, y, vx, vy = rows(u)
    r² = x .^ 2 .+ y .^ 2
    return reshape(vcat(x .* r², y .* r², vx, vy), 1, 4, :)
end

"The rows `(1, B)` of u."
rows(u) = ntuple(i -> u[i:i, :], size(u, 1))
