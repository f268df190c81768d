using LinearAlgebra, PNDE, Random

rng = Xoshiro(8)

# u̇₁ = 1 - u₁ u₂ with 0 = u₂ - u₁², at rest at (1, 1): u̇₁ = 1 - u₁³.
function example!(du, u, p, t)
    du[1] = 1 - u[1] * u[2]
    du[2] = p * (u[2] - u[1]^2)
    return nothing
end
system = DifferentialAlgebraic(example!, [true, false], 2.0, ["a", "b"], [1.0, 1.0])
law = AlgebraicRows(system)

@testset "the algebraic rows are the law" begin
    u = randn(rng, 2, 3)
    @test value(law, u, 0.0) ≈ 2 .* (u[2:2, :] .- u[1:1, :] .^ 2)
    @test constraint_jacobian(law, u, 0.0)[1, :, :] ≈ vcat(-4 .* u[1:1, :], fill(2.0, 1, 3))
end

@testset "ambient forcing stays on the manifold" begin
    u = ambient_forcing(system, randn(rng, 2, 4))
    @test maximum(abs, value(law, u, 0.0)) < 1.0e-13
    @test minimum(norm.(eachcol(u .- 1))) > 1.0e-3
end

@testset "the truth" begin
    times = collect(0:0.5:2.0)
    u0 = [0.5 1.5; 0.25 2.25]
    out = simulate(system, u0, times)
    @test all(iszero, out.status)
    reduced!(du, u, t) = (du[1] = 1 - u[1]^3)
    exact = PNDE.integrate(reduced!, u0[1:1, :], repeat(times, 1, 2), Settings(; solver = Vern9(), rtol = 1.0e-12, atol = 1.0e-12, retract = :never))
    @test out.u[1, :, :] ≈ exact.u[1, :, :] rtol = 1.0e-6
    @test maximum(abs, out.u[2, :, :] .- out.u[1, :, :] .^ 2) < 1.0e-6
end
