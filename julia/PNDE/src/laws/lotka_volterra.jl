"""
    LotkaVolterra(; alpha = 1.5, beta = 1.0, gamma = 3.0, delta = 1.0)

V = δx - γ ln x + βy - α ln y of prey x and predators y (paper, Eq. 23); both have to stay positive.
"""
Base.@kwdef struct LotkaVolterra <: AbstractConstraint
    alpha::Float64 = 1.5
    beta::Float64 = 1.0
    gamma::Float64 = 3.0
    delta::Float64 = 1.0
end

function value(law::LotkaVolterra, u, t)
    x, y = rows(u)
    α, β, γ, δ = coefficients(law, u)
    return δ .* x .- γ .* log_or_nan.(x) .+ β .* y .- α .* log_or_nan.(y)
end

"G = (δ - γ/x, β - α/y) (paper, Appendix I)"
function constraint_jacobian(law::LotkaVolterra, u, t)
    x, y = rows(u)
    α, β, γ, δ = coefficients(law, u)
    return reshape(vcat(δ .- γ ./ x, β .- α ./ y), 1, 2, :)
end

indomain(::LotkaVolterra, u) = vec(Array(all(u .> 0; dims = 1)))

coefficients(law::LotkaVolterra, u) =
    ignore_derivatives(() -> cast.((law.alpha, law.beta, law.gamma, law.delta), Ref(u)))

# Solvers probe states beyond the domain; NaN makes them take a shorter step where `log` would throw.
log_or_nan(x) = x > 0 ? log(x) : oftype(x, NaN)
