# What runs on JLArrays without scalar indexing runs on a GPU.
using JLArrays, LinearAlgebra, PNDE, Random, Zygote
using PNDE: condition, factorise, named_model, named_settings

include("card_arrays.jl")

rng = Xoshiro(6)

@testset "project, $(nameof(typeof(algorithm)))" for algorithm in (CholeskyProjection(), QRProjection(), TruncatedProjection())
    for m in (1, 4), T in (Float32, Float64)
        G, v, b, W = randn(rng, T, m, 9, 5), randn(rng, T, 9, 5), randn(rng, T, m, 5), rand(rng, T, 9, 5) .+ 1
        for offset in (nothing, b), metric in (nothing, W)
            there = map(x -> x === nothing ? x : JLArray(x), (G, v, offset, metric))
            p = project(algorithm, there...)
            @test p isa JLArray
            @test Array(p) ≈ project(algorithm, G, v, offset, metric)
            loss(G, v) = sum(abs2, project(algorithm, G, v, offset === nothing ? nothing : oftype(v, offset), metric === nothing ? nothing : oftype(v, metric)) .- 1)
            here = gradient(loss, G, v)
            @test all(map((x, y) -> isapprox(Array(x), y; rtol = 1000eps(T)), gradient(loss, there[1], there[2]), here))
        end
        @test Array(condition(factorise(algorithm, JLArray(G), nothing))) ≈ condition(factorise(algorithm, G, nothing))
    end
end

@testset "$(nameof(typeof(law)))" for (law, u) in (
        (Quartic(), randn(rng, 4, 5)), (LotkaVolterra(), rand(rng, 2, 5) .+ 1), (Rods(), randn(rng, 16, 5)),
        (ieee14(), vcat(ones(14, 5), zeros(14, 5)) .+ 0.1 .* randn(rng, 28, 5)),
        (ieee14(; along_branches = true), vcat(ones(14, 5), zeros(14, 5)) .+ 0.1 .* randn(rng, 28, 5)), (Linear(randn(rng, 2, 4)), randn(rng, 4, 5)),
    )
    n = size(u, 1)
    model(constant, method) = Model(; sizes = (n, 8, 8, n), method, constraint = law, mean = constant(zeros(n)), std = constant(ones(n)))
    c = value(law, u, 0.0)
    for method in (SNDE(0.5), Projected())
        here = model(identity, method)
        θ = 0.4 .* sin.(1.3 .* (1:length(here.layout)))
        loss(model, c) = (θ, u) -> sum(abs2, velocity(model, θ, u, c, 0.0))
        there = loss(model(JLArray, method), JLArray(c))
        @test there(JLArray(θ), JLArray(u)) ≈ loss(here, c)(θ, u)
        @test all(map((x, y) -> Array(x) ≈ y, gradient(there, JLArray(θ), JLArray(u)), gradient(loss(here, c), θ, u)))
    end
    off = u .+ 1.0e-3
    @test Array(retract(CholeskyProjection(), law, nothing, JLArray(off), 0.0, JLArray(c))) ≈ retract(CholeskyProjection(), law, nothing, off, 0.0, c)
end

"States `(n, 5)`, the law, the order and a time step of each system of the paper."
const SYSTEMS = let angles = 0.3 .* randn(rng, 8, 5), rates = 0.1 .* randn(rng, 8, 5)
    hanging(N) = (links = cumsum(sin.(angles[1:N, :]); dims = 1), heights = cumsum(.-cos.(angles[1:N, :]); dims = 1))
    moving(N) = vcat(
        hanging(N)..., cumsum(cos.(angles[1:N, :]) .* rates[1:N, :]; dims = 1), cumsum(sin.(angles[1:N, :]) .* rates[1:N, :]; dims = 1),
    )
    (
        (Quartic(), randn(rng, 4, 5), 2, 0.1), (LotkaVolterra(), rand(rng, 2, 5) .+ 1, 1, 0.1), (Rods(), moving(4), 2, 0.02),
        (Rods(), moving(8), 2, 0.02), (ieee14(), vcat(ones(14, 5), zeros(14, 5)) .+ 0.05 .* randn(rng, 28, 5), 1, 0.1),
    )
end

