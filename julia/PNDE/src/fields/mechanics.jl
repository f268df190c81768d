# A mechanical system M q̈ = -∇V - A q̇ + F - c, of which networks of the positions give V, and where wanted the masses M,
# the dissipation A = B (L Lᵀ + K - Kᵀ) Bᵀ and the forces F = f(q) w of inputs; c = Ṁ q̇ - ∂T/∂q are the forces of inertia.
# What the networks give is in units in which forces of a usual size are 1: with the spreads s of the positions, κ and Ω,
#
#     M_ij ~ κ/(s_i s_j),    V ~ κ Ω²,    A_ij ~ κ Ω/(k s_i s_j).

"""
    Mechanical(; spread, kappa, omega, settled, masses, forces, rows)

The network gives the potential of a mechanical system of states (q, q̇). The weights say what else is learned, see
[`PartsLayout`](@ref): the networks `potential` `(1,)`, `masses` `(k²,)`, `dissipation` `(k²,)` and `forces` `(k × inputs,)` of
k positions, and the arrays `masses`, `dissipation_factor` and `dissipation_skew`.

# Keywords

  - `spread`, `kappa`, `omega`: s `(k,)`, κ and Ω.
  - `settled`: whether the mean of the masses' logarithms is set to 0, which no motion shows.
  - `masses`: known ones, `(k,)`, `(k, k)` or a [`TracedFunction`](@ref) of the positions; `nothing` if they are learned.
  - `forces`: the sum of all known forces, a [`TracedFunction`](@ref) of the states, or `nothing`.
  - `rows`: which rows of the law tell about velocities.

# References

Lutter, Ritter, Peters (2019), Deep Lagrangian networks; Finzi, Wang, Wilson (2020), Simplifying Hamiltonian and Lagrangian
neural networks via explicit constraints.
"""
struct Mechanical{M, F} <: AbstractForm
    spread::Vector{Float64}
    kappa::Float64
    omega::Float64
    settled::Bool
    masses::M
    forces::F
    rows::Vector{Int}
end
Mechanical(; spread, kappa, omega, settled = true, masses = nothing, forces = nothing, rows = Int[]) =
    Mechanical(Vector{Float64}(spread), Float64(kappa), Float64(omega), Bool(settled), masses, forces, Vector{Int}(rows))

"""
    acting(model, θ, u, at)

The sum of all forces `(k, B)` on states `(2k, B)`, those of inertia included, and W = M⁻¹, an [`InverseMetric`](@ref).
"""
acting(model::Model, θ::AbstractVector, u, at) = acting(model, Weights(model.layout, θ), u, at)

function ChainRulesCore.rrule(::typeof(acting), model::Model, θ::AbstractVector, u, at)
    θ̅ = zero(θ)
    parts = Weights(model.layout, θ, θ̅)
    y, back = Zygote.pullback(u -> acting(model, parts, u, at), u)
    function acting_pullback(cotangents)
        θ̅ .= 0
        u̅ = only(back(map(unthunk, Tuple(unthunk(cotangents)))))
        return NoTangent(), NoTangent(), copy(θ̅), u̅ === nothing ? ZeroTangent() : u̅, NoTangent()
    end
    return y, acting_pullback
end

function acting(model::Model, parts::LearnedParts, u, at)
    (; form) = model
    q, v = halves(u)
    x = of_positions(model, q, at)
    slope = to_positions(model, q, slope_along(model, parts.networks.potential, x, one_of_each(u)))
    force = -cast(form.kappa * form.omega^2, u) .* slope
    if has_array(parts, :dissipation_factor)
        force = force .- dissipated(model, parts, x, v)
    end
    if has_network(parts, :forces)
        force = force .+ driving(model, parts, x, at)
    end
    if form.forces !== nothing
        force = force .+ form.forces(u, at)
    end
    if has_network(parts, :masses)
        force = force .+ inertia(model, parts, q, x, v)
    end
    return force, inverse_masses(model, parts, q, x, at)
end

one_of_each(u) = fill!(similar(u, 1, size(u, 2)), one(eltype(u)))
@non_differentiable one_of_each(::Any)

"What networks see of positions: themselves, normalised, or their sines and cosines; and the parameters."
function of_positions(model, q, at)
    k = size(q, 1)
    x = seen(model.features, q, ignore_derivatives(() -> (model.mean[1:k], model.std[1:k]))...)
    p = ignore_derivatives(() -> parameters_seen(model, at))
    return p === nothing ? x : vcat(x, p)
end
seen(::StateFeatures, q, mean, std) = scaled(q, mean, std)
seen(::AngleFeatures, q, mean, std) = vcat(sin.(q), cos.(q))

