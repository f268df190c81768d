using FiniteDifferences, ForwardDiff, LinearAlgebra, PNDE, Random, Zygote
using ModelingToolkit: @named
using NetworkDynamics: ComponentAffect, PresetTimeComponentCallback, VIndex, set_callback!
using PowerDynamics
using PowerDynamics.Library
using PNDE: algebraic_rows, dense, program

include("run_program.jl")

rng = Xoshiro(9)

# A machine, a junction, a load of constant power, and a mixed load.
function four_buses()
    @named machine = SauerPaiMachine(;
        vf_input = false, τ_m_input = false, S_b = 100, V_b = 1, ω_b = 2π * 50, H = 23.64, X_d = 0.146, X_q = 0.0969,
        X′_d = 0.0608, X′_q = 0.0969, X″_d = 0.06, X″_q = 0.06, X_ls = 0.0146, T′_d0 = 8.96, T″_d0 = 0.01, T′_q0 = 0.31,
        T″_q0 = 0.01, R_s = 0.000125, D = 2,
    )
    @named constant = PQLoad(; Pset = -0.5, Qset = -0.2)
    @named mixed = ZIPLoad(; Pset = -0.4, Qset = -0.1, Vset = 1, KpZ = 0.3, KqZ = 0.4, KpI = 0.3, KqI = 0.2)
    buses = [
        compile_bus(MTKBus(machine); vidx = 1, pf = pfSlack(; V = 1.04), name = :generator),
        compile_bus(MTKBus(); vidx = 2, name = :junction),
        compile_bus(MTKBus(constant); vidx = 3, pf = pfPQ(; P = -0.5, Q = -0.2), name = :constant),
        compile_bus(MTKBus(mixed); vidx = 4, name = :mixed),
    ]
    line(src, dst) = compile_line(
        MTKLine(PiLine(; R = 0.01, X = 0.085, B_src = 0.088, B_dst = 0.088, name = :pi)); src, dst, name = Symbol(:line, src, dst),
    )
    return Network(buses, [line(1, 2), line(2, 3), line(2, 4), line(3, 4)]; warn_order = false)
end

network = four_buses()
system = DifferentialAlgebraic(network)
law = AlgebraicRows(system)
n, m = length(system.moving), count(!, system.moving)
f(u) = (du = similar(u); system.f!(du, u, system.p, 0.0); du)

@testset "the network as it is" begin
    @test 0 < m < n
    @test "generator₊machine₊ω" in system.names && "junction₊busbar₊u_r" in system.names
    @test allunique(system.names)
    @test norm(f(system.operation_point)) < 1.0e-8
    J = ForwardDiff.jacobian(f, system.operation_point)
    @test all(system.pattern[i, j] for i in 1:n, j in 1:n if J[i, j] != 0)
    @test maximum(law.colours) < n
end

@testset "callbacks are not passed over in silence" begin
    @test_logs DifferentialAlgebraic(network)
    set_callback!(network, VIndex(3), PresetTimeComponentCallback(0.1, ComponentAffect((u, p, context) -> nothing, [], [])))
    @test_logs (:warn, r"callbacks.* are left out") DifferentialAlgebraic(network)
end

u0 = ambient_forcing(system, randn(rng, n, 3) .* .!system.moving; τ = 0.1)

@testset "states and data are consistent" begin
    @test maximum(abs, value(law, u0, 0.0)) < 1.0e-12
    @test minimum(norm.(eachcol(u0 .- system.operation_point))) > 1.0e-3
    out = simulate(system, u0, collect(0:0.05:1.0))
    @test all(iszero, out.status)
    @test maximum(abs, value(law, reshape(out.u, n, :), 0.0)) < 1.0e-12
    rest = simulate(system, reshape(system.operation_point, :, 1), [0.0, 1.0])
    @test rest.u[:, end, 1] ≈ system.operation_point rtol = 1.0e-6
end