@testset "a card's training and forecast are the host's: $(nameof(typeof(law))), $(size(u, 1)) states" for (law, u, order, dt) in SYSTEMS
    n, grid = size(u, 1), dt .* (0:4)
    c = value(law, u, 0.0)
    points = u[:, 1:1, :] .* 0 .+ reshape(u, n, 1, 5) .+ 0.05 .* reshape(0:4, 1, 5) .* randn(rng, n, 5, 5)
    known = rand(rng, n, 5, 5) .< 0.8
    @testset "$method" for method in ("nde", "snde", "pnde")
        model(place) = named_model(;
            sizes = [n, 8, 8, n ÷ order], activation = "gelu", skip = true, method, gamma = 0.5, constraint = law,
            projection = "cholesky", mean = place(zeros(n)), std = place(ones(n)), speed = place(fill(0.5, n ÷ order)), order,
            features = "state", metric = place(1 .+ 0.1 .* (1:n)), physics = nothing,
        )
        θ = 0.4 .* sin.(1.3 .* (1:length(model(identity).layout)))
        function trained(place, adjoint, retract)
            settings = named_settings(; solver = "tsit5", rtol = 1.0e-8, atol = 1.0e-8, max_steps = 1000, adjoint, retract)
            batch(grid, known...) = Segments(place(points), place(c), place(zeros(5)), grid, place(fill(0.2, 5)), known...)
            trainer = Trainer(model(place), place(θ), settings; weight_decay = 0.01, clip = 1.0)
            told = step!(trainer, batch(collect(grid)), 1.0e-2)
            own = step!(trainer, batch(repeat(grid, 1, 5), place(Float64.(known))), 1.0e-2)
            return trainer.θ, told, own, evaluate(trainer, batch(collect(grid)))
        end
        for (adjoint, retract) in (("discretise", "step"), ("backsolve", "save"))
            here, there = trained(identity, adjoint, retract), trained(JLArray, adjoint, retract)
            @test there[1] isa JLArray
            @test Array(there[1]) ≈ here[1] rtol = 1.0e-9
            @test all(map((x, y) -> all(isapprox.(x, y; rtol = 1.0e-9)), there[2:4], here[2:4]))
        end
        times = repeat(dt .* (0:3:12), 1, 5)
        for (solver, step, retract) in (("tsit5", dt / 4, "step"), ("tsit5", nothing, "save"), ("dopri8", nothing, "never"))
            settings = named_settings(; solver, step, retract, rtol = 1.0e-10, atol = 1.0e-10, max_steps = 1000)
            forecast(place) = rollout(model(place), place(θ), place(u), times, place(c), settings)
            here, there = forecast(identity), forecast(JLArray)
            @test there.u ≈ here.u rtol = step === nothing ? 1.0e-7 : 1.0e-11
            @test there.status == here.status
            step === nothing || @test there.steps == here.steps
        end
    end
end

@testset "inputs and parameters on a card: $(nameof(typeof(law)))" for (law, u, order, k, r) in (
        (Rods(; moving_pivot = true), randn(rng, 8, 3), 2, 2, 0), (LotkaVolterraFamily(), 1 .+ rand(rng, 2, 3), 1, 0, 2),
        (Constraint((u, w) -> w[1] * u[1] + u[2]^2; takes = (:w,)), randn(rng, 4, 3), 1, 1, 1),
    )

    n, grid, jumps = size(u, 1), 0.1 .* (0:4), law isa Constraint
    knots = k == 0 ? nothing : repeat([-0.1, 0.17], 1, 3)
    coefficients = k == 0 ? nothing : 0.3 .* randn(rng, k, 4, 2, 3)
    p = r == 0 ? nothing : rand(rng, r, 3)
    function driven(place, jumps)
        return Drive(
            place(zeros(3)), knots, coefficients, fill(0.17, Int(jumps), 3), zeros(0, 3), p === nothing ? nothing : place(p),
            jumps ? Jump([false], nothing) : nothing,
        )
    end
    c = value(law, u, PNDE.instant(driven(identity, false), 0.0))
    points = reshape(u, n, 1, 3) .+ 0.05 .* reshape(0:4, 1, 5) .* randn(rng, n, 5, 3)
    model(place) = Model(;
        sizes = (n + k + r, 8, n ÷ order), method = Projected(), constraint = law, mean = place(zeros(n)), std = place(ones(n)), order,
        condition_mean = place(fill(0.1, k + r)), condition_std = place(ones(k + r)),
    )
    θ = 0.4 .* sin.(1.3 .* (1:length(model(identity).layout)))
    function trained(place)
        batch = Segments(place(points), place(c), driven(place, jumps), collect(grid), place(fill(1 / 3, 3)))
        return loss_and_gradient(model(place), place(θ), batch, Settings(; step = 0.05, retract = :step))[1:2]
    end
    here, there = trained(identity), trained(JLArray)
    @test there[1] ≈ here[1] rtol = 1.0e-10
    @test there[2] isa JLArray
    @test Array(there[2]) ≈ here[2] rtol = 1.0e-9
    forecast(place, jumps) =
        rollout(model(place), place(θ), place(u), repeat(collect(grid), 1, 3), place(c), Settings(; step = 0.02), driven(place, jumps))
    jumps || @test forecast(JLArray, false).u ≈ forecast(identity, false).u rtol = 1.0e-10
    jumps && @test_throws "inputs that jump are for the host" forecast(JLArray, true)
