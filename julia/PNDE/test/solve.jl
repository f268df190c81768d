using FiniteDifferences, LinearAlgebra, PNDE, Random, Zygote
using PNDE: OK, LEFT_DOMAIN, MAX_STEPS, NON_FINITE, OFF_MANIFOLD, RANK_DEFICIENT, integrate

rng = Xoshiro(4)

quartic_model(; options...) = Model(;
    sizes = (4, 8, 2), method = Projected(), constraint = Quartic(), order = 2, mean = zeros(4), std = ones(4), options...,
)
weights(model) = 0.4 .* sin.(1.3 .* (0:(length(model.layout) - 1)) .+ 0.7)
drift_of(law, u) = maximum(abs, reduce(hcat, value(law, u[:, :, b], 0.0) .- value(law, u[:, 1:1, b], 0.0) for b in axes(u, 3)))

@testset "retraction" begin
    for (law, u) in ((Quartic(), randn(rng, 4, 5)), (Rods(), randn(rng, 16, 5)), (ieee14(), vcat(ones(14, 5), zeros(14, 5))))
        c = value(law, u, 0.0)
        off = u .+ 1.0e-3 .* randn(rng, size(u))
        for algorithm in (CholeskyProjection(), QRProjection(), TruncatedProjection())
            on = retract(algorithm, law, nothing, off, 0.0, c)
            @test maximum(abs, value(law, on, 0.0) .- c) < 1.0e-13 * max(1, maximum(abs, c))
            @test norm(on - off) < 2 * norm(u - off)
        end
        @test retract(CholeskyProjection(), law, nothing, u, 0.0, c) == u
        # On the manifold the derivative is that of the limit.
        w = randn(rng, size(u))
        loss(u, c) = dot(w, retract(CholeskyProjection(), law, nothing, u, 0.0, c))
        @test all(isapprox.(gradient(loss, u, c), grad(central_fdm(5, 1; max_range = 1.0e-3), loss, u, c); rtol = 1.0e-5))
    end
    hopeless = retract(CholeskyProjection(), Quartic(), nothing, fill(NaN, 4, 1), 0.0, ones(1, 1))
    @test all(isnan, hopeless)
end

@testset "rollout: $solver" for solver in (Tsit5(), Vern9(), Rodas4(), Rodas5P())
    model = quartic_model()
    θ, u0 = weights(model), randn(rng, 4, 3) ./ 2
    c, times = value(Quartic(), u0, 0.0), repeat(0:0.5:5.0, 1, 3)
    exact = rollout(model, θ, u0, times, c, Settings(; solver = Vern9(), rtol = 1.0e-12, atol = 1.0e-12))
    @test all(exact.status .== Int(OK))
    for when in (:step, :save, :never)
        out = rollout(model, θ, u0, times, c, Settings(; solver, retract = when))
        @test all(out.status .== Int(OK))
        @test out.u ≈ exact.u rtol = 1.0e-4
        @test out.u[:, 1, :] ≈ u0
        @test all(out.steps .> 0) && all(out.evaluations .>= out.steps)
        if when !== :never
            @test drift_of(Quartic(), out.u) < 1.0e-14
        end
    end
    @test drift_of(Quartic(), rollout(model, θ, u0, times, c, Settings(; solver, retract = :never)).u) > 1.0e-12
end

@testset "a fixed step" begin
    model = quartic_model()
    θ, u0, times = weights(model), randn(rng, 4, 1) ./ 2, reshape(collect(0:0.1:1.0), :, 1)
    c = value(Quartic(), u0, 0.0)
    out = rollout(model, θ, u0, times, c, Settings(; step = 0.05, retract = :never))
    @test only(out.steps) == 20
    @test rollout(model, θ, u0, times, c, Settings(; step = 0.025, retract = :never)).u ≈ out.u rtol = 1.0e-6
end

@testset "how solves end" begin
    model = quartic_model()
    θ, u0, times = weights(model), randn(rng, 4, 2), repeat(0:1.0:100.0, 1, 2)
    c = value(Quartic(), u0, 0.0)
    out = rollout(model, θ, u0, times, c, Settings(; max_steps = 20))
    @test all(out.status .== Int(MAX_STEPS))
    @test all(isnan, out.u[:, end, :]) && all(isfinite, out.u[:, 1, :])
    explosive = quartic_model(; method = NDE(), physics = u -> 10 .* u .^ 3)
    @test all(rollout(explosive, θ, u0, times, c, Settings()).status .== Int(NON_FINITE))
    # Populations that the network drives below zero.
    prey = Model(; sizes = (2, 4, 2), method = NDE(), constraint = LotkaVolterra(), mean = zeros(2), std = ones(2), physics = u -> zero(u) .- 1)
    out = rollout(prey, zeros(length(prey.layout)), ones(2, 1), reshape(collect(0:0.1:3.0), :, 1), zeros(1, 1), Settings())
    @test only(out.status) == Int(LEFT_DOMAIN)
    @test all(isfinite, out.u[:, 1:10, 1]) && all(isnan, out.u[:, end, 1])
    # At the equilibrium the gradient of V vanishes.
    rest = Model(; sizes = (2, 4, 2), method = Projected(), constraint = LotkaVolterra(), mean = zeros(2), std = ones(2))
    out = rollout(rest, zeros(length(rest.layout)), [3.0; 1.5;;], reshape([0.0, 0.1], :, 1), [0.0;;], Settings())
    @test only(out.status) == Int(RANK_DEFICIENT)
end

@testset "a state that cannot be put back" begin
    # h = 1 is nowhere: the retraction ends where h is nearest to it.
    law = Constraint(u -> 1 / (1 + u[1]^2 + u[2]^2) / 2)
    model = Model(; sizes = (2, 4, 2), method = Projected(), constraint = law, mean = zeros(2), std = ones(2))
    θ, times = weights(model), reshape([0.0, 0.1], :, 1)
    out = rollout(model, θ, [1.0; 1.0;;], times, [1.0;;], Settings(; retract = :save))
    @test only(out.status) == Int(OFF_MANIFOLD)
    @test only(rollout(model, θ, [1.0; 1.0;;], times, [1.0;;], Settings(; retract = :never)).status) == Int(OK)
end

@testset "integration of a given right-hand side" begin
    rhs!(du, u, t) = (du[1] = u[2]; du[2] = -u[1])
    times = repeat(0:0.1:6.3, 1, 2)
    u0 = [1.0 0; 0 2]
    out = integrate(rhs!, u0, times, Settings(; solver = Vern9(), rtol = 1.0e-12, atol = 1.0e-12, retract = :never))
    @test out.u[1, :, 1] ≈ cos.(times[:, 1]) atol = 1.0e-10
    circle = Constraint(u -> u[1]^2 + u[2]^2)
    out = integrate(rhs!, u0, times, Settings(; rtol = 1.0e-3, atol = 1.0e-3), circle)
    @test drift_of(circle, out.u) < 1.0e-14
    @test all(out.status .== Int(OK))
end
