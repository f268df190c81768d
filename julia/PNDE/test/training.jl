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

"The number in a dual one."
plain(x) = Float64(PNDE.ForwardDiff.value(x))

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

@testset "evaluations that do not fit into memory are made again, to the same numbers" begin
    model, batch = volterra_model(), segments(3, 4, 0.1)
    θ, kept = weights(model), PNDE.KEPT_BYTES[]
    for retract in (:never, :step)
        settings = Settings(; rtol = 1.0e-6, atol = 1.0e-6, retract)
        expected = loss_and_gradient(model, θ, batch, settings)
        for most in (0, 100_000)
            PNDE.KEPT_BYTES[] = most
            @test loss_and_gradient(model, θ, batch, settings) == expected
        end
        PNDE.KEPT_BYTES[] = kept
    end
    # Float32 outputs and slopes of two hidden layers of 8 and the last of 2, of three states.
    @test PNDE.activation_bytes(volterra_model(; T = Float32), zeros(Float32, 2, 3)) == 2 * 4 * 3 * 18
end

@testset "the gradient of stored steps is that of the steps" begin
    # Loose tolerances: a step is fixed, so that the differences see the same steps.
    direction = normalize(randn(rng, length(weights(volterra_model()))))
    for method in (NDE(), SNDE(1.0), Projected()), solver in (Tsit5(), Vern9()), retract in (:never, :save, :step)
        model, batch = volterra_model(; method), segments(3, 4, 0.1)
        θ, settings = weights(model), Settings(; solver, step = 0.15, retract)
        along(s) = batch_loss(model, θ .+ s .* direction, batch, settings)
        loss, gradient, status, steps = loss_and_gradient(model, θ, batch, settings)
        @test status == PNDE.OK
        @test loss ≈ along(0.0) rtol = 1.0e-14
        @test dot(gradient, direction) ≈ central_fdm(5, 1; max_range = 1.0e-2)(along, 0.0) rtol = 1.0e-8
    end
end

@testset "stored steps and OrdinaryDiffEq's" begin
    model, batch = volterra_model(), segments(3, 4, 0.1)
    for solver in (Tsit5(), Vern9())
        θ, settings = weights(model), Settings(; solver, step = 0.05, retract = :never)
        predicted, _, status, steps = PNDE.predict(StoredSteps(), model, θ, batch, settings)
        expected = rollout(model, θ, batch.u[:, 1, :], repeat(batch.grid, 1, 3), batch.c, settings)
        @test permutedims(predicted, (1, 3, 2)) ≈ expected.u rtol = 1.0e-13
        @test status == PNDE.OK && steps == only(unique(expected.steps))
    end
end

@testset "an adjoint equation cannot retract each step" begin
    model, adjoint = volterra_model(), BacksolveAdjoint(; autojacvec = ZygoteVJP())
    @test_throws ArgumentError loss_and_gradient(model, weights(model), segments(3, 4, 0.1), tight(; retract = :step, adjoint))
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
    for T in (Float32, Float64)
        model, batch = volterra_model(; T), segments(3, 4, 0.1; T)
        trainer = Trainer(model, weights(model, T), settings; weight_decay = 0.1)
        # Long enough for powers of β that are taken anew to round differently.
        foreach(_ -> step!(trainer, batch, 1.0e-2), 1:12)
        mu, nu, beta = trainer.moments
        resumed = Trainer(model, trainer.θ, settings; weight_decay = 0.1, moments = (trainer.count, mu, nu, Float64.(beta)))
        foreach(t -> foreach(_ -> step!(t, batch, 1.0e-2), 1:3), (trainer, resumed))
        @test resumed.θ == trainer.θ && resumed.moments == trainer.moments && resumed.count == 15
    end
    clipped = Trainer(model, θ, settings; clip = 1.0e-9)
    step!(clipped, batch, 1.0e-2)
    @test clipped.θ ≈ θ .- 1.0e-2 .* clamp.(gradient, -1.0e-9, 1.0e-9) ./ (abs.(clamp.(gradient, -1.0e-9, 1.0e-9)) .+ 1.0e-8)
end

@testset "training lowers the loss, in single precision" begin
    batches = [segments(32, 4, 0.1; T = Float32, seed) for seed in 1:3]
    model = volterra_model(; T = Float32, width = 16)
    trainer = Trainer(model, weights(model, Float32), Settings(; rtol = 1.0e-4, atol = 1.0e-4, retract = :never); weight_decay = 1.0e-4)
    before = first(evaluate(trainer, batches[1]))
    for epoch in 0:29, batch in batches
        step!(trainer, batch, 1.0e-2 * (1 + cospi(epoch / 30)) / 2 + 1.0e-4)
    end
    @test trainer.θ isa Vector{Float32}
    @test first(evaluate(trainer, batches[1])) < before / 3
