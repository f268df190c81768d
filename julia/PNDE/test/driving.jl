# Inputs and parameters: laws, velocities, forecasts and training under them.
using FiniteDifferences, LinearAlgebra, PNDE, Random, Zygote
using PNDE: OK, after_jump, apply, batch_loss, dense, drift, instant, later, with_jumps

rng = Xoshiro(6)

"Cubic inputs `(k, B)` on three pieces, with a jump at the last knot if `jumps`."
function drive(k, B; p = nothing, jumps = false, fixed = Bool[], free = nothing, T = Float64, start = collect(range(1.0, 2.0, B)))
    knots = repeat(T[-0.1, 0.13, 0.24], 1, B)
    coefficients = T.(0.3 .* randn(Xoshiro(1), k, 4, 3, B))
    coefficients[:, 1, :, :] .+= T(1.5)
    # They go on at the second knot, where nothing is said to jump.
    coefficients[:, 1, 2, :] .= sum(coefficients[:, d, 1, :] .* T(0.23)^(d - 1) for d in 1:4)
    jump = jumps ? Jump(fixed, free) : nothing
    return Drive(start, knots, coefficients, jumps ? repeat(T[0.24], 1, B) : zeros(T, 0, B), zeros(T, 0, B), p, jump)
end

"The instant a time s later."
moved(at::Instant, s) = Instant(at.t .+ s, at.w .+ s .* at.rate .+ s^2 / 2 .* at.curvature, at.rate .+ s .* at.curvature, at.curvature, at.p)

weights(model, T = Float64) = T.(0.4 .* sin.(1.3 .* (0:(length(model.layout) - 1)) .+ 0.7))

function driven_model(law; n = 4, k = 2, r = 0, method = Projected(), T = Float64, options...)
    return Model(;
        sizes = (n + k + r, 8, n), method, constraint = law, mean = zeros(T, n), std = ones(T, n),
        condition_mean = fill(T(0.1), k + r), condition_std = fill(T(1.2), k + r), options...,
    )
end

@testset "inputs are piecewise polynomials" begin
    driven = drive(2, 3)
    (; knots, coefficients) = driven
    for (s, piece) in ((0.0, 1), (0.2, 2), (0.24, 3), (0.3, 3), (-0.5, 1))
        at = instant(driven, s)
        x = s - knots[piece, 1]
        a = coefficients[:, :, piece, :]
        @test at.t == driven.start .+ s
        @test at.w ≈ a[:, 1, :] .+ x .* a[:, 2, :] .+ x^2 .* a[:, 3, :] .+ x^3 .* a[:, 4, :]
        @test at.rate ≈ a[:, 2, :] .+ 2x .* a[:, 3, :] .+ 3x^2 .* a[:, 4, :]
        @test at.curvature ≈ 2 .* a[:, 3, :] .+ 6x .* a[:, 4, :]
    end
    @test instant(driven, [0.0, 0.2, 0.3]).w[:, 2] == instant(driven, 0.2).w[:, 2]
    @test PNDE.instants(PNDE.of_trajectories(driven, 2), [0.0, 0.3]).w[:, 2] == instant(driven, 0.3).w[:, 2]
    # A solve that ends at a jump sees what was before it.
    before = PNDE.up_to(drive(2, 3; jumps = true), 0.24)
    @test instant(before, 0.24).w ≈ instant(driven, prevfloat(0.24)).w
    @test instant([1.0, 2.0], 0.5) == [1.5, 2.5] && instant(1.0, 0.5) == 1.5
end

"The 14-bus grid with the demand of buses 4 and 9 as inputs, active power alone."
function ieee14_of_loads()
    (; loads, slack) = ieee14()
    demand = zeros(2 * size(loads, 1) + 2 * size(slack, 1), 2)
    demand[1, 1], demand[5, 2] = 0.01, 0.01
    return ieee14(; demand)
end

