using FiniteDifferences, ForwardDiff, LinearAlgebra, PNDE, Random, SparseArrays, Zygote
using PNDE: NaNMath, condition, dense, drift, factorise

include("run_program.jl")

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
    @test dense(constraint_jacobian(law, u, 0.0))[1, :, :] ≈ vcat(-4 .* u[1:1, :], fill(2.0, 1, 3))
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
    @test maximum(abs, out.u[2, :, :] .- out.u[1, :, :] .^ 2) < 1.0e-13
end

# The same with a slope and a level that are inputs: 0 = k (u₂ - u₁²) + (k - 2) - r.
function driven_example!(du, u, p, t)
    du[1] = p[3] - u[1] * u[2]
    du[2] = p[1] * (u[2] - u[1]^2) + (p[1] - 2) * u[1] - p[2]
    return nothing
end
plain = DifferentialAlgebraic(driven_example!, [true, false], [2.0, 0.0, 1.0], ["a", "b"], [1.0, 1.0]; parameters = ["k", "r", "s"])
driven = with_inputs(plain, ["r", "k"])
# Of r and k: r goes as sin, k jumps from 2 to 3 at 0.8.
function drive_of(B)
    knots, coefficients = repeat([0.0, 0.8], 1, B), zeros(2, 4, 2, B)
    coefficients[1, :, 1, :] .= [0.0, 0.3, -0.1, 0.05]
    coefficients[1, :, 2, :] .= [0.2, 0.1, 0.0, 0.0]
    coefficients[2, 1, :, :] .= [2.0, 3.0]
    return Drive(zeros(B), knots, coefficients, fill(0.8, 1, B), zeros(0, B), nothing)
end

@testset "parameters are inputs" begin
    at = PNDE.instant(drive_of(3), 0.5)
    law, u = AlgebraicRows(driven), randn(rng, 2, 3)
    r = at.w[1]
    @test value(law, u, at) ≈ 2 .* (u[2:2, :] .- u[1:1, :] .^ 2) .- r
    @test drift(law, u, at) ≈ fill(-at.rate[1], 1, 3)
    @test drift(AlgebraicRows(plain), u, 0.0) === nothing
    @test dense(constraint_jacobian(law, u, at))[1, :, :] ≈ vcat(-4 .* u[1:1, :], fill(2.0, 1, 3))
    @test_throws r"no parameter q" with_inputs(plain, ["q"])
    # With a rate of k the drift knows the state.
    moving = Instant(at.t, at.w, at.rate .+ [0.0, 0.7], at.curvature, nothing)
    v, w = randn(rng, 2, 3), randn(rng, 2, 3)
    loss(u) = dot(w, project(constraint_jacobian(law, u, moving), v, drift(law, u, moving)))
    @test only(gradient(loss, u)) ≈ only(grad(central_fdm(5, 1), loss, u)) rtol = 1.0e-7
    steps = PNDE.algebraic_program(driven)
    for b in 1:3
        @test run_program(steps, [u[:, b]; at.w[:, b]]) ≈ PNDE.algebraic_rows(driven, u[:, b], PNDE.at_state(at, b)) rtol = 1.0e-14
    end
end

@testset "the truth under inputs that move and jump" begin
    times, drive = collect(0:0.25:2.0), drive_of(2)
    out = simulate(driven, [0.5 1.2; 0.25 1.44], times; drive)
    @test all(iszero, out.status)
    # u₂ follows from u₁, whose equation is solved on both sides of the jump.
    second(x, r, k) = (r - (k - 2) * x) / k + x^2
    r(s) = first(PNDE.instant(PNDE.of_trajectories(drive, 1), s).w)
    settings = Settings(; solver = Vern9(), rtol = 1.0e-12, atol = 1.0e-12, retract = :never)
    function exact(x, from, to, k)
        reduced!(du, u, s) = (du[1] = 1 - u[1] * second(u[1], r(s), k))
        return PNDE.integrate(reduced!, fill(x, 1, 1), reshape([from, to], 2, 1), settings).u[1, end, 1]
    end
    for (b, start) in ((1, 0.5), (2, 1.2))
        at_jump = exact(start, 0.0, prevfloat(0.8), 2.0)
        @test out.u[1, 4, b] ≈ exact(start, 0.0, 0.75, 2.0) rtol = 1.0e-7
        @test out.u[1, 5, b] ≈ exact(at_jump, 0.8, 1.0, 3.0) rtol = 1.0e-7
        @test out.u[1, end, b] ≈ exact(at_jump, 0.8, 2.0, 3.0) rtol = 1.0e-7
        for (k, s) in enumerate(times)
            @test abs(value(AlgebraicRows(driven), out.u[:, k:k, b], PNDE.instant(PNDE.of_trajectories(drive, b), s))[1]) < 1.0e-13
        end
    end
    # A sample at the jump, the last of all, is that after it.
    ended = simulate(driven, [0.5; 0.25;;], [0.0, 0.8]; drive = PNDE.of_trajectories(drive, 1:1))
    before = simulate(driven, [0.5; 0.25;;], [0.0, prevfloat(0.8)]; drive = PNDE.of_trajectories(drive, 1:1))
    @test ended.u[1, 2, 1] ≈ before.u[1, 2, 1] rtol = 1.0e-9
    @test ended.u[2, 2, 1] ≈ second(ended.u[1, 2, 1], 0.2, 3.0) rtol = 1.0e-12
end

# Two loads that draw constant powers, fed by a voltage that follows them: rows that know few of the states.
function ladder!(du, u, p, t)
    a, b, c, d, e = u
    du[1] = -a + 0.1 * (1 - b)
    du[2] = b * (b - a) + 0.2 + ifelse(b < 0.2, b, 0.1 * sqrt(b))
    du[3] = c^3 * (c - b) + p[1] * c / (1 + d^2)
    du[4] = d - sin(c)^2.0
    du[5] = e - exp(-0.3d) + max(e, 2.0) + a^1.5
    return nothing