end

@testset "velocities along a conserved quantity on a card" begin
    u = randn(rng, 4, 5)
    c = value(Quartic(), u, 0.0)
    model(place) = Model(;
        sizes = (4, 8, 6), method = Projected(), constraint = Quartic(), form = SkewGradient(4), speed = place([0.5, 1.5, 2.5, 3.5]),
        mean = place(zeros(4)), std = place(ones(4)),
    )
    θ = 0.4 .* sin.(1.3 .* (1:length(model(identity).layout)))
    function loss(place)
        there = model(place), place(c)
        return (θ, u) -> sum(abs2, velocity(there[1], θ, u, there[2], 0.0))
    end
    @test loss(JLArray)(JLArray(θ), JLArray(u)) ≈ loss(identity)(θ, u)
    @test all(map((x, y) -> Array(x) ≈ y, gradient(loss(JLArray), JLArray(θ), JLArray(u)), gradient(loss(identity), θ, u)))
end

@testset "a twin of a user's runs on the host, and the rest of its model where it is" begin
    law = Constraint((u, t) -> [u[1]^2 + u[2]^2 - sin(t), u[3]]; takes = (:t,), domain = u -> u[1] > -10)
    metric = u -> 1 .+ u .^ 2
    u, t = randn(rng, 4, 5), rand(rng, 5)
    c = value(law, u, t)
    model(place) = Model(; sizes = (4, 8, 4), method = Projected(), constraint = law, metric, mean = place(zeros(4)), std = place(ones(4)))
    θ = 0.4 .* sin.(1.3 .* (1:length(model(identity).layout)))
    function loss(place)
        there = model(place), place(c), place(t)
        return (θ, u) -> sum(abs2, velocity(there[1], θ, u, there[2:3]...))
    end
    @test loss(JLArray)(JLArray(θ), JLArray(u)) ≈ loss(identity)(θ, u)
    @test all(map((x, y) -> Array(x) ≈ y, gradient(loss(JLArray), JLArray(θ), JLArray(u)), gradient(loss(identity), θ, u)))
    @test all(PNDE.indomain(law, JLArray(u)))
end

@testset "forecasts as one batch end as those one by one" begin
    # Each of the five ways: done, too many steps, no longer finite, out of the domain, and rows that are lost.
    model = Model(; sizes = (2, 2), method = NDE(), constraint = nothing, mean = zeros(2), std = ones(2))
    push(x, y) = [0.0, 0, 0, 0, x, y]  # weights, then the bias: a constant velocity
    times = repeat(0:0.5:2.0, 1, 3)
    both(model, θ, u, c, settings) =
        (rollout(model, θ, u, times, c, settings), PNDE.rollout_together(model, PNDE.Weights(model.layout, θ), u, times, c, settings))
    function same(model, θ, u, c, settings)
        here, there = both(model, θ, u, c, settings)
        @test there.status == here.status
        @test isnan.(there.u) == isnan.(here.u)
        finite = isfinite.(here.u)
        @test there.u[finite] ≈ here.u[finite] rtol = 1.0e-6
        return there.status
    end
    settings(; options...) = Settings(; rtol = 1.0e-8, atol = 1.0e-8, options...)
    u = [1.0 2.0 3.0; 1.0 1.0 1.0]
    @test all(iszero, same(model, push(-0.1, 0.1), u, zeros(0, 3), settings()))
    @test all(==(Int8(PNDE.MAX_STEPS)), same(model, push(1.0, 1.0), u, zeros(0, 3), settings(; step = 0.01, max_steps = 3)))
    @test all(==(Int8(PNDE.NON_FINITE)), same(model, push(NaN, 1.0), u, zeros(0, 3), settings()))
    law = Constraint(u -> u[2]; domain = u -> u[1] > 0.55)
    falling = Model(; sizes = (2, 2), method = Projected(), constraint = law, mean = zeros(2), std = ones(2))
    @test same(falling, push(-0.5, 0.0), u, ones(1, 3), settings(; step = 0.25)) == Int8.([PNDE.LEFT_DOMAIN, PNDE.OK, PNDE.OK])
    flat = Constraint(u -> u[2]^2)
    lost = Model(; sizes = (2, 2), method = Projected(), constraint = flat, mean = zeros(2), std = ones(2))
    status = same(lost, push(0.1, 0.0), [1.0 2.0 3.0; 0.0 1.0 1.0], [0.0 1.0 1.0], settings(; step = 0.25, retract = :never))
    @test status == Int8.([PNDE.RANK_DEFICIENT, PNDE.OK, PNDE.OK])