const DRIVEN_LAWS = (
    ("rods on a moving pivot", Rods(; moving_pivot = true), randn(rng, 8, 3)),
    ("loads", ieee14_of_loads(), vcat(ones(14, 3), zeros(14, 3)) .+ 0.1 .* randn(rng, 28, 3)),
    ("a family", LotkaVolterraFamily(), rand(rng, 2, 3) .+ 0.5),
    ("a function", Constraint((u, t, w, p) -> [u[1] * w[1]^2 + p[1] * u[2] - sin(t), u[3] * w[2]]; takes = (:t, :w, :p)), randn(rng, 4, 3)),
    ("holonomic", Holonomic((q, t, w) -> (q[1] - w[1])^2 + (q[2] - w[2] * t)^2; takes = (:t, :w)), randn(rng, 4, 3)),
    ("several", Stacked(Constraint((u, w) -> u[1] * w[1]; takes = (:w,)), Quartic()), randn(rng, 4, 3)),
)

@testset "$name: derivatives" for (name, law, u) in DRIVEN_LAWS
    at = instant(drive(2, 3; p = 0.5 .+ rand(rng, 2, 3)), 0.2)
    G = PNDE.for_each_state(dense(constraint_jacobian(law, u, at)), u)
    differences = central_fdm(5, 1)
    for j in axes(u, 1)
        unit = (1:size(u, 1)) .== j
        @test G[:, j, :] ≈ differences(s -> value(law, u .+ s .* unit, at), 0.0) rtol = 1.0e-8 atol = 1.0e-9
    end
    b = drift(law, u, at)
    @test (b === nothing ? zero(value(law, u, at)) : b) ≈ differences(s -> value(law, u, moved(at, s)), 0.0) rtol = 1.0e-8 atol = 1.0e-9
    y = randn(rng, size(G))
    loss(u) = dot(y, PNDE.for_each_state(dense(constraint_jacobian(law, u, at)), u)) + sum(abs2, value(law, u, at))
    @test only(gradient(loss, u)) ≈ only(grad(central_fdm(5, 1), loss, u)) rtol = 1.0e-7
end

@testset "what is not there" begin
    @test_throws "takes parameters, and there are none" value(LotkaVolterraFamily(), ones(2, 1), 0.0)
    @test_throws "takes inputs, and there are none" value(Rods(; moving_pivot = true), ones(4, 1), instant(Drive([0.0], nothing, nothing, zeros(0, 1), zeros(0, 1), ones(1, 1)), 0.0))
end

@testset "velocities" begin
    law, u = DRIVEN_LAWS[1][2:3]
    driven = drive(2, 3; p = rand(rng, 1, 3))
    at = instant(driven, 0.2)
    c = value(law, u, at)
    model = driven_model(law; n = 8, r = 1)
    θ = weights(model)
    p = velocity(model, θ, u, c, at)
    # The law is kept: G p + ∂h/∂w ẇ = 0, with ẅ of the velocity rows.
    @test maximum(abs, apply(constraint_jacobian(law, u, at), p) .+ drift(law, u, at)) < 1.0e-12
    # The network sees w and p behind the state.
    layers = model.layout(θ)
    seen = vcat(u, (vcat(at.w, at.p) .- 0.1) ./ 1.2)
    by_hand = layers.layer_2.weight * PNDE.gelu.(layers.layer_1.weight * seen .+ layers.layer_1.bias) .+ layers.layer_2.bias
    @test PNDE.ambient_velocity(model, θ, u, at) ≈ by_hand
    physics = OfInstant((u, t, w, p) -> u .* t .+ w[1:1, :] .* p, (:t, :w, :p))
    @test PNDE.ambient_velocity(driven_model(law; n = 8, r = 1, physics), θ, u, at) ≈ by_hand .+ u .* at.t' .+ at.w[1:1, :] .* at.p
    loss(θ, u) = sum(abs2, velocity(model, θ, u, c, at))
    @test only(gradient(u -> loss(θ, u), u)) ≈ only(grad(central_fdm(5, 1), u -> loss(θ, u), u)) rtol = 1.0e-7
    single = drive(2, 3; p = rand(rng, Float32, 1, 3), T = Float32)
    model, θ = driven_model(law; n = 8, r = 1, T = Float32), Float32.(θ)
    @test velocity(model, θ, Float32.(u), Float32.(c), instant(single, 0.2f0)) isa Matrix{Float32}
