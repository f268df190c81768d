using FiniteDifferences, LinearAlgebra, PNDE, Random, Zygote
using PNDE: Layout, apply, dense

rng = Xoshiro(3)

function small_model(; n = 4, method = Projected(), constraint = Quartic(), order = 2, features = StateFeatures(), T = Float64, options...)
    inputs = features isa AngleFeatures ? n + n ÷ 2 : n
    return Model(;
        sizes = (inputs, 8, 8, order == 2 ? n ÷ 2 : n), method, constraint, order, features,
        mean = T.(collect(0.1:0.1:(0.1n))), std = T.(collect(1.0:0.1:(0.9 + 0.1n))), options...,
    )
end

weights(model, T = Float64) = T.(0.4 .* sin.(1.3 .* (0:(length(model.layout) - 1)) .+ 0.7))

@testset "the network by hand" begin
    gelu(x) = 0.5x * (1 + tanh(sqrt(2 / π) * (x + 0.044715x^3)))
    for skip in (false, true)
        model = small_model(; skip)
        θ = weights(model)
        layers = model.layout(θ)
        @test layers.layer_1.weight == reshape(θ[1:32], 8, 4)
        @test layers.layer_1.bias == θ[33:40]
        u = randn(rng, 4, 5)
        x = gelu.(layers.layer_1.weight * ((u .- model.mean) ./ model.std) .+ layers.layer_1.bias)
        y = gelu.(layers.layer_2.weight * x .+ layers.layer_2.bias)
        x = skip ? x .+ y : y
        acceleration = layers.layer_3.weight * x .+ layers.layer_3.bias
        @test PNDE.ambient_velocity(model, θ, u) ≈ vcat(u[3:4, :], acceleration) rtol = 1.0e-12
    end
end

@testset "the network of a solve is Lux's: $name" for (name, activation) in PNDE.ACTIVATIONS
    for (skip, T, sizes) in ((false, Float64, (4, 3)), (false, Float32, (4, 8, 8, 3)), (true, Float64, (4, 8, 8, 8, 3)))
        model = Model(; sizes, activation, skip, method = NDE(), mean = zeros(T, 4), std = ones(T, 4))
        θ, x, y̅ = weights(model, T), randn(rng, T, 4, 5), randn(rng, T, 3, 5)
        y, back = Zygote.pullback((θ, x) -> PNDE.network_output(model, θ, x), θ, x)
        θ̅ = zero(θ)
        ours = PNDE.Weights(model.layout, θ, θ̅)
        our_y, our_back = Zygote.pullback(x -> PNDE.network_output(model, ours, x), x)
        @test our_y ≈ y && PNDE.network_output(model, PNDE.Weights(model.layout, θ), x) ≈ y
        @test only(our_back(y̅)) ≈ back(y̅)[2] && θ̅ ≈ back(y̅)[1]
        our_back(y̅)
        @test θ̅ ≈ 2 .* back(y̅)[1]
        @test eltype(our_y) == eltype(only(our_back(y̅))) == T
    end
end

@testset "angles" begin
    model = small_model(; method = NDE(), features = AngleFeatures())
    u = randn(rng, 4, 3)
    turned = u .+ [2π, -2π, 0, 0]
    θ = weights(model)
    @test velocity(model, θ, u, zeros(0, 3), 0.0) ≈ velocity(model, θ, turned, zeros(0, 3), 0.0)
end

@testset "methods" begin
    u = randn(rng, 4, 3)
    θ = weights(small_model())
    c = value(Quartic(), u, 0.0) .- 0.1
    f(method; options...) = velocity(small_model(; method, options...), θ, u, c, 0.0)
    G = constraint_jacobian(Quartic(), u, 0.0)
    @test maximum(abs, apply(G, f(Projected()))) < 1.0e-14
    @test maximum(abs, apply(G, f(NDE()))) > 1.0e-3
    # SNDE pulls the law back at the rate γ.
    @test apply(G, f(SNDE(2.0)) .- f(NDE())) ≈ fill(-0.2, 1, 3)
    W = 1 ./ [1.0, 2, 3, 4]
    metric = [1.0, 2, 3, 4]
    correction = f(Projected(); metric) .- f(NDE())
    @test correction ≈ W .* dense(G)[1, :, :] .* (sum(dense(G)[1, :, :] .* correction; dims = 1) ./ sum(W .* dense(G)[1, :, :] .^ 2; dims = 1))
    @test f(Projected(); metric) ≈ f(Projected(); metric = Diagonal(metric)) ≈ f(Projected(); metric = _ -> metric)
    @test f(NDE(); physics = u -> 2 .* u) ≈ f(NDE()) .+ 2 .* u
    @test_throws ArgumentError small_model(; constraint = nothing)
end

