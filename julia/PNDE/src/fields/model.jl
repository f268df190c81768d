# The vector fields of NDE, SNDE and PNDE (paper, Eq. 1, 8 and 16).

"How the law enters the vector field."
abstract type AbstractMethod end

"u̇ = f̄(u): the law is not used."
struct NDE <: AbstractMethod end

"u̇ = f̄(u) - γ G† (h - c), the stabilised equation of White et al. 2023."
struct SNDE{T} <: AbstractMethod
    gamma::T
end

"u̇ = P f̄(u) - W GᵀS⁻¹ (∂h/∂t + (∂h/∂w) ẇ), the projected equation."
struct Projected <: AbstractMethod end

"What the network sees of a state."
abstract type AbstractFeatures end

"The normalised state."
struct StateFeatures <: AbstractFeatures end

"Of u = (θ, ω): sin θ, cos θ and the normalised ω (paper, Appendix F.3)."
struct AngleFeatures <: AbstractFeatures end

"""
    OfInstant(f, takes)

Physics that depends on more than the states: f of the states `(n, B)`, and then by position of what `takes` names: `:t`, the
time `(1, B)` or `(1, 1)`, `:w`, the inputs `(k, B)`, and `:p`, the parameters `(r, B)`.
"""
struct OfInstant{F, K}
    f::F
    takes::NTuple{K, Symbol}
end

"What the network's outputs are."
abstract type AbstractForm end

"Velocities, or accelerations."
struct VelocityForm <: AbstractForm end

"""
    SkewGradient(n)

The entries of A = -Aᵀ `(n, n)` above its diagonal, row by row; u̇ = A ∇h along the only row h of the law, and with the `speed`
d of a [`Model`](@ref) `(n,)` A_ij = a_ij d_i d_j. Any velocity along h = const is of this form where ∇h is not 0.

# References

McLachlan, Quispel and Robidoux (1999), Geometric integration using discrete gradients, Sec. 2.
"""
struct SkewGradient <: AbstractForm
    "Which state is the first, and which the second, of each pair `(pairs, n)`; and the transposes of both."
    first::Matrix{Float64}
    second::Matrix{Float64}
    to_first::Matrix{Float64}
    to_second::Matrix{Float64}
end

function SkewGradient(n::Integer)
    pairs = [(i, j) for i in 1:n for j in (i + 1):n]
    units(k) = [Float64(pair[k] == state) for pair in pairs, state in 1:n]
    return SkewGradient(units(1), units(2), permutedims(units(1)), permutedims(units(2)))
end

"""
    Model(; sizes, method, mean, std, ...)

The vector field of an NDE, SNDE or PNDE up to its weights, which are one vector; see [`Layout`](@ref).

# Keywords

  - `sizes`: units of the network from input to output.
  - `activation`: `gelu` (the tanh form, default), `tanh`, `relu` or `softplus`; `skip`: residual connections between the
    hidden layers.
  - `method`: [`NDE`](@ref), [`SNDE`](@ref) or [`Projected`](@ref).
  - `constraint`: the law, an [`AbstractConstraint`](@ref), or `nothing`.
  - `bounds`: the inequalities that a [`Projected`](@ref) model keeps too, [`Bounds`](@ref), or `nothing`.
  - `projection`: how the Gram matrix is factored.
  - `mean`, `std`: what the network's inputs are normalised by `(n,)`, in the precision of the model. The absolute tolerance
    of a solve is relative to `std`.
  - `speed`: what the network's outputs are multiplied by, one for each, or `nothing` for outputs that are velocities.
  - `form`: what these outputs are, a [`VelocityForm`](@ref), a [`SkewGradient`](@ref), or of a [`Mechanical`](@ref) one, with a
    [`PartsLayout`](@ref) as its `layout`, a potential.
  - `order`: 2 if u = (q, q̇) and the network gives accelerations, else 1.
  - `features`: [`StateFeatures`](@ref) or [`AngleFeatures`](@ref).
  - `metric`: M of the inner product vᵀMw: `nothing`, weights `(n,)`, a matrix, or a function of one state giving either.
  - `physics`: known part of the velocity, a function of the states `(n, B)`, an [`OfInstant`](@ref), or `nothing`.
  - `condition_mean`, `condition_std`: what inputs and parameters, which the network sees behind the state, are normalised by
    `(k + r,)`; `nothing` without.
"""
struct Model{H, M, C, Q, A, V, O, R, F, W, P, I}
    # Their types name the depth of the network, for which nothing need be compiled anew.
    network::Any
    layout::Any
    network_state::Any
    activation::H
    skip::Bool
    method::M
    constraint::C
    bounds::Q
    projection::A
    mean::V
    std::V
    speed::O
    form::R
    order::Int
    features::F
    metric::W
    physics::P
    condition_mean::I
    condition_std::I
end

function Model(;
        sizes, method, mean, std, activation = gelu, skip = false, constraint = nothing, bounds = nothing,
        projection = CholeskyProjection(), speed = nothing, form = VelocityForm(), order = 1, features = StateFeatures(), metric = nothing,
        physics = nothing, condition_mean = nothing, condition_std = nothing, layout = Layout(sizes),
    )
    known = constraint !== nothing || (method isa Projected && bounds !== nothing)
    method isa NDE || known || throw(ArgumentError("$(typeof(method)) needs a constraint"))
    form isa SkewGradient && constraint === nothing && throw(ArgumentError("a skew gradient needs a constraint"))
    network = multilayer_perceptron(sizes, activation, skip)
    network_state = Lux.initialstates(Random.default_rng(), network)
    return Model(
        network, layout, network_state, activation, skip, method, constraint, bounds, projection, mean, std, speed, form, Int(order), features,
        metric, physics, condition_mean, condition_std,
    )
end

"A Lux network: dense layers, with skip from the second hidden one on."
function multilayer_perceptron(sizes, activation, skip)
    layers = map(eachindex(sizes)[1:(end - 1)]) do i
        last = i == length(sizes) - 1
        layer = Lux.Dense(sizes[i] => sizes[i + 1], last ? identity : activation)
        skip && 1 < i && !last ? Lux.SkipConnection(layer, +) : layer
    end
    return Lux.Chain(layers...)
end
