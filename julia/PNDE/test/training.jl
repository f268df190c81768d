using FiniteDifferences, LinearAlgebra, PNDE, Random, Zygote
using PNDE: batch_loss, integrate

rng = Xoshiro(5)

const VOLTERRA = [1.5, 1.0, 3.0, 1.0]
function lotka_volterra!(du, u, t)
    α, β, γ, δ = VOLTERRA
    du[1] = α * u[1] - β * u[1] * u[2]
    du[2] = δ * u[1] * u[2] - γ * u[2]
    return nothing
end

"S segments of k steps of dt."
function segments(S, k, dt; T = Float64, seed = 1, own_times = false)
    u0 = 0.5 .+ 1.5 .* rand(Xoshiro(seed), 2, S)
    grid = collect(range(0, k * dt, k + 1))
    u = integrate(lotka_volterra!, u0, repeat(grid, 1, S), Settings(; solver = Vern9(), rtol = 1.0e-12, atol = 1.0e-12, retract = :never)).u
    c = value(LotkaVolterra(), u0, 0.0)
    grid = own_times ? repeat(grid, 1, S) : grid
    return Segments(T.(u), T.(c), zeros(T, S), T.(grid), fill(T(1 / S), S))
end

function volterra_model(; method = Projected(), T = Float64, width = 8)
    return Model(; sizes = (2, width, width, 2), method, constraint = LotkaVolterra(), mean = T[2, 1], std = T[1, 0.5])
end
weights(model, T = Float64) = T.(0.4 .* sin.(1.3 .* (0:(length(model.layout) - 1)) .+ 0.7))

tight(; options...) = Settings(; solver = Vern9(), rtol = 1.0e-11, atol = 1.0e-11, retract = :never, options...)

@testset "$(nameof(typeof(method))), $(nameof(typeof(adjoint)))" for method in (NDE(), SNDE(1.0), Projected()),
        adjoint in (
            GaussAdjoint(; autojacvec = ZygoteVJP()), InterpolatingAdjoint(; autojacvec = ZygoteVJP()),
            BacksolveAdjoint(; autojacvec = ZygoteVJP()),
        )

    model, batch = volterra_model(; method), segments(3, 4, 0.1)
    θ = weights(model)
    settings = tight(; adjoint)
    loss, gradient, status, steps = loss_and_gradient(model, θ, batch, settings)
    @test loss ≈ batch_loss(model, θ, batch, settings)
    @test status == PNDE.OK && steps > 0
    direction = normalize(randn(rng, length(θ)))
    along(s) = batch_loss(model, θ .+ s .* direction, batch, settings)
    @test dot(gradient, direction) ≈ central_fdm(5, 1; max_range = 1.0e-2)(along, 0.0) rtol = 1.0e-6
end

@testset "segments with times of their own" begin
    model, θ = volterra_model(), weights(volterra_model())
    together = loss_and_gradient(model, θ, segments(3, 4, 0.1), tight())
    apart = loss_and_gradient(model, θ, segments(3, 4, 0.1; own_times = true), tight())
    @test together[1] ≈ apart[1] rtol = 1.0e-9
    @test together[2] ≈ apart[2] rtol = 1.0e-7
end

@testset "saved states on the manifold" begin
    model, batch = volterra_model(), segments(3, 4, 0.1)
    θ, settings = weights(model), tight(; retract = :save, rtol = 1.0e-6, atol = 1.0e-6)
    loss, gradient = loss_and_gradient(model, θ, batch, settings)
    @test loss ≈ batch_loss(model, θ, batch, tight()) rtol = 1.0e-4
    @test gradient ≈ loss_and_gradient(model, θ, batch, tight())[2] rtol = 1.0e-3
end

@testset "a retraction after each step is refused" begin
    model = volterra_model()
    @test_throws ArgumentError loss_and_gradient(model, weights(model), segments(3, 4, 0.1), tight(; retract = :step))
end

@testset "a solve that fails gives NaN" begin
    model = volterra_model(; method = NDE())
    loss, gradient, status, _ = loss_and_gradient(model, fill(1.0e4, length(model.layout)), segments(3, 4, 0.1), Settings(; max_steps = 5))
    @test isnan(loss) && all(isnan, gradient) && status == PNDE.MAX_STEPS
end

@testset "AdamW" begin
    # One step by hand: with m̂ = g, v̂ = g² the direction is g / (|g| + ε).
    model, batch = volterra_model(), segments(3, 4, 0.1)
    θ, settings = weights(model), Settings(; retract = :never)
    gradient = loss_and_gradient(model, θ, batch, settings)[2]
    trainer = Trainer(model, θ, settings; weight_decay = 0.1)
    step!(trainer, batch, 1.0e-2)
    @test trainer.θ ≈ θ .- 1.0e-2 .* (gradient ./ (abs.(gradient) .+ 1.0e-8) .+ 0.1 .* θ)
    # Resumed from its moments it goes on as if it had not stopped.
    mu, nu, _ = trainer.moments
    resumed = Trainer(model, trainer.θ, settings; weight_decay = 0.1, moments = (trainer.count, mu, nu))
    foreach(t -> step!(t, batch, 1.0e-2), (trainer, resumed))
    @test resumed.θ == trainer.θ
    clipped = Trainer(model, θ, settings; clip = 1.0e-9)
    step!(clipped, batch, 1.0e-2)
    @test clipped.θ ≈ θ .- 1.0e-2 .* clamp.(gradient, -1.0e-9, 1.0e-9) ./ (abs.(clamp.(gradient, -1.0e-9, 1.0e-9)) .+ 1.0e-8)
    @test learning_rate(0; high = 1.0, low = 0.1, period = 10) == 1
    @test learning_rate(5; high = 1.0, low = 0.1, period = 10) ≈ 0.55
    @test learning_rate(99; high = 1.0, low = 0.1, period = 10) == 0.1
end

@testset "training lowers the loss, in single precision" begin
    batches = [segments(32, 4, 0.1; T = Float32, seed) for seed in 1:3]
    model = volterra_model(; T = Float32, width = 16)
    trainer = Trainer(model, weights(model, Float32), Settings(; rtol = 1.0e-4, atol = 1.0e-4, retract = :never); weight_decay = 1.0e-4)
    before = first(evaluate(trainer, batches[1]))
    seen = Float32[]
    train!(trainer, batches; epochs = 30, rate = epoch -> learning_rate(epoch; high = 1.0e-2, low = 1.0e-4, period = 30), callback = (_, loss) -> push!(seen, loss))
    @test length(seen) == 30
    @test trainer.θ isa Vector{Float32}
    @test first(evaluate(trainer, batches[1])) < before / 3
end