function parameters_seen(model, at)
    at isa Instant && at.p !== nothing || return nothing
    range = (length(model.condition_mean) - size(at.p, 1) + 1):length(model.condition_mean)
    return (at.p .- model.condition_mean[range]) ./ model.condition_std[range]
end

"A cotangent of what networks see as one of the positions."
to_positions(model, q, x̅) = unseen(model.features, q, x̅, ignore_derivatives(() -> model.std[1:size(q, 1)]))
unseen(::StateFeatures, q, x̅, std) = times_constant(x̅[1:size(q, 1), :], ignore_derivatives(() -> 1 ./ std))
function unseen(::AngleFeatures, q, x̅, std)
    k = size(q, 1)
    return cos.(q) .* x̅[1:k, :] .- sin.(q) .* x̅[(k + 1):(2k), :]
end

"How what networks see changes with positions along v."
function along_positions(model, q, v, x)
    ẋ = seen_along(model.features, q, v, ignore_derivatives(() -> model.std[1:size(q, 1)]))
    more = ignore_derivatives(() -> zeros_like(x, size(x, 1) - size(ẋ, 1), size(x, 2)))
    return vcat(ẋ, more)
end
seen_along(::StateFeatures, q, v, std) = times_constant(v, ignore_derivatives(() -> 1 ./ std))
seen_along(::AngleFeatures, q, v, std) = vcat(cos.(q) .* v, -sin.(q) .* v)

# Python has arrays row by row, so that here the transpose of each of its matrices is at hand.

"A v of the learned dissipation."
function dissipated(model, parts, x, v)
    (; spread, kappa, omega) = model.form
    unit, factor = ignore_derivatives(() -> (cast(1 ./ spread, v), cast(kappa * omega / length(spread), v)))
    rate = times_constant(v, unit)
    if has_network(parts, :dissipation)
        frame = frame_of(model, parts, x, v)
        rate = apply(frame, rate)
    end
    L, K = parts.arrays.dissipation_factor, parts.arrays.dissipation_skew
    force = back_through(L, through(L, rate)) .+ back_through(K, rate) .- through(K, rate)
    if has_network(parts, :dissipation)
        force = transpose_apply(frame, force)
    end
    return times_constant(force, ignore_derivatives(() -> factor .* unit))
end

"Bᵀ of each state `(k, k, B)`, close to 1."
function frame_of(model, parts, x, v)
    k = size(v, 1)
    unit = ignore_derivatives(() -> cast(reshape(Matrix(1.0I, k, k), k, k, 1), v))
    return reshape(outputs(model, parts.networks.dissipation, x), k, k, :) .+ unit
end

"Forces that are linear in the inputs."
function driving(model, parts, x, at)
    (; spread, kappa, omega) = model.form
    w, unit = ignore_derivatives() do
        inputs = given(at, :w)
        inputs ./ model.condition_std[1:size(inputs, 1)], cast(kappa * omega^2 ./ spread, x)
    end
    per_input = reshape(outputs(model, parts.networks.forces, x), size(w, 1), length(spread), :)
    return times_constant(transpose_apply(per_input, w), unit)
end

"""
The upper triangle U of each state, with M = UᵀU, as the weights `raw` `(k, k, B)` or `(k, k, 1)` give it: logarithms on the
diagonal. `masks` are 1 above the diagonal, and on it.
"""
function mass_factor(form, raw, masks)
    above, on = masks
    return mass_units(form, raw) .* (above .* raw .+ on .* exp.(on .* raw ./ 2))
end

"How U changes with raw, times a number for each of its entries."
function mass_slope(form, raw, masks, by)
    above, on = masks
    return mass_units(form, raw) .* by .* (above .+ on .* exp.(on .* raw ./ 2) ./ 2)
end

mass_units(form, raw) = ignore_derivatives(() -> cast(reshape(sqrt(form.kappa) ./ form.spread, 1, :), raw))
function mass_masks(raw)
    return ignore_derivatives() do
        k = size(raw, 1)
        map(test -> cast(reshape([Float64(test(i, j)) for i in 1:k, j in 1:k], k, k, 1), raw), (<, ==))
    end
end

"-Ṁ v + ∂/∂q of ½ vᵀM v, where the masses depend on the positions."
function inertia(model, parts, q, x, v)
    (; form) = model
    k, network = size(q, 1), parts.networks.masses
    raw = reshape(outputs(model, network, x), k, k, :)
    masks = mass_masks(raw)
    U = mass_factor(form, raw, masks)
    U̇ = mass_slope(form, raw, masks, reshape(change(model, network, x, along_positions(model, q, v, x)), k, k, :))
    momentum = apply(U, v)
    rising = transpose_apply(U̇, momentum) .+ transpose_apply(U, apply(U̇, v))
    r̅aw = mass_slope(form, raw, masks, outer(momentum, v))
    return to_positions(model, q, slope_along(model, network, x, reshape(r̅aw, k^2, :))) .- rising
