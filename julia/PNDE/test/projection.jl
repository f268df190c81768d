using ChainRulesTestUtils, FiniteDifferences, LinearAlgebra, PNDE, Random, Zygote
using ChainRulesCore: NoTangent
using PNDE: apply, batched_mul, batched_transpose, cholesky_batched!, condition, decompose, dense, factorise, minimum_norm

include("ring.jl")

const ALGORITHMS = (CholeskyProjection(), QRProjection(), TruncatedProjection())

spd(rng, n, B) = stack((X = randn(rng, n, n); X * X' + n * I) for _ in 1:B)

"The projection by the book, state by state."
function by_the_book(G, v, b, W)
    return stack(axes(v, 2)) do k
        Gk, Wk = G[:, :, min(k, end)], W === nothing ? I : ndims(W) == 3 ? W[:, :, min(k, end)] : Diagonal(W[:, min(k, end)])
        rhs = Gk * v[:, k] + (b === nothing ? zeros(size(Gk, 1)) : b[:, k])
        v[:, k] - Wk * Gk' * ((Gk * Wk * Gk') \ rhs)
    end
end

rng = Xoshiro(1)

@testset "$(nameof(typeof(algorithm))), m = $m, $T" for algorithm in ALGORITHMS, m in (1, 2, 5), T in (Float32, Float64, BigFloat)
    n, B = 8, 6
    G, v, b = T.(randn(rng, m, n, B)), T.(randn(rng, n, B)), T.(randn(rng, m, B))
    metrics = (nothing, T.(rand(rng, n, B) .+ 1), T.(rand(rng, n, 1) .+ 1), T.(spd(rng, n, B)), T.(spd(rng, n, 1)))
    for W in metrics, offset in (nothing, b)
        p = project(algorithm, G, v, offset, W)
        @test eltype(p) == T
        @test p ≈ by_the_book(G, v, offset, W) rtol = 1000eps(T)
        residual = apply(G, p) .+ (offset === nothing ? zero(b) : offset)
        @test maximum(abs, residual) < 1000eps(T)
    end
    p = project(algorithm, G, v)
    @test project(algorithm, G, p) ≈ p rtol = 100eps(T)
    @test all(norm.(eachcol(p)) .<= norm.(eachcol(v)) .* (1 + 10eps(T)))
    @test project(algorithm, T.(exp10.(6 .* (1:m) ./ m .- 3)) .* G, v) ≈ p rtol = 1.0e4 * eps(T)
    @test all(condition(factorise(algorithm, G, nothing)) .> 0)
    shared = G[:, :, 1:1]
    @test project(algorithm, shared, v, b) ≈ project(algorithm, repeat(shared, 1, 1, B), v, b)
end

@testset "factors of $B states, taken side by side, are each state's own" for B in (1, 16, 37)
    S = spd(rng, 5, B)
    S[:, :, B] .*= -1
    L = cholesky_batched!(copy(S))
    @test all(b -> L[:, :, b] ≈ cholesky(S[:, :, b]).L, 1:(B - 1))
    @test all(isnan, L[:, :, B][tril(trues(5, 5))])
end

@testset "$(nameof(typeof(algorithm))): derivative rules" for algorithm in ALGORITHMS
    m, n, B = 3, 6, 4
    G, v, b, W = randn(rng, m, n, B), randn(rng, n, B), randn(rng, m, B), rand(rng, n, B) .+ 1
    options = (; check_inferred = false, fdm = central_fdm(5, 1))
    for offset in (nothing, b), metric in (nothing, W)
        arguments = (algorithm ⊢ NoTangent(), G, v, offset === nothing ? offset ⊢ NoTangent() : offset, metric === nothing ? metric ⊢ NoTangent() : metric)
        test_rrule(project, arguments...; options...)
        test_frule(project, arguments...; options...)
    end
    # One row, and one Jacobian for all states.
    test_rrule(project, algorithm ⊢ NoTangent(), randn(rng, 1, n, B), v, randn(rng, 1, B), rand(rng, n, 1) .+ 1; options...)
    test_rrule(project, algorithm ⊢ NoTangent(), randn(rng, m, n, 1), v, b, nothing ⊢ NoTangent(); options...)
    # A full metric is symmetric, so it is perturbed through a square root.
    C = randn(rng, n, n, B)
    loss(C) = sum(abs2, project(algorithm, G, v, b, batched_mul(C, batched_transpose(C))))
    @test only(gradient(loss, C)) ≈ only(grad(central_fdm(5, 1), loss, C)) rtol = 1.0e-7