@testset "$(nameof(typeof(method))): derivatives" for method in (NDE(), SNDE(1.5), Projected())
    for (n, law) in ((4, Quartic()), (8, Rods())), T in (Float64,)
        model = small_model(; n, method, constraint = law, skip = true)
        θ, u, w = weights(model), randn(rng, n, 2), randn(rng, n, 2)
        c = value(law, u, 0.0) .+ 0.1
        by_weights(θ) = dot(w, velocity(model, θ, u, c, 0.0))
        by_state(u) = dot(w, velocity(model, θ, u, c, 0.0))
        @test only(gradient(by_weights, θ)) ≈ only(grad(central_fdm(5, 1), by_weights, θ)) rtol = 1.0e-7
        @test only(gradient(by_state, u)) ≈ only(grad(central_fdm(5, 1), by_state, u)) rtol = 1.0e-7
    end
end

@testset "velocities along a conserved quantity" begin
    law, u = Constraint(u -> u[1]^2 + u[2] * u[3] + cos(u[4])), randn(rng, 4, 3)
    skew(; options...) = Model(; sizes = (4, 8, 6), method = NDE(), constraint = law, form = SkewGradient(4), mean = zeros(4), std = ones(4), options...)
    θ, d = weights(skew()), [0.5, 1.5, 2.5, 3.5]
    f(model, θ = θ, u = u) = velocity(model, θ, u, zeros(1, 3), 0.0)
    slopes = dense(constraint_jacobian(law, u, 0.0))[1, :, :]
    @test maximum(abs, sum(slopes .* f(skew()); dims = 1)) < 1.0e-14
    @test f(skew()) ≈ f(skew(; method = Projected()))
    a = PNDE.network_output(skew(), θ, u)
    A = zeros(4, 4, 3)
    for (k, (i, j)) in enumerate([(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)])
        A[i, j, :], A[j, i, :] = a[k, :], -a[k, :]
    end
    @test f(skew(; speed = d)) ≈ stack(d .* (A[:, :, b] * (d .* slopes[:, b])) for b in 1:3)
    w = randn(rng, 4, 3)
    model = skew(; speed = d)
    by_weights(θ) = dot(w, f(model, θ))
    by_state(u) = dot(w, f(model, θ, u))
    @test only(gradient(by_weights, θ)) ≈ only(grad(central_fdm(5, 1), by_weights, θ)) rtol = 1.0e-7
    @test only(gradient(by_state, u)) ≈ only(grad(central_fdm(5, 1), by_state, u)) rtol = 1.0e-7
    @test_throws ArgumentError skew(; constraint = nothing)
end

@testset "single precision stays single" begin
    model = small_model(; T = Float32)
    u = randn(rng, Float32, 4, 3)
    θ = weights(model, Float32)
    c = value(Quartic(), u, 0.0f0)
    @test velocity(model, θ, u, c, 0.0f0) isa Matrix{Float32}
    @test only(gradient(θ -> sum(velocity(model, θ, u, c, 0.0f0)), θ)) isa Vector{Float32}
    model = small_model(; T = Float32, method = SNDE(1.5))
    @test velocity(model, θ, u, c, 0.0f0) isa Matrix{Float32}
end

@testset "velocities in units of the data's own" begin
    u = randn(rng, 4, 3)
    plain, scaled = small_model(; method = NDE()), small_model(; method = NDE(), speed = [2.0, 3.0])
    θ = weights(plain)
    f(model) = velocity(model, θ, u, zeros(1, 3), 0.0)
    @test f(scaled)[1:2, :] == f(plain)[1:2, :]
    @test f(scaled)[3:4, :] ≈ [2, 3] .* f(plain)[3:4, :]
end

@testset "numbers of double precision in functions of single" begin
    T = Float32
    u, c = randn(rng, T, 4, 3), zeros(T, 1, 3)
    law = Constraint(u -> 0.5u[1]^2 + 1.5u[2] * u[3]; domain = u -> u[1] < 1.0e9)
    for options in ((;), (; metric = u -> [1.5, 2.5 + 0.1u[1]^2, 3.5, 4.5]), (; physics = u -> 0.1 .* u))
        model = small_model(; T, constraint = law, options...)
        θ = weights(model, T)
        loss(θ, u) = sum(abs2, velocity(model, θ, u, c, 0.0))
        @test velocity(model, θ, u, c, 0.0) isa Matrix{T}
        gradients = gradient(loss, θ, u)
        @test gradients[1] isa Vector{T} && gradients[2] isa Matrix{T}
        double = small_model(; constraint = law, options...)
        expected = gradient((θ, u) -> sum(abs2, velocity(double, θ, u, Float64.(c), 0.0)), Float64.(θ), Float64.(u))
        @test all(isapprox.(gradients, expected; rtol = 1.0e-4))
    end
    @test eltype(retract(CholeskyProjection(), law, nothing, u, 0.0, c)) == T
end
