using FiniteDifferences, ForwardDiff, LinearAlgebra, PNDE, Random, Zygote
using PNDE: as_constraint, dense, drift, indomain, load_code

load_law(source; parameters...) = as_constraint(load_code(source; parameters...))

rng = Xoshiro(2)

const LAWS = (
    ("quartic", Quartic(), randn(rng, 4, 3)),
    ("Lotka-Volterra", LotkaVolterra(; alpha = 1.1), rand(rng, 2, 3) .+ 0.5),
    ("4-pendulum", Rods(), randn(rng, 16, 3)),
    ("8-pendulum", Rods(), randn(rng, 32, 3)),
    ("IEEE 14-bus", ieee14(), vcat(ones(14, 3), zeros(14, 3)) .+ 0.1 .* randn(rng, 28, 3)),
    ("IEEE 14-bus along its branches", ieee14(; along_branches = true), vcat(ones(14, 3), zeros(14, 3)) .+ 0.1 .* randn(rng, 28, 3)),
    ("linear", Linear(randn(rng, 2, 4)), randn(rng, 4, 3)),
    ("stacked", Stacked(Quartic(), Linear([1.0 0 0 0])), randn(rng, 4, 3)),
    ("a function", Constraint(u -> [u[1]^2 * u[2], sin(u[3])]), randn(rng, 4, 3)),
    ("a function with its Jacobian", Constraint(u -> u[1]^2; jacobian = u -> [2u[1], zero(u[1])]), randn(rng, 2, 3)),
    ("holonomic", Holonomic(q -> q[1]^2 + q[2]^2), randn(rng, 4, 3)),
)

@testset "$name: the Jacobian is the derivative" for (name, law, u) in LAWS
    G = PNDE.for_each_state(dense(constraint_jacobian(law, u, 0.0)), u)
    for b in axes(u, 2)
        @test G[:, :, b] ≈ ForwardDiff.jacobian(x -> vec(value(law, reshape(x, :, 1), 0.0)), u[:, b])
    end
    # And Zygote can differentiate both.
    weights = randn(rng, size(G))
    loss(u) = dot(weights, PNDE.for_each_state(dense(constraint_jacobian(law, u, 0.0)), u)) + sum(abs2, value(law, u, 0.0))
    @test only(gradient(loss, u)) ≈ only(grad(central_fdm(5, 1), loss, u)) rtol = 1.0e-7
    @test eltype(value(law, Float32.(u), 0.0f0)) == Float32
    @test eltype(dense(constraint_jacobian(law, Float32.(u), 0.0f0))) == Float32
    @test all(indomain(law, u))
end

@testset "the paper's Jacobian of a pendulum" begin
    D = [1.0 0; -1 1]
    u = randn(rng, 8, 1)
    Δ(x) = Diagonal(D * x) * D
    x, y, vx, vy = u[1:2, 1], u[3:4, 1], u[5:6, 1], u[7:8, 1]
    expected = [2Δ(x) 2Δ(y) zeros(2, 4); Δ(vx) Δ(vy) Δ(x) Δ(y)]
    @test dense(constraint_jacobian(Rods(), u, 0.0))[:, :, 1] ≈ expected
end