end

@testset "entries that are not known" begin
    model, whole = volterra_model(), segments(3, 4, 0.1)
    θ = weights(model)
    known = ones(2, 5, 3)
    with(u, known) = Segments(u, whole.c, whole.drive, whole.grid, whole.share, known)
    loss(segments) = loss_and_gradient(model, θ, segments, tight())[1:2]
    @test all(loss(with(whole.u, known)) .≈ loss(whole))
    known[1, 3, 1] = known[2, 4, 2] = 0
    hidden = ifelse.(known .> 0, whole.u, NaN)
    value, gradient = loss(with(hidden, known))
    @test all(isfinite, gradient) && (value, gradient) == loss(with(hidden, known))
    # By hand: the mean over what is known of each segment.
    predicted = rollout(model, θ, whole.u[:, 1, :], repeat(whole.grid, 1, 3), whole.c, tight()).u
    errors = ((permutedims(predicted, (1, 2, 3)) .- whole.u) ./ model.std)[:, 2:end, :] .* known[:, 2:end, :]
    @test value ≈ sum(sum(abs2, errors[:, :, s]) / sum(known[:, 2:end, s]) for s in 1:3) / 3 rtol = 1.0e-7
    apart = Segments(hidden, whole.c, whole.drive, repeat(whole.grid, 1, 3), whole.share, known)
    @test loss(apart)[1] ≈ value rtol = 1.0e-8
end

@testset "the absolute tolerance is in units of the states" begin
    # The same motion in other units takes the same steps.
    law = Constraint(u -> u[1]^2 + u[2]^2)
    function steps(unit)
        model = Model(;
            sizes = (2, 8, 2), method = NDE(), constraint = law, mean = zeros(2), std = unit .* ones(2), speed = unit .* ones(2),
        )
        batch = Segments(unit .* ones(2, 3, 1), zeros(1, 1), zeros(1), [0.0, 1.0, 2.0], [1.0])
        settings = Settings(; rtol = 1.0e-9, atol = 1.0e-3, retract = :never)
        loss, _, _, count = loss_and_gradient(model, weights(model), batch, settings)
        out = rollout(model, weights(model), unit .* ones(2, 1), reshape([0.0, 1.0, 2.0], :, 1), zeros(1, 1), settings)
        return loss, count, only(out.steps)
    end
    small, large = steps(1.0e-3), steps(1.0e3)
    @test small[1] ≈ large[1] rtol = 1.0e-6
    @test small[2:3] == large[2:3]
end

@testset "a law of time knows it in double precision" begin
    # In single precision 1e6 + 0.1 is 1e6 + 0.125.
    seen = Any[]
    law = Constraint((u, t) -> (push!(seen, t); u[1] - 0.5sin(t)); takes = (:t,))
    model = Model(; sizes = (2, 4, 2), method = Projected(), constraint = law, mean = zeros(Float32, 2), std = ones(Float32, 2))
    batch = Segments(ones(Float32, 2, 2, 1), zeros(Float32, 1, 1), [1.0e6 + 0.1], Float32[0, 0.5], Float32[1])
    θ = Float32.(weights(model))
    loss, gradient, status, _ = loss_and_gradient(model, θ, batch, Settings(; retract = :save, rtol = 1.0e-4, atol = 1.0e-4))
    @test loss isa Float32 && gradient isa Vector{Float32} && status == PNDE.OK
    @test minimum(plain, seen) ≈ 1.0e6 + 0.1 atol = 1.0e-6
end

@testset "conditions at the starts" begin
    model, batch = volterra_model(), segments(3, 4, 0.1)
    @test PNDE.conditions(model, batch) == ones(3)
end

@testset "garbage is collected after a step, or in its midst if it is large" begin
    collects() = (enabled = GC.enable(false); GC.enable(enabled); enabled)
    step(f, adjoint = StoredSteps()) = PNDE.without_collections(f, adjoint, zeros(2))
    @test !step(collects) && collects()
    @test step(collects, GaussAdjoint())
    @test !step(() -> (PNDE.collect_if_large(); collects()))
    most = PNDE.STEP_BYTES[]
    PNDE.STEP_BYTES[] = -1
    @test step(() -> (PNDE.collect_if_large(); collects()))
    PNDE.STEP_BYTES[] = most
    @test_throws ErrorException step(() -> error("in a step"))
    @test collects()
end

@testset "the depth of a network is no part of the model's type" begin
    model(sizes, skip) = Model(; sizes, skip, method = NDE(), mean = zeros(2), std = ones(2))
    @test typeof(model((2, 4, 2), false)) == typeof(model((2, 4, 4, 4, 2), true))
end