end

"A radius that is an input, on the first two of three states; and an invariant that w scales."
const RADIUS = Constraint((u, w) -> u[1]^2 + u[2]^2 - w[1]; takes = (:w,))
const SCALED = Constraint((u, w) -> w[2] * u[1] + u[3]; takes = (:w,))

@testset "a jump" begin
    u, c, at = 0.3 .* randn(rng, 3, 4) .+ [0, 1, 0], zeros(2, 4), instant(drive(2, 4), 0.3)
    law = Stacked(RADIUS, SCALED)
    for metric in (nothing, [1.0, 2.0, 3.0], [2.0 0.5 0; 0.5 1 0; 0 0 1])
        model = driven_model(law; n = 3, metric)
        new, target = after_jump(model, Jump([true, false], [0.0, 1, 1]), u, at, c)
        @test maximum(abs, value(RADIUS, new, at)) < 1.0e-12
        @test new[1, :] == u[1, :] && new[3, :] ≈ u[3, :]
        @test target == vcat(zeros(1, 4), value(SCALED, new, at))
        new, _ = after_jump(model, Jump([true, true], nothing), u, at, c)
        @test maximum(abs, value(law, new, at)) < 1.0e-10
        @test after_jump(model, Jump([false, false], nothing), u, at, c) == (u, value(law, u, at))
    end
    @test after_jump(driven_model(law; n = 3), nothing, u, at, c) === (u, c)
end

