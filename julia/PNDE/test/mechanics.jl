using FiniteDifferences, ForwardDiff, LinearAlgebra, PNDE, Random, Zygote
using PNDE: Instant, dense, drift, gelu, softplus

rng = Xoshiro(21)

"A layout of k positions, as a configuration says it, of networks with one hidden layer."
function layout_of(k, inputs; masses, dissipation = "none", driven = 0)
    networks = Pair{Symbol, Any}[:potential => (inputs, 5, 5, 1)]
    masses == "state" && push!(networks, :masses => (inputs, 5, 5, k^2))
    dissipation == "state" && push!(networks, :dissipation => (inputs, 5, 5, k^2))
    driven > 0 && push!(networks, :forces => (inputs, 5, 5, k * driven))
    arrays = Pair{Symbol, Any}[Symbol(name, :_linear) => (last(sizes), inputs) for (name, sizes) in networks]
    masses == "diagonal" && push!(arrays, :masses => (k,))
    masses == "matrix" && push!(arrays, :masses => (k, k))
    dissipation == "none" || push!(arrays, :dissipation_factor => (k, k), :dissipation_skew => (k, k))
    return PartsLayout(NamedTuple(networks), NamedTuple(arrays))
end

const KAPPA, OMEGA = 0.7, 1.3

function mechanical(k; law = nothing, features = StateFeatures(), driven = 0, parameters = 0, rows = Int[], activation = tanh, skip = false, options...)
    inputs = (features isa AngleFeatures ? 2k : k) + parameters
    layout = layout_of(k, inputs; driven, options...)
    conditions = driven + parameters
    return Model(;
        sizes = (inputs, 5, 5, 1), method = law === nothing ? NDE() : Projected(), constraint = law, features, order = 2, skip, activation,
        mean = 0.1 .* sin.(1:2k), std = 1 .+ 0.1 .* cos.(1:2k), layout,
        form = Mechanical(; spread = range(0.8, 1.2, k), kappa = KAPPA, omega = OMEGA, rows),
        condition_mean = conditions == 0 ? nothing : fill(0.2, conditions), condition_std = conditions == 0 ? nothing : fill(1.5, conditions),
    )
end