@testset "the law and its derivatives" begin
    G = constraint_jacobian(law, u0, 0.0)
    @test dense(G) ≈ stack(ForwardDiff.jacobian(u -> algebraic_rows(system, u, 0.0), u) for u in eachcol(u0))
    v, w = randn(rng, n, 3), randn(rng, n, 3)
    loss(u) = dot(w, project(constraint_jacobian(law, u, 0.0), v, value(law, u, 0.0)))
    direction = randn(rng, n, 3)
    @test dot(only(gradient(loss, u0)), direction) ≈ central_fdm(5, 1; max_range = 1.0e-3)(s -> loss(u0 .+ s .* direction), 0.0) rtol = 1.0e-6
    @test value(law, Float32.(u0), 0.0f0) isa Matrix{Float32}
end

@testset "the equations as a program" begin
    steps = program(u -> algebraic_rows(system, u, 0.0), n)
    for u in eachcol(u0)
        @test run_program(steps, u) ≈ algebraic_rows(system, u, 0.0) rtol = 1.0e-12 atol = 1.0e-12
    end
end

@testset "set-points and lines are inputs" begin
    names = [filter(endswith("₊Pset"), system.parameters)[1], filter(endswith("₊active"), system.parameters)[end]]
    driven = with_inputs(system, names)
    usual = system.p[driven.inputs]
    @test usual[2] == 1
    at(w) = Instant(zeros(1), reshape(w, :, 1), zeros(2, 1), zeros(2, 1), nothing)
    rest = reshape(system.operation_point, :, 1)
    @test value(AlgebraicRows(driven), rest .+ 0.01, at(usual)) ≈ value(law, rest .+ 0.01, 0.0)
    w = [usual[1] * 1.1, 0.0]
    @test maximum(abs, value(AlgebraicRows(driven), rest, at(w))) > 1.0e-3
    @test run_program(PNDE.algebraic_program(driven), [u0[:, 1]; w]) ≈ vec(value(AlgebraicRows(driven), u0[:, 1:1], at(w))) rtol = 1.0e-12 atol = 1.0e-12
    # The load rises by a tenth, and at 0.5 a line trips.
    coefficients = zeros(2, 4, 2, 1)
    coefficients[:, 1, 1, 1], coefficients[:, 1, 2, 1] = usual, w
    coefficients[1, 2, 1, 1] = 0.2 * usual[1]
    drive = Drive(zeros(1), [0.0; 0.5;;], coefficients, fill(0.5, 1, 1), zeros(0, 1), nothing)
    out = simulate(driven, rest, [0.0, 0.4999, 0.5, 1.0]; drive)
    @test all(iszero, out.status)
    @test out.u[system.moving, 2, 1] ≈ out.u[system.moving, 3, 1] rtol = 1.0e-3
    @test norm(out.u[.!system.moving, 3, 1] .- out.u[.!system.moving, 2, 1]) > 1.0e-3
    @test maximum(abs, value(AlgebraicRows(driven), out.u[:, 3:4, 1], PNDE.instants(drive, [0.5, 1.0]))) < 1.0e-12
end

@testset "a model on the manifold" begin
    model = Model(; sizes = (n, 8, n), method = Projected(), constraint = law, mean = system.operation_point, std = ones(n))
    θ = 0.05 .* randn(rng, length(model.layout))
    times = repeat(0:0.1:0.5, 1, 3)
    out = rollout(model, θ, u0, times, zeros(m, 3), Settings())
    @test all(iszero, out.status)
    @test maximum(abs, value(law, reshape(out.u, n, :), 0.0)) < 1.0e-12
    batch = Segments(permutedims(out.u, (1, 2, 3)), zeros(m, 3), zeros(3), collect(0:0.1:0.5), fill(1 / 3, 3))
    settings = Settings(; solver = Vern9(), rtol = 1.0e-10, atol = 1.0e-10, retract = :never)
    φ, direction = θ .* 1.1, normalize(randn(rng, length(θ)))
    slope = dot(loss_and_gradient(model, φ, batch, settings)[2], direction)
    along(s) = PNDE.batch_loss(model, φ .+ s .* direction, batch, settings)
    @test slope ≈ central_fdm(5, 1; max_range = 1.0e-2)(along, 0.0) rtol = 1.0e-5
end
