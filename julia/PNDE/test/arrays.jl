# What runs on JLArrays without scalar indexing runs on a GPU.
using JLArrays, LinearAlgebra, PNDE, Random, Zygote
using PNDE: condition, factorise

JLArrays.allowscalar(false)

# GPU libraries have a product of whole batches, which JLArrays has not: the host's stands for it.
const NNlib = parentmodule(PNDE.batched_mul)
function NNlib._batched_gemm!(::Type{<:JLArray}, transA::Char, transB::Char, α::Number, A, B, β::Number, C)
    return copyto!(C, NNlib._batched_gemm!(Array, transA, transB, α, on_host(A), on_host(B), β, Array(C)))
end
on_host(A::JLArray) = Array(A)
on_host(A) = Array(PNDE.batched_transpose(Array(parent(A))))

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
        (ieee14(), vcat(ones(14, 5), zeros(14, 5)) .+ 0.1 .* randn(rng, 28, 5)), (Linear(randn(rng, 2, 4)), randn(rng, 4, 5)),
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
