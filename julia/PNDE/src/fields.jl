# The vector fields of NDE, SNDE and PNDE (paper, Eq. 1, 8 and 16).

"How the law enters the vector field."
abstract type AbstractMethod end

"u̇ = f̄(u): the law is not used."
struct NDE <: AbstractMethod end

"u̇ = f̄(u) - γ G† (h(u, t) - c), the stabilised equation of White et al. 2023."
struct SNDE{T} <: AbstractMethod
    gamma::T
end

"u̇ = P f̄(u) - W GᵀS⁻¹ ∂h/∂t, the projected equation."
struct Projected <: AbstractMethod end

"What the network sees of a state."
abstract type AbstractFeatures end

"The normalised state."
struct StateFeatures <: AbstractFeatures end

"Of u = (θ, ω): sin θ, cos θ and the normalised ω (paper, Appendix F.3)."
struct AngleFeatures <: AbstractFeatures end

"""
    Model(; sizes, method, mean, std, ...)

The vector field of an NDE, SNDE or PNDE up to its weights, which are one vector; see [`Layout`](@ref).

# Keywords

  - `sizes`: units of the network from input to output.
  - `activation`: `gelu` (the tanh form, default), `tanh`, `relu` or `softplus`; `skip`: residual connections between the
    hidden layers.
  - `method`: [`NDE`](@ref), [`SNDE`](@ref) or [`Projected`](@ref).
  - `constraint`: the law, an [`AbstractConstraint`](@ref), or `nothing`.
  - `projection`: how the Gram matrix is factored.
  - `mean`, `std`: what the network's inputs are normalised by `(n,)`, in the precision of the model.
  - `order`: 2 if u = (q, q̇) and the network gives accelerations, else 1.
  - `features`: [`StateFeatures`](@ref) or [`AngleFeatures`](@ref).
  - `metric`: M of the inner product vᵀMw: `nothing`, weights `(n,)`, a matrix, or a function of one state giving either.
  - `physics`: known part of the velocity, a function of the states `(n, B)`, or `nothing`.
"""
struct Model{N, L, S, M, C, A, V, F, W, P}
    network::N
    layout::L
    network_state::S
    method::M
    constraint::C
    projection::A
    mean::V
    std::V
    order::Int
    features::F
    metric::W
    physics::P
end

function Model(;
        sizes, method, mean, std, activation = gelu, skip = false, constraint = nothing,
        projection = CholeskyProjection(), order = 1, features = StateFeatures(), metric = nothing, physics = nothing,
    )
    method isa NDE || constraint !== nothing || throw(ArgumentError("$(typeof(method)) needs a constraint"))
    network = multilayer_perceptron(sizes, activation, skip)
    network_state = Lux.initialstates(Random.default_rng(), network)
    return Model(
        network, Layout(sizes), network_state, method, constraint, projection, mean, std, Int(order), features, metric,
        physics,
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

"""
    Layout(sizes)

How the weights lie in one vector: of each layer the matrix `(outputs, inputs)`, column by column, then the bias. This is
`layers.{i}.weight` `(inputs, outputs)` row by row in Python. `layout(θ)` gives them as Lux takes them.
"""
struct Layout{names, N}
    sizes::NTuple{N, Tuple{Int, Int, Int}}  # inputs, outputs, and where the layer starts
end

function Layout(sizes)
    layers = Tuple{Int, Int, Int}[]
    start = 0
    for (inputs, outputs) in zip(sizes[1:(end - 1)], sizes[2:end])
        push!(layers, (inputs, outputs, start))
        start += (inputs + 1) * outputs
    end
    names = ntuple(i -> Symbol(:layer_, i), length(layers))
    return Layout{names, length(layers)}(Tuple(layers))
end

Base.length(layout::Layout) = sum(((inputs, outputs, _),) -> (inputs + 1) * outputs, layout.sizes)

ranges((inputs, outputs, start)) = (start .+ (1:(inputs * outputs)), start + inputs * outputs .+ (1:outputs))

function (layout::Layout{names, N})(θ) where {names, N}
    layers = ntuple(Val(N)) do i
        matrix, bias = ranges(layout.sizes[i])
        (weight = reshape(θ[matrix], layout.sizes[i][2], layout.sizes[i][1]), bias = θ[bias])
    end
    return NamedTuple{names}(layers)
end

# One vector for all layers, where indexing would make one for each.
function ChainRulesCore.rrule(layout::Layout{names}, θ) where {names}
    function layout_pullback(cotangent_of_layers)
        layers = unthunk(cotangent_of_layers)
        θ̅ = zero(θ)
        for (name, size) in zip(names, layout.sizes)
            layer = layers isa AbstractZero ? layers : unthunk(getproperty(layers, name))
            layer isa AbstractZero && continue
            for (range, part) in zip(ranges(size), (unthunk(layer.weight), unthunk(layer.bias)))
                part isa AbstractZero || copyto!(view(θ̅, range), vec(part))
            end
        end
        return NoTangent(), θ̅
    end
    return layout(θ), layout_pullback
end

"""
    ambient_velocity(model, θ, u)

The unconstrained f̄(u) `(n, B)`: the network sees normalised states and gives physical velocities (paper, Appendix F.3).
"""
function ambient_velocity(model::Model, θ, u)
    x = network_input(model.features, u, (u .- model.mean) ./ model.std)
    v = first(Lux.apply(model.network, x, model.layout(θ), model.network_state))
    if model.order == 2
        v = vcat(u[(size(u, 1) ÷ 2 + 1):end, :], v)
    end
    return with_physics(model.physics, v, u)
end

network_input(::StateFeatures, u, normalised) = normalised
function network_input(::AngleFeatures, u, normalised)
    angles = first(halves(u))
    return vcat(sin.(angles), cos.(angles), last(halves(normalised)))
end

with_physics(::Nothing, v, u) = v
with_physics(physics, v, u) = v .+ physics(u)

"""
    velocity(model, θ, u, c, t)

u̇ `(n, B)` of states u with targets c `(m, B)` at times t, a number or `(B,)`.
"""
velocity(model::Model, θ, u, c, t) = constrained(model.method, model, u, ambient_velocity(model, θ, u), c, t)

constrained(::NDE, model, u, v, c, t) = v

function constrained(::Projected, model, u, v, c, t)
    G = constraint_jacobian(model.constraint, u, t)
    return project(model.projection, G, v, drift(model.constraint, u, t), inverse_metric(model.metric, u))
end

function constrained(method::SNDE, model, u, v, c, t)
    G = constraint_jacobian(model.constraint, u, t)
    g = value(model.constraint, u, t) .- c
    return v .- cast(method.gamma, u) .* minimum_norm(model.projection, G, g, inverse_metric(model.metric, u))
end