@testset "forecasts through a jump: $(nameof(typeof(method)))" for method in (NDE(), SNDE(1.0), Projected())
    law, fixed = Stacked(RADIUS, SCALED), [true, false]
    model = driven_model(law; n = 3, method)
    θ = weights(model)
    driven = method isa NDE ? drive(2, 2; jumps = true, fixed) : drive(2, 2; jumps = true, fixed, free = [1.0, 1, 0])
    method isa NDE && (driven = Drive(driven.start, driven.knots, driven.coefficients, driven.jumps, driven.kinks, nothing))
    u0 = [1.0 -1; 0.5 1; 0.3 0.2]
    at = instant(driven, 0.0)
    u0[1:2, :] .*= sqrt.(at.w[1:1, :] ./ sum(abs2, u0[1:2, :]; dims = 1))
    c = vcat(zeros(1, 2), value(SCALED, u0, at))
    settings = Settings(; rtol = 1.0e-10, atol = 1.0e-10)
    # Samples at the jump, and off it, end in the same states.
    on, off = [0.0, 0.1, 0.24, 0.4], [0.0, 0.1, 0.2, 0.3, 0.4]
    both = map(s -> rollout(model, θ, u0, driven.start' .+ s, c, settings, driven), (on, off))
    @test all(out -> all(iszero, out.status), both)
    @test both[1].u[:, end, :] ≈ both[2].u[:, end, :] rtol = 1.0e-8
    method isa NDE && continue
    for (out, times) in zip(both, (on, off)), (k, s) in enumerate(times)
        h = value(law, out.u[:, k, :], instant(driven, s))
        @test maximum(abs, h .- out.c[:, k, :]) < (method isa Projected ? 1.0e-12 : 1.0)
        @test (out.c[:, k, :] ≈ c) == (s < 0.24)
    end
    # A jump at the last time: the state after it.
    last = rollout(model, θ, u0, driven.start' .+ [0.0, 0.1, 0.24], c, settings, driven)
    @test last.u[:, :, :] ≈ both[1].u[:, 1:3, :] rtol = 1.0e-9
    few = rollout(model, θ, u0, driven.start' .+ on, c, Settings(; step = 0.02, max_steps = 15), driven)
    @test all(==(Int8(PNDE.MAX_STEPS)), few.status) && all(isfinite, few.u[:, 3, :]) && all(isnan, few.u[:, 4, :])
end

"Segments of five points, of which those at `jumping` have a jump between or at the points."
function driven_segments(law, jumping; at_a_point = false, fixed = [true, false])
    S = 3
    driven = drive(2, S; jumps = true, fixed, free = [1.0, 1, 0])
    driven.jumps[1, setdiff(1:S, jumping)] .= Inf
    driven.knots[3, setdiff(1:S, jumping)] .= Inf
    u0, w = 0.5 .+ rand(Xoshiro(3), 3, S), instant(driven, 0.0).w
    u0[1:2, :] .*= sqrt.(w[1:1, :] ./ sum(abs2, u0[1:2, :]; dims = 1))
    c = vcat(zeros(1, S), value(SCALED, u0, instant(driven, 0.0)))[1:length(fixed), :]
    points = reshape(u0, 3, 1, S) .+ 0.1 .* reshape(0:4, 1, 5) .* randn(Xoshiro(4), 3, 5, S)
    return Segments(points, c, driven, (at_a_point ? 0.06 : 0.1) .* (0:4), fill(1 / S, S))
end

@testset "gradients across a jump: $(nameof(typeof(method))), $retract" for method in (NDE(), SNDE(1.0), Projected()),
        retract in (method isa Projected ? (:never, :save, :step) : (:never,))

    law = Stacked(RADIUS, SCALED)
    model = driven_model(law; n = 3, method)
    θ = weights(model)
    direction = normalize(randn(rng, length(θ)))
    for (jumping, at_a_point) in ((2:2, false), (1:3, true))
        batch = driven_segments(law, jumping; at_a_point)
        if method isa NDE
            d = batch.drive
            batch = Segments(batch.u, batch.c, Drive(d.start, d.knots, d.coefficients, d.jumps, d.kinks, nothing), batch.grid, batch.share)
        end
        # A fixed step, so that the differences see the same steps; a retraction's derivative is off by the size of its
        # residual, so with one they are small, and end where the inputs bend.
        settings = Settings(; step = retract === :never ? 0.03 : 0.01, retract)
        along(s) = batch_loss(model, θ .+ s .* direction, batch, settings)
        loss, gradient, status, _ = loss_and_gradient(model, θ, batch, settings)
        @test status == OK && loss ≈ along(0.0)
        rtol = retract === :never ? 1.0e-6 : 1.0e-3
        @test dot(gradient, direction) ≈ central_fdm(5, 1; max_range = 1.0e-2)(along, 0.0) rtol = rtol
    end
end

@testset "segments with and without a jump" begin
    model = driven_model(Stacked(RADIUS, SCALED); n = 3)
    batch, settings = driven_segments(model.constraint, 2:2), Settings(; rtol = 1.0e-11, atol = 1.0e-11, retract = :never)
    @test with_jumps(batch.drive, 0.4) == [false, true, false]
    @test map(part -> size(part.u, 3), PNDE.with_common_steps(batch)) == [1, 2]
    losses = map(s -> batch_loss(model, weights(model), PNDE.part(batch, s:s, batch.grid), settings), 1:3)
    @test batch_loss(model, weights(model), batch, settings) ≈ sum(losses) rtol = 1.0e-8
    apart = Segments(batch.u, batch.c, batch.drive, repeat(batch.grid, 1, 3), batch.share)
    @test batch_loss(model, weights(model), apart, settings) ≈ sum(losses) rtol = 1.0e-12
    backward = Settings(; adjoint = BacksolveAdjoint(; autojacvec = ZygoteVJP()), retract = :never)
    @test_throws "cannot go back through inputs that jump" loss_and_gradient(model, weights(model), batch, backward)
    # Single precision stays.
    single(x::AbstractArray) = Float32.(x)
    d = batch.drive
    driven = Drive(d.start, single(d.knots), single(d.coefficients), single(d.jumps), single(d.kinks), nothing, d.jump)
    batch = Segments(single(batch.u), single(batch.c), driven, single(batch.grid), single(batch.share))
    model = driven_model(model.constraint; n = 3, T = Float32)
    loss, gradient, status, _ = loss_and_gradient(model, weights(model, Float32), batch, Settings(; rtol = 1.0e-4, atol = 1.0e-4))
    @test loss isa Float32 && gradient isa Vector{Float32} && status == OK
end