end

"W = M⁻¹"
function inverse_masses(model, parts, q, x, at)
    (; form) = model
    form.masses === nothing || return known_inverse(form.masses, q, at)
    k = size(q, 1)
    if has_network(parts, :masses)
        raw = reshape(outputs(model, parts.networks.masses, x), k, k, :)
        return inverse_of_square(mass_factor(form, raw, mass_masks(raw)))
    end
    return inverse_of_constants(form, learned(parts.arrays.masses))
end

known_inverse(masses::AbstractVector, q, at) = ignore_derivatives(() -> reshape(1 ./ cast(masses, q), :, 1))
known_inverse(masses::AbstractMatrix, q, at) = ignore_derivatives(() -> reshape(cast(inv(masses), q), size(masses)..., 1))
known_inverse(masses::TracedFunction, q, at) = batched_inverse(masses(q, at))

"W of masses that are the same at all positions, by the logarithms of a diagonal, or a matrix with these on its diagonal."
function inverse_of_constants(form, logarithms::AbstractVector)
    settled = form.settled ? logarithms .- mean(logarithms) : logarithms
    squares = ignore_derivatives(() -> cast(form.spread .^ 2 ./ form.kappa, logarithms))
    return reshape(squares .* exp.(-settled), :, 1)
end

function inverse_of_constants(form, matrix::AbstractMatrix)
    k = size(matrix, 1)
    raw = reshape(matrix, k, k, 1)
    masks = mass_masks(raw)
    on = last(masks)
    settled = form.settled ? raw .- on .* (sum(on .* raw) / k) : raw
    return inverse_of_square(mass_factor(form, settled, masks))
end

"(UᵀU)⁻¹ of upper triangles `(n, n, B)`."
function inverse_of_square(U)
    n, B = size(U, 1), size(U, 3)
    L = permutedims(U, (2, 1, 3))
    columns = map(1:n) do k
        unit = zeros_like(U, n, B)
        unit[k:k, :] .= one(eltype(U))
        reshape(cholesky_solve!(L, unit), n, 1, B)
    end
    return reduce(hcat, columns)
end

function ChainRulesCore.rrule(::typeof(inverse_of_square), U)
    W = inverse_of_square(U)
    function inverse_pullback(cotangent_of_W)
        W̅ = unthunk(cotangent_of_W)
        W̅ isa AbstractZero && return NoTangent(), ZeroTangent()
        M̅ = batched_mul(batched_mul(W, W̅), W)
        return NoTangent(), -batched_mul(U, M̅ .+ permutedims(M̅, (2, 1, 3)))
    end
    return W, inverse_pullback
end

ambient(form::Mechanical, model, θ, u, at) = ((force, W) = acting(model, θ, u, at); vcat(last(halves(u)), weigh(W, force)))

# Gauss's principle: the acceleration that a law allows, nearest to the free one in the metric of the masses. A law of
# velocities holds along a motion with the acceleration a if
#
#     ∂h/∂q̇ a + ∂h/∂q q̇ + ∂h/∂t + (∂h/∂w) ẇ = 0.
#
# The velocity q̇ is that of the state and is not bent. Rows of positions need nothing: their rates are rows too.
function moving(::Mechanical, ::Projected, model, θ, u, c, at)
    force, W = acting(model, θ, u, at)
    G, offset = rates(constraint_jacobian(model.constraint, u, at), model.form.rows, last(halves(u)))
    moved = drift(model.constraint, u, at)
    offset = moved === nothing ? offset : offset .+ moved[model.form.rows, :]
    return vcat(last(halves(u)), project(model.projection, G, weigh(W, force), offset, W))
end

"∂h/∂q̇ of the `rows` of velocities, and ∂h/∂q q̇."
function rates(G, rows, v)
    matrix, k = dense(G)[rows, :, :], size(v, 1)
    return matrix[:, (k + 1):end, :], apply(matrix[:, 1:k, :], v)
end

function rates(G::RodsJacobian, rows, v)
    (; a, b, c, d) = G
    N, B = size(a)
    D = ignore_derivatives(() -> cast([(i == j) - (i == j + 1) for i in 1:N, j in 1:N], a))
    x, y = map(difference, halves(v))
    return hcat(map(part -> reshape(part, N, 1, B) .* D, (a, b))...), c .* x .+ d .* y
end

function projected_rows(::Mechanical, ::Projected, model, u, at)
    G, _ = rates(constraint_jacobian(model.constraint, u, at), model.form.rows, last(halves(u)))
    return G, nothing
end
