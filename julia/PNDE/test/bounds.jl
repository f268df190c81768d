using FiniteDifferences, LinearAlgebra, PNDE, Random, Zygote
using PNDE: Selection, apply, can_be_kept, dense, within

rng = Xoshiro(11)

# What a problem is made of: the metric as W, and rows that repeat others, or those of the law.
"A state's problem `(G, A, v, b, lo, hi)` with r equalities and m inequalities of n states; some rows are dependent, some one-sided."
function problem(r, m, n, B)
    G, A = randn(rng, r, n, B), randn(rng, m, n, B)
    m > 3 && (A[m, :, :] .= 2 .* A[1, :, :])
    m > 4 && r > 0 && (A[m - 1, :, :] .= A[2, :, :] .+ G[1, :, :])
    v, inside = randn(rng, n, B), 0.3 .* randn(rng, n, B)
    b, y = -apply(G, inside), apply(A, inside)
    lo, hi = y .- 0.3 .* rand(rng, m, B), y .+ 0.3 .* rand(rng, m, B)
    lo[1:2:end, :] .= ifelse.(rand(rng, length(1:2:m), B) .< 0.5, -Inf, lo[1:2:end, :])
    return G, A, v, b, lo, hi
end

"How far p is from the conditions of Karush, Kuhn and Tucker, with the least multipliers that explain v - p."
function distance_from_optimum(G, A, v, b, lo, hi, W, p)
    scale = 1 + norm(v)
    off = max(norm(G * p + b, Inf), maximum(max.(lo - A * p, A * p - hi)))
    at_lo, at_hi = abs.(A * p - lo) .< 1e-8 * scale, abs.(A * p - hi) .< 1e-8 * scale
    # v - p = W (Gᵀλ + Aᵀμ), μ ≤ 0 below and ≥ 0 above: by projected gradients it would take long, so by subsets.
    acting, best = findall(at_lo .| at_hi), Inf
    length(acting) > 10 && error("too many rows")
    for bits in 0:(2^length(acting) - 1)
        chosen = acting[[isodd(bits >> k) for k in 0:(length(acting) - 1)]]
        rows = [G; A[chosen, :]]
        multipliers = size(rows, 1) == 0 ? zeros(0) : (W * rows') \ (v - p)
        left = norm(W * rows' * multipliers - (v - p), Inf)
        μ = multipliers[(size(G, 1) + 1):end]
        wrong = any(k -> (at_lo[chosen[k]] && !at_hi[chosen[k]] && μ[k] > 1e-7) || (at_hi[chosen[k]] && !at_lo[chosen[k]] && μ[k] < -1e-7), eachindex(chosen))
        wrong || (best = min(best, left))
    end
    return max(off, best) / scale
end

@testset "the nearest velocity of $r equalities and $m inequalities, $kind" for (r, m) in ((0, 1), (1, 1), (2, 3), (0, 4), (3, 6)),
        kind in ("plain", "weighted", "full")

    n, B = 9, 40
    G, A, v, b, lo, hi = problem(r, m, n, B)
    C = randn(rng, n, n)
    W = kind == "plain" ? nothing : kind == "weighted" ? rand(rng, n, 1) .+ 0.5 : reshape(C * C' + n * I, n, n, 1) ./ n
    matrix = kind == "plain" ? Matrix(1.0I, n, n) : kind == "weighted" ? Matrix(Diagonal(vec(W))) : W[:, :, 1]
    law = r == 0 ? nothing : G
    found = within(QRProjection(), law, A, v, r == 0 ? nothing : b, lo, hi, W)
    @test all(found.feasible)
    @test count(found.rows) > B ÷ 5
    @test maximum(distance_from_optimum(G[:, :, k], A[:, :, k], v[:, k], b[:, k], lo[:, k], hi[:, k], matrix, found.p[:, k]) for k in 1:B) < 1e-9
    for algorithm in (CholeskyProjection(), TruncatedProjection())
        @test project_within(algorithm, law, A, v, r == 0 ? nothing : b, lo, hi, W) ≈ found.p rtol = 1e-9
    end
end

@testset "derivatives, $kind" for kind in ("plain", "weighted", "states alone")
    n, B, m = 6, 5, 3
    G, A, v, b, lo, hi = problem(2, m, n, B)
    W = kind == "weighted" ? rand(rng, n, B) .+ 0.5 : nothing
    weight = randn(rng, n, B)
    if kind == "states alone"
        # A state that is named twice, and bounds that are infinite.
        rows, lo, hi = Selection([2, 4, 2], n), lo .* [1, 1, 2], hi .+ [0, 0, Inf]
        loss = (v, lo) -> dot(weight, project_within(CholeskyProjection(), nothing, rows, v, nothing, lo, hi, nothing))
        by_general = within(CholeskyProjection(), nothing, dense(rows) .* 1.0, v, nothing, lo, hi, nothing).p
        @test project_within(CholeskyProjection(), nothing, rows, v, nothing, lo, hi, nothing) ≈ by_general
        arguments = (v, lo)
    elseif kind == "plain"
        loss = (G, A, v, b, lo, hi) -> dot(weight, project_within(CholeskyProjection(), G, A, v, b, lo, hi, nothing))
        arguments = (G, A, v, b, max.(lo, -10), hi)
    else
        loss = (G, A, v, b, lo, hi, W) -> dot(weight, project_within(CholeskyProjection(), G, A, v, b, lo, hi, W))
        arguments = (G, A, v, b, max.(lo, -10), hi, W)
    end
    found = gradient(loss, arguments...)
    expected = grad(central_fdm(5, 1; max_range = 1e-4), loss, arguments...)
    for (ours, theirs) in zip(found, expected)
        @test ours ≈ theirs rtol = 1e-6
    end
end

@testset "rows that contradict one another are told, and give numbers" begin
    A = ones(2, 3, 2)
    lo, hi = [1.0 1.0; -2.0 -2.0], [2.0 2.0; -1.0 2.0]
    found = within(CholeskyProjection(), nothing, A, zeros(3, 2), nothing, lo, hi, nothing)
    @test found.feasible == [false, true] && all(isfinite, found.p)
end

const MASS = Linear(ones(1, 3))
const POSITIVE = Bounds(States([1, 2, 3], 3), [1, 2, 3], zeros(3), fill(Inf, 3), [2.0, 3.0, 4.0], ones(3))

"Where a state comes to on the simplex, by sorting."
function on_simplex(u)
    falling = sort(u; rev = true)
    excess = cumsum(falling) .- 1
    k = findlast(falling .> excess ./ (1:length(u)))
    return max.(u .- excess[k] / k, 0)
end

@testset "the nearest nonnegative state of the same mass" begin
    u = rand(rng, 3, 500) .^ 4
    u = u ./ sum(u; dims = 1) .+ 0.05 .* randn(rng, 3, 500)
    out = enclose(CholeskyProjection(), MASS, POSITIVE, nothing, u, 0.0, ones(1, 500))
    @test minimum(out) == 0 && count(==(0), out) > 150
    @test maximum(abs, sum(out; dims = 1) .- 1) <= 5e-16
    @test maximum(abs, out .- stack(on_simplex, eachcol(u))) < 1e-15
    @test enclose(CholeskyProjection(), MASS, POSITIVE, nothing, out, 0.0, ones(1, 500)) == out
    # Its derivative is that of the simplex, off the edges where rows begin to act.
    weight = randn(rng, 3, 500)
    back(u) = dot(weight, enclose(CholeskyProjection(), MASS, POSITIVE, nothing, u, 0.0, ones(1, 500)))
    direction = randn(rng, 3, 500)
    direction .-= sum(direction; dims = 1) ./ 3
    fixed = [count(==(0), on_simplex(x .+ s .* d)) == count(==(0), on_simplex(x)) for (x, d) in zip(eachcol(u), eachcol(direction)), s in (-1e-4, 1e-4)]
    @test count(fixed) > 900
    direction[:, .!vec(all(fixed; dims = 2))] .= 0
    @test dot(only(gradient(back, u)), direction) ≈ central_fdm(5, 1; max_range = 1e-5)(s -> back(u .+ s .* direction), 0.0) rtol = 1e-7
    # Without the law each state by itself.
    @test enclose(CholeskyProjection(), nothing, POSITIVE, nothing, u, 0.0, zeros(0, 500)) == max.(u, 0)
end

"A model of A → B → C whose network pushes states out of the simplex."
function kinetics(law = MASS; bounds = POSITIVE, T = Float64)
    model = Model(; sizes = (3, 8, 3), method = Projected(), constraint = law, bounds, mean = zeros(T, 3), std = ones(T, 3))
    return model, T.(sin.(1.3 .* (1:length(model.layout))))
end

@testset "forecasts stay inside, and keep the law, $(nameof(typeof(solver)))" for solver in (Tsit5(), Rodas5P())
    model, θ = kinetics()
    u = [0.2 0.5; 0.7 0.1; 0.1 0.4]
    times = repeat(collect(range(0, 20, 30)), 1, 2)
    for retract in (:step, :save)
        out = rollout(model, θ, u, times, ones(1, 2), Settings(; solver, retract, rtol = 1e-6, atol = 1e-6))
        @test all(iszero, out.status)
        @test minimum(out.u) == 0
        @test maximum(abs, sum(out.u; dims = 1) .- 1) <= 1e-15
    end
    free = rollout(first(kinetics(; bounds = nothing)), θ, u, times, ones(1, 2), Settings(; solver))
    @test minimum(free.u) < -0.1
    alone = rollout(first(kinetics(nothing)), θ, u, times, zeros(0, 2), Settings(; solver))
    @test minimum(alone.u) == 0 && all(iszero, alone.status)
end

@testset "the gradient of steps that are put back" begin
    model, θ = kinetics()
    points = repeat(reshape([0.2 0.5; 0.7 0.1; 0.1 0.4], 3, 1, 2), 1, 4, 1)
    batch = Segments(points, ones(1, 2), zeros(2), 0.4 .* (0:3), fill(0.5, 2))
    for retract in (:step, :save)
        settings = Settings(; step = 0.2, retract)
        loss, gradient, status, _ = loss_and_gradient(model, θ, batch, settings)
        direction = normalize(randn(rng, length(θ)))
        along(s) = PNDE.batch_loss(model, θ .+ s .* direction, batch, settings)
        @test status == PNDE.OK && loss ≈ along(0.0)
        @test dot(gradient, direction) ≈ central_fdm(5, 1; max_range = 1e-4)(along, 0.0) rtol = 1e-5
    end
    # In single precision too.
    single, weights = kinetics(; T = Float32)
    batch = Segments(Float32.(points), ones(Float32, 1, 2), zeros(2), Float32.(0.4 .* (0:3)), fill(0.5f0, 2))
    loss, gradient, status, _ = loss_and_gradient(single, weights, batch, Settings(; step = 0.2))
    @test gradient isa Vector{Float32} && all(isfinite, gradient) && status == PNDE.OK
end

@testset "bounds that come to contradict the law are a status" begin
    # The mass stays, and the sum of the states has to grow.
    grows = Constraint((u, t) -> sum(u) - t / 2; takes = (:t,))
    bounds = Bounds(grows, [0], [-4.0], [Inf], [1.0], [1.0])
    model, θ = kinetics(; bounds)
    out = rollout(model, θ, [0.2; 0.7; 0.1;;], reshape(0:1.0:12, :, 1), ones(1, 1), Settings(; retract = :save))
    @test only(out.status) == Int8(PNDE.INFEASIBLE) && all(isfinite, out.u)
    @test can_be_kept(CholeskyProjection(), MASS, bounds, nothing, [0.2; 0.7; 0.1;;], 12.0) == [false]
end
