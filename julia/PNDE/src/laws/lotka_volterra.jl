"V = δx - γ ln x + βy - α ln y of prey x and predators y (paper, Eq. 23); both have to stay positive."
abstract type PreyAndPredators <: AbstractConstraint end

"""
    LotkaVolterra(; alpha = 1.5, beta = 1.0, gamma = 3.0, delta = 1.0)

V = δx - γ ln x + βy - α ln y of prey x and predators y (paper, Eq. 23); both have to stay positive.
"""
Base.@kwdef struct LotkaVolterra <: PreyAndPredators
    alpha::Float64 = 1.5
    beta::Float64 = 1.0
    gamma::Float64 = 3.0
    delta::Float64 = 1.0
end

"""
    LotkaVolterraFamily(; alpha = 0.5, gamma = 0.5)

The law of [`LotkaVolterra`](@ref) models whose β and δ are the parameters of each trajectory.
"""
Base.@kwdef struct LotkaVolterraFamily <: PreyAndPredators
    alpha::Float64 = 0.5
    gamma::Float64 = 0.5
end

function value(law::PreyAndPredators, u, at)
    x, y = rows(u)
    α, β, γ, δ = coefficients(law, u, at)
    return δ .* x .- γ .* log_or_nan.(x) .+ β .* y .- α .* log_or_nan.(y)
end

"G = (δ - γ/x, β - α/y) (paper, Appendix I)"
function constraint_jacobian(law::PreyAndPredators, u, at)
    x, y = rows(u)
    α, β, γ, δ = coefficients(law, u, at)
    return reshape(vcat(δ .- γ ./ x, β .- α ./ y), 1, 2, :)
end

indomain(::PreyAndPredators, u) = vec(Array(all(u .> 0; dims = 1)))

coefficients(law::LotkaVolterra, u, at) =
    ignore_derivatives(() -> cast.((law.alpha, law.beta, law.gamma, law.delta), Ref(u)))
function coefficients(law::LotkaVolterraFamily, u, at)
    return ignore_derivatives() do
        p = like(u, given(at, :p))
        cast(law.alpha, u), p[1:1, :], cast(law.gamma, u), p[2:2, :]
    end
end

# Solvers probe states beyond the domain; NaN makes them take a shorter step where `log` would throw.
log_or_nan(x) = x > 0 ? log(x) : oftype(x, NaN)