@testset "a law that depends on time" begin
    law = Constraint((u, t) -> u[1] - sin(2t); takes = (:t,))
    u, t = randn(rng, 2, 3), [0.1, 0.2, 0.3]
    @test value(law, u, t) ≈ (u[1, :] .- sin.(2t))'
    @test drift(law, u, t) ≈ -2cos.(2t)'
    @test drift(Stacked(law, Linear([0.0 1])), u, t) ≈ vcat(-2cos.(2t)', zeros(1, 3))
    @test drift(Quartic(), u, t) === nothing
end

@testset "domains" begin
    u = [1.0 -1; 2 2]
    @test indomain(LotkaVolterra(), u) == [true, false]
    @test all(isnan, value(LotkaVolterra(), u[:, 2:2], 0.0))
    @test indomain(Constraint(sum; domain = u -> u[1] > 0), u) == [true, false]
    @test indomain(Stacked(LotkaVolterra(), Constraint(sum)), u) == [true, false]
    # A program, u₁ < 2, beside what the law itself says.
    program = PNDE.Program(1, [[2.0]], [(PNDE.operation_named("take", [0]), [1]), (PNDE.operation_named("less", Int[]), [3, 2])], 4, 0)
    @test indomain(InDomain(LotkaVolterra(), program), [1.0 -1 3; 2 2 2]) == [true, false, false]
    @test isequal(PNDE.law_values(InDomain(Constraint(sum), program), [1.0 3; 2 2], 0.0), [3.0 NaN])
end

@testset "laws from text" begin
    u = [3.0; 4.0;;]
    @test value(load_law("u -> sqrt(dot(u, u))"), u, 0.0) ≈ [5;;]
    @test load_law("LotkaVolterra"; alpha = 2.0).alpha == 2
    @test load_law("Quartic") == Quartic()
    @test value(load_law("(; k) -> (u -> k * u[1])"; k = 2.0), u, 0.0) ≈ [6;;]
    @test_throws ArgumentError load_law("3")
    mktempdir() do folder
        file = joinpath(folder, "law.jl")
        write(file, "square(x) = x^2\nConstraint(u -> square(u[1]))\n")
        @test Base.invokelatest(value, load_law(file), u, 0.0) ≈ [9;;]
        @test Base.invokelatest(value, load_law("include(\"$file\")"), u, 0.0) ≈ [9;;]
    end
end

@testset "a syntax error says where" begin
    @test_throws "line 2, column 9: not a unary operator" load_code("u ->\n  u[1] +* 2\n")
    @test_throws "the twin has a syntax error in line 1, column 11" load_code("u -> (u[1]")
    mktempdir() do folder
        file = joinpath(folder, "law.jl")
        write(file, "f(u) = 'ab'\nf\n")
        @test_throws "law.jl has a syntax error in line 1" load_code(file)
        @test_throws "there is no file" load_code(joinpath(folder, "nothing.jl"))
    end
end

# Of u₁² sin(t) + u₂ by hand, as Python would trace it: the values, and the pullback.
function traced_example()
    step(name, operands, integers = Int[]) = (PNDE.operation_named(name, integers), operands)
    first_state, second_state = step("take", [1], [0]), step("take", [1], [1])
    h = PNDE.Program(
        2, Vector{Float64}[],
        [first_state, second_state, step("sin", [2]), step("multiply", [3, 3]), step("multiply", [6, 5]), step("add", [7, 4])], 8, 2,
    )
    # (2 u₁ sin(t) y̅, y̅)
    pullback = PNDE.Program(
        3, [[2.0]], [
            first_state, step("sin", [2]), step("multiply", [4, 5]), step("multiply", [7, 6]), step("multiply", [8, 3]),
            step("take", [9, 3], [0, 1]),
        ], 10, 2,
    )
    return PNDE.TracedFunction(h, pullback, (1,))
end

@testset "a traced function" begin
    f = traced_example()
    by_hand(u, t) = u[1:1, :] .^ 2 .* sin.(t') .+ u[2:2, :]
    u, t = randn(rng, 2, 3), [0.1, 0.2, 0.3]
    @test f(u, t) ≈ by_hand(u, t)
    @test f(u) ≈ by_hand(u, [0.0])
    @test only(gradient(u -> sum(abs2, f(u, t)), u)) ≈ only(gradient(u -> sum(abs2, by_hand(u, t)), u))
    # Of the time alone in double precision: in single, 1e6 + 0.1 is 1e6 + 0.125.
    single = f(Float32.(u), fill(1.0e6 + 0.1, 3))
    @test eltype(single) == Float32
    @test single ≈ by_hand(u, fill(1.0e6 + 0.1, 3)) rtol = 1.0e-5
    dual = ForwardDiff.derivative(s -> f(u .+ s, t), 0.0)
    @test dual ≈ ForwardDiff.derivative(s -> by_hand(u .+ s, t), 0.0)
end

@testset "a metric as matrices" begin
    A = randn(rng, 3, 3, 4) .+ 3 .* reshape(Matrix(1.0I, 3, 3), 3, 3, 1)
    w = randn(rng, 3, 3, 4)
    loss(A) = sum(w .* PNDE.batched_inverse(A))
    @test only(gradient(loss, A)) ≈ only(grad(central_fdm(5, 1), loss, A)) rtol = 1.0e-8
    @test PNDE.batched_inverse(A)[:, :, 2] ≈ inv(A[:, :, 2])
end

@testset "what was loaded outlives collections of garbage" begin
    laws = [load_code("u -> u[1]^2 + $k") for k in 1:50]
    for _ in 1:3
        GC.gc()
        foreach(k -> Vector{Any}(undef, k), 1:1000)
    end
    @test [Base.invokelatest(law, [2.0]) for law in laws] == 4 .+ (1:50)
end