end
const LADDER = sparse(Bool[1 1 0 0 0; 1 1 0 0 0; 0 1 1 1 0; 0 0 1 1 0; 1 0 0 1 1])
ladder(pattern) = DifferentialAlgebraic(ladder!, [true, false, false, false, false], [0.3], string.('a':'e'), ones(5); pattern)
states = 0.5 .+ rand(rng, 5, 3)

@testset "a sparse Jacobian is the dense one, with its derivatives" begin
    sparse_law, dense_law = AlgebraicRows(ladder(LADDER)), AlgebraicRows(ladder(nothing))
    @test maximum(sparse_law.colours) < maximum(dense_law.colours) == 5
    G = constraint_jacobian(sparse_law, states, 0.0)
    rows(u) = PNDE.algebraic_rows(sparse_law.system, u, 0.0)
    @test dense(G) ≈ stack(ForwardDiff.jacobian(rows, u) for u in eachcol(states)) ≈ dense(constraint_jacobian(dense_law, states, 0.0))
    v, b, W, w = randn(rng, 5, 3), randn(rng, 4, 3), 1 .+ rand(rng, 5, 3), randn(rng, 5, 3)
    for metric in (nothing, W), algorithm in (CholeskyProjection(), QRProjection())
        @test project(algorithm, G, v, b, metric) ≈ project(algorithm, dense(G), v, b, metric)
        loss(law) = u -> dot(w, project(algorithm, constraint_jacobian(law, u, 0.0), v, value(law, u, 0.0), metric))
        expected = only(grad(central_fdm(5, 1), loss(sparse_law), states))
        @test only(gradient(loss(sparse_law), states)) ≈ expected rtol = 1.0e-7
        @test only(gradient(loss(dense_law), states)) ≈ expected rtol = 1.0e-7
    end
    # The order of the pivots is CHOLMOD's own, and solutions are as good as those of QR.
    conditions = map((algorithm, G) -> condition(factorise(algorithm, G, nothing)), (CholeskyProjection(), QRProjection()), (G, dense(G)))
    @test all(0.2 .< conditions[1] ./ conditions[2] .< 5)
    @test eltype(constraint_jacobian(sparse_law, Float32.(states), 0.0f0).values) == Float32
    # A row of zeros has no factor.
    singular = PNDE.SparseJacobian(LADDER, zeros(count(LADDER), 1))
    @test all(isnan, project(singular, ones(5, 1)))
    # The derivative of the pair (p, G) forwards.
    Ġ = PNDE.SparseJacobian(G.pattern, randn(rng, size(G.values)))
    tangent = PNDE.ChainRulesCore.Tangent{typeof(G)}(; values = Ġ.values)
    none = PNDE.ChainRulesCore.NoTangent()
    _, change = PNDE.ChainRulesCore.frule((none, none, tangent, v, b, none), project, CholeskyProjection(), G, v, b, nothing)
    moved(s) = project(CholeskyProjection(), dense(G) .+ s .* dense(Ġ), v .+ s .* v, b .+ s .* b)
    @test change ≈ central_fdm(5, 1)(moved, 0.0)
end

@testset "the equations as a program" begin
    system = ladder(LADDER)
    steps = PNDE.program(u -> PNDE.algebraic_rows(system, u, 0.0), 5)
    for u in (eachcol(states)..., [0.5, 0.1, 1.0, 1.0, 3.0])
        @test run_program(steps, u) ≈ PNDE.algebraic_rows(system, u, 0.0) rtol = 1.0e-14
    end
    every(u) = [
        u[1]^2 + 2u[1] - u[2]; u[1]^-2; 2.0^u[1]; u[1]^u[2]; u[1]^(1 // 2); abs2(u[1]); inv(u[2]) / 3; u[1] / 4 + true
        1 // 2 * u[1]; π * u[2]; hypot(u[1], u[2]); atan(u[1], u[2]); min(u[1], 2); tanh(-u[1]); NaNMath.sqrt(u[1])
        NaNMath.pow(u[1], 2); NaNMath.pow(u[2], 1.5); NaNMath.max(u[1], 1.5)
        ifelse(!(u[1] <= u[2]) & (u[1] < 9), u[1], 1); ifelse((u[1] == 2) | (u[2] < 3), 0, u[2])
    ]
    for u in ([1.0, 2.0], [2.5, 0.5])
        @test run_program(PNDE.program(every, 2), u) ≈ every(u) rtol = 1.0e-14
    end
    # What is affine leaves no operation behind.
    @test length(PNDE.program(u -> [3 * (u[1] - 2u[2]) / 4 + 1], 2)) == 1
    # Branches: of the four ways through this one, and none for the row that does not know them.
    function branches(u)
        limited = u[1] > 2 ? 2u[1] : u[2]
        return [u[2] < 1 ? sin(limited) : limited * u[1], u[1] * u[2]]
    end
    steps = PNDE.program(branches, 2)
    for u in ([1.0, 0.5], [3.0, 0.5], [1.0, 1.5], [3.0, 1.5])
        @test run_program(steps, u) ≈ branches(u) rtol = 1.0e-14
    end
    limiters(u) = [sum(x -> x > 1 ? x : 1.0, u), u[1] * u[2]]
    @test length(PNDE.program(u -> limiters(u)[2:2], 20)) == 2
    @test_throws r"too many branches" PNDE.program(limiters, 20)
    @test_throws r"cannot be written as a program" PNDE.program(u -> [Float64(u[1])], 2)
end