end

"Not too much of the first two of three shares."
struct Capped <: PNDE.AbstractConstraint end
PNDE.value(::Capped, u, at) = 0.4 .- u[1:1, :] .^ 2 .- u[2:2, :] .^ 2
PNDE.constraint_jacobian(::Capped, u, at) = reshape(vcat(-2 .* u[1:2, :], zero(u[1:1, :])), 1, 3, :)

"The loss and gradient of segments, and a forecast, on the host and on the card."
function on_both(model, θ, u, c, dt)
    points = reshape(u, size(u, 1), 1, :) .+ 0.02 .* reshape(0:3, 1, 4) .* sin.(1:size(u, 1))
    B = size(u, 2)
    return map((identity, JLArray)) do place
        batch = Segments(place(points), place(c), place(zeros(B)), dt .* (0:3), place(fill(1 / B, B)))
        loss, gradient, status, _ = loss_and_gradient(model(place), place(θ), batch, Settings(; step = dt, retract = :step))
        out = rollout(model(place), place(θ), place(u), repeat(dt .* (0:2:10), 1, B), place(c), Settings(; step = dt))
        (; loss, gradient = Array(gradient), status, out)
    end
end

@testset "inequalities on a card, $(law === nothing ? "alone" : "with a law")" for law in (nothing, Linear(ones(1, 3)))
    # One that is a state, and one that is none.
    rows = law === nothing ? States([1, 2], 3) : Stacked(States([1, 2], 3), Capped())
    m = law === nothing ? 2 : 3
    bounds = Bounds(rows, [1, 2, 0][1:m], zeros(m), fill(Inf, m), fill(2.0, m), ones(m))
    model(place) = Model(; sizes = (3, 8, 3), method = Projected(), constraint = law, bounds, mean = place(zeros(3)), std = place(ones(3)))
    θ = sin.(1.3 .* (1:length(model(identity).layout)))
    u = [0.02 0.6 0.0; 0.5 0.05 0.1; 0.48 0.35 0.9]
    here, there = on_both(model, θ, u, ones(law === nothing ? 0 : 1, 3), 0.1)
    @test there.loss ≈ here.loss && there.gradient ≈ here.gradient && there.status == here.status == PNDE.OK
    @test there.out.u ≈ here.out.u && minimum(there.out.u[1:2, :, :]) == 0 == minimum(here.out.u[1:2, :, :])
    @test all(iszero, there.out.status)
end

@testset "mechanics on a card" begin
    k, angles = 4, randn(rng, 2, 3)
    layout = PartsLayout(
        (; potential = (k, 8, 1), masses = (k, 8, k^2), dissipation = (k, 8, k^2)),
        (; potential_linear = (1, k), masses_linear = (k^2, k), dissipation_linear = (k^2, k), dissipation_factor = (k, k), dissipation_skew = (k, k)),
    )
    form = Mechanical(; spread = ones(k), kappa = 1.0, omega = 1.0, rows = 3:4)
    model(place) = Model(;
        sizes = (k, 8, 1), method = Projected(), constraint = Rods(), order = 2, form, layout, mean = place(zeros(2k)), std = place(ones(2k)),
    )
    u = vcat(cumsum(sin.(angles); dims = 1), cumsum(.-cos.(angles); dims = 1), zeros(4, 3))
    here, there = on_both(model, 0.3 .* sin.(1.3 .* (1:length(layout))), u, value(Rods(), u, 0.0), 0.02)
    @test there.loss ≈ here.loss
    @test there.gradient ≈ here.gradient rtol = 1.0e-9
    @test there.out.u ≈ here.out.u && all(iszero, there.out.status)
end