"The acceleration of one state from the energies of its Lagrangian, whose derivatives ForwardDiff takes."
function by_the_lagrangian(model, θ, u, at)
    (; form, layout) = model
    k = length(u) ÷ 2
    s = form.spread
    array(name) = reshape(θ[getfield(layout.arrays, name)[1] .+ (1:prod(getfield(layout.arrays, name)[2]))], getfield(layout.arrays, name)[2])
    function network(name, q)
        x = model.features isa AngleFeatures ? [sin.(q); cos.(q)] : (q .- model.mean[1:k]) ./ model.std[1:k]
        at.p === nothing || (x = [x; (at.p .- 0.2) ./ 1.5])
        y, sizes = x, getfield(layout.networks, name).sizes
        for (i, (inputs, outputs, start)) in enumerate(sizes)
            z = reshape(θ[start .+ (1:(inputs * outputs))], outputs, inputs) * y .+ θ[start + inputs * outputs .+ (1:outputs)]
            y = i == length(sizes) ? z : model.skip && i > 1 ? model.activation.(z) .+ y : model.activation.(z)
        end
        return y .+ array(Symbol(name, :_linear)) * x
    end
    potential(q) = KAPPA * OMEGA^2 * only(network(:potential, q))
    function masses(q)
        learned = haskey(layout.networks, :masses)
        raw = learned ? transpose(reshape(network(:masses, q), k, k)) : ndims(array(:masses)) == 1 ? Diagonal(array(:masses)) : transpose(array(:masses))
        logarithms = diag(raw)
        learned || (logarithms = logarithms .- sum(logarithms) / k)
        factor = Diagonal(sqrt(KAPPA) ./ s) * (Diagonal(exp.(logarithms ./ 2)) + LowerTriangular(raw) - Diagonal(raw))
        return factor * transpose(factor)
    end
    function dissipation(q)
        haskey(layout.arrays, :dissipation_factor) || return zeros(k, k)
        L, K = transpose(array(:dissipation_factor)), transpose(array(:dissipation_skew))
        B = haskey(layout.networks, :dissipation) ? I + transpose(reshape(network(:dissipation, q), k, k)) : I
        return KAPPA * OMEGA / k .* Diagonal(1 ./ s) * B * (L * L' + K - K') * transpose(B) * Diagonal(1 ./ s)
    end
    q, v = u[1:k], u[(k + 1):end]
    force = ForwardDiff.gradient(q -> dot(v, masses(q), v) / 2 - potential(q), q) .- ForwardDiff.derivative(t -> masses(q .+ t .* v), 0.0) * v .- dissipation(q) * v
    at.w === nothing || (force = force .+ KAPPA * OMEGA^2 ./ s .* (transpose(reshape(network(:forces, q), :, k)) * (at.w ./ 1.5)))
    M = masses(q)
    model.constraint === nothing && return M \ force
    # [M Gᵀ; G 0] [a; λ] = [F; -∂h/∂q q̇ - ∂h/∂t]
    state, rows = reshape(u, :, 1), form.rows
    whole = dense(constraint_jacobian(model.constraint, state, at.t))[rows, :, 1]
    G, moved = whole[:, (k + 1):end], drift(model.constraint, state, at.t)
    right = -(whole[:, 1:k] * v) .- (moved === nothing ? 0 : moved[rows, 1])
    return ([M G'; G zeros(length(rows), length(rows))] \ [force; right])[1:k]
end

"A chain of two rods, moving."
function hanging(B)
    θ, ω = randn(rng, 2, B), randn(rng, 2, B)
    sums(x) = cumsum(x; dims = 1)
    return vcat(sums(sin.(θ)), sums(.-cos.(θ)), sums(cos.(θ) .* ω), sums(sin.(θ) .* ω))
end

const LENGTHS = Constraint((u, t) -> [u[5] * u[1] + u[6] * u[2] - t^2, u[7] + u[8] * u[3]]; takes = (:t,))

@testset "accelerations and their derivatives: $name" for (name, k, options, at) in (
        ("masses of the positions", 2, (; masses = "state", dissipation = "state", skip = true), Instant(0.0, nothing, nothing, nothing, nothing)),
        ("constants", 3, (; masses = "matrix", dissipation = "constant", activation = gelu), Instant(0.0, nothing, nothing, nothing, nothing)),
        ("angles, inputs and parameters", 2, (; masses = "diagonal", features = AngleFeatures(), driven = 2, parameters = 1), Instant(0.0, randn(rng, 2, 3), zeros(2, 3), zeros(2, 3), randn(rng, 1, 3))),
        ("another law, of the time", 4, (; law = LENGTHS, rows = [1, 2], masses = "matrix"), Instant(0.3, nothing, nothing, nothing, nothing)),
    )

    model = mechanical(k; options...)
    θ, u = 0.5 .* randn(rng, length(model.layout)), randn(rng, 2k, 3)
    c = zeros(2, 3)
    found = velocity(model, θ, u, c, at)
    @test found[1:k, :] == u[(k + 1):end, :]
    column(x, b) = x === nothing ? nothing : x[:, b]
    for b in 1:3
        expected = by_the_lagrangian(model, θ, u[:, b], Instant(at.t, column(at.w, b), nothing, nothing, column(at.p, b)))
        @test found[(k + 1):end, b] ≈ expected rtol = 1.0e-10
    end
    # In place, as a solve has its derivative.
    weight, θ̅ = randn(rng, 2k, 3), zero(θ)
    loss(θ, u) = dot(weight, velocity(model, θ, u, c, at))
    parts = PNDE.Weights(model.layout, θ, θ̅)
    u̅ = only(gradient(u -> loss(parts, u), u))
    direction, along = normalize(randn(rng, length(θ))), randn(rng, 2k, 3)
    @test dot(θ̅, direction) ≈ central_fdm(5, 1)(s -> loss(θ .+ s .* direction, u), 0.0) rtol = 1.0e-7
    @test dot(u̅, along) ≈ central_fdm(5, 1)(s -> loss(θ, u .+ s .* along), 0.0) rtol = 1.0e-7
    # As an adjoint equation has it.
    name == "constants" && @test all(gradient(loss, θ, u) .≈ (θ̅, u̅))
end

@testset "slopes of slopes" begin
    for f in (gelu, tanh, softplus), x in (-1.7, 0.2, 2.3)
        @test PNDE.curvature(f, x) ≈ central_fdm(5, 1)(x -> last(PNDE.value_and_slope(f, x)), x) rtol = 1.0e-7
    end
end

@testset "training and forecast of a chain" begin
    model = mechanical(4; law = Rods(), rows = [3, 4], masses = "state", dissipation = "constant")
    θ, u = 0.3 .* randn(rng, length(model.layout)), hanging(2)
    c, at = value(Rods(), u, 0.0), Instant(0.0, nothing, nothing, nothing, nothing)
    found = velocity(model, θ, u, c, at)
    for b in 1:2
        @test found[5:8, b] ≈ by_the_lagrangian(model, θ, u[:, b], at) rtol = 1.0e-10
    end
    points = reshape(u, 8, 1, 2) .+ 0.02 .* reshape(0:3, 1, 4) .* randn(rng, 8, 4, 2)
    batch = Segments(points, c, zeros(2), 0.02 .* (0:3), fill(0.5, 2))
    settings = Settings(; step = 0.02, retract = :step)
    loss, gradient, status, _ = loss_and_gradient(model, θ, batch, settings)
    direction = normalize(randn(rng, length(θ)))
    along(s) = PNDE.batch_loss(model, θ .+ s .* direction, batch, settings)
    @test status == PNDE.OK && loss ≈ along(0.0)
    @test dot(gradient, direction) ≈ central_fdm(5, 1)(along, 0.0) rtol = 1.0e-7
    out = rollout(model, θ, u, repeat(0:0.1:1.0, 1, 2), c, Settings(; rtol = 1.0e-8, atol = 1.0e-8))
    @test all(iszero, out.status)
    @test all(PNDE.is_on_manifold(Rods(), out.u[:, end, :], 0.0, c))
    @test all(PNDE.conditions(model, batch) .> 0.01)
end