end

@testset "the rule is what Zygote finds by the plain formula" begin
    m, n = 4, 9
    G, v, w = randn(rng, m, n), randn(rng, n), randn(rng, n)
    plain(G, v) = dot(w, v - G' * ((G * G') \ (G * v)))
    ours(algorithm) = (G, v) -> dot(w, project(algorithm, reshape(G, m, n, 1), reshape(v, n, 1)))
    for algorithm in ALGORITHMS
        @test all(gradient(ours(algorithm), G, v) .≈ gradient(plain, G, v))
    end
end

@testset "QR applies Q: its error grows with κ, not κ²" begin
    m, n = 6, 20
    Q1, Q2 = Matrix(qr(randn(rng, n, m)).Q), Matrix(qr(randn(rng, m, m)).Q)
    G = reshape(Q2 * Diagonal(exp10.(range(0, -6, m))) * Q1', m, n, 1)
    v = randn(rng, n, 1)
    exact = Float64.(project(QRProjection(), big.(G), big.(v)))
    error(algorithm) = norm(project(algorithm, G, v) - exact)
    @test error(QRProjection()) < 1.0e-8
    @test error(TruncatedProjection()) < 1.0e-8
    @test error(CholeskyProjection()) > 10 * error(QRProjection())
end

@testset "dependent rows" begin
    G = randn(rng, 3, 7, 2)
    G[3, :, :] = G[1, :, :] .+ 2 .* G[2, :, :]
    v = randn(rng, 7, 2)
    p = project(TruncatedProjection(), G, v)
    @test p ≈ project(TruncatedProjection(), G[1:2, :, :], v)
    @test maximum(abs, apply(G, p)) < 1.0e-12
    # At constant rank the rule is the derivative: G moves so that its rows stay dependent.
    dependent(A) = vcat(A, A[1:1, :, :] .+ 2 .* A[2:2, :, :])
    loss(A) = sum(abs2, project(TruncatedProjection(), dependent(A), v) .- 1)
    A = G[1:2, :, :]
    @test only(gradient(loss, A)) ≈ only(grad(central_fdm(5, 1), loss, A)) rtol = 1.0e-7
    @test all(condition(factorise(CholeskyProjection(), G, nothing)) .< 1.0e-14)
    zero_row = copy(G)
    zero_row[1, :, :] .= 0
    @test all(condition(factorise(CholeskyProjection(), zero_row, nothing)) .== 0)
    @test all(isfinite, project(TruncatedProjection(), zero_row, v))
end

@testset "minimum norm" begin
    G, b = randn(rng, 3, 7, 2), randn(rng, 3, 2)
    x = minimum_norm(CholeskyProjection(), G, b, nothing)
    @test x ≈ stack(pinv(G[:, :, k]) * b[:, k] for k in 1:2)
end

@testset "a chain is what its dense array is" begin
    N, B = 5, 3
    u, v, b = randn(rng, 4N, B), randn(rng, 4N, B), randn(rng, 2N, B)
    chain(u) = constraint_jacobian(Rods(), u, 0.0)
    G = chain(u)
    @test apply(G, v) ≈ apply(dense(G), v)
    @test PNDE.transpose_apply(G, b) ≈ PNDE.transpose_apply(dense(G), b)
    factor, reference = factorise(CholeskyProjection(), G, nothing), factorise(CholeskyProjection(), dense(G), nothing)
    @test all(decompose(factor, G, v, b, nothing) .≈ decompose(reference, dense(G), v, b, nothing))
    for W in (nothing, rand(rng, 4N, B) .+ 1), algorithm in ALGORITHMS
        @test project(algorithm, G, v, b, W) ≈ project(algorithm, dense(G), v, b, W)
        loss(G) = u -> sum(abs2, project(algorithm, G(u), v, b, W) .- 1)
        @test only(gradient(loss(chain), u)) ≈ only(gradient(loss(dense ∘ chain), u))
    end
    Ġ = chain(randn(rng, 4N, B))
    moved(s) = project(CholeskyProjection(), PNDE.RodsJacobian(G.a + s * Ġ.a, G.b + s * Ġ.b, G.c + s * Ġ.c, G.d + s * Ġ.d), v, b)
    tangent = PNDE.ChainRulesCore.Tangent{typeof(G)}(; Ġ.a, Ġ.b, Ġ.c, Ġ.d)
    nothing_moves = PNDE.ChainRulesCore.ZeroTangent()
    change = last(PNDE.ChainRulesCore.frule(
        (NoTangent(), NoTangent(), tangent, nothing_moves, nothing_moves, nothing_moves), project, CholeskyProjection(), G, v, b, nothing,
    ))
    @test change ≈ central_fdm(5, 1)(moved, 0.0)
end

@testset "a grid of 200 buses along its branches is what it is densely" begin
    grid(; options...) = ring(200; options...)
    law, reference = grid(), grid(; along_branches = false)
    B = 2
    u = vcat(ones(200, B), zeros(200, B)) .+ 0.02 .* randn(rng, 400, B)
    v, b, W, w = randn(rng, 400, B), randn(rng, size(value(law, u, 0.0))), 1 .+ rand(rng, 400, B), randn(rng, 400, B)
    @test constraint_jacobian(law, u, 0.0) isa SparseJacobian
    @test value(law, u, 0.0) ≈ value(reference, u, 0.0)
    @test dense(constraint_jacobian(law, u, 0.0)) ≈ constraint_jacobian(reference, u, 0.0)
    # Its κ(G) is 200, so that the dense Cholesky factor is right to 1e-11 at best.
    for metric in (nothing, W[:, 1:1], W), (algorithm, exact) in ((CholeskyProjection(), 1.0e-9), (QRProjection(), 1.0e-12))
        projected(law) = u -> project(algorithm, constraint_jacobian(law, u, 0.0), v, b, metric)
        @test projected(law)(u) ≈ projected(reference)(u) rtol = exact
        loss(law) = u -> dot(w, projected(law)(u)) + sum(abs2, value(law, u, 0.0))
        @test only(gradient(loss(law), u)) ≈ only(gradient(loss(reference), u)) rtol = exact
    end
    c = value(law, u, 0.0)
    both = map(law -> retract(CholeskyProjection(), law, nothing, u .+ 1.0e-3 .* w, 0.0, c), (law, reference))
    @test both[1] ≈ both[2] rtol = 1.0e-9
    @test maximum(abs, value(law, both[1], 0.0) .- c) < 1.0e-13
    single = project(constraint_jacobian(law, Float32.(u), 0.0f0), Float32.(v), Float32.(b))
    @test eltype(single) == Float32
    @test single ≈ project(constraint_jacobian(law, u, 0.0), v, b) rtol = 1.0e-4
    @test all(condition(factorise(CholeskyProjection(), constraint_jacobian(law, u, 0.0), nothing)) .> 1.0e-4)
    # A load behind a line that draws all the line can carry: at half the voltage its rows are dependent.
    nose = PowerBalance(; size = 2, rows = [1, 1, 2, 2], columns = [1, 2, 1, 2], conductance = [1.0, -1, -1, 1], susceptance = [-5.0, 5, 5, -5], loads = [2], slack = [1], along_branches = true)
    at_the_nose = constraint_jacobian(nose, [1.0, 0.5, 0, 0.2][:, :], 0.0)
    @test condition(factorise(CholeskyProjection(), at_the_nose, nothing)) == [0.0]
end

@testset "allocations do not grow with the batch" begin
    count(B) = begin
        G, v = randn(rng, 8, 16, B), randn(rng, 16, B)
        project(G, v)
        @allocations project(G, v)
    end
    if Threads.nthreads() == 1
        @test count(4096) == count(512)
    end
end
