# Several networks, and arrays, in one vector of weights, as a mechanical model has them. What is learned there are slopes of
# networks, so passes through them go both ways, layer by layer, and can be differentiated themselves.

"""
    PartsLayout(networks, arrays)

How networks and arrays lie in one vector of weights: of each network its layers, see [`Layout`](@ref), then the arrays. Of a
network `name` the array `name_linear` maps its inputs to its outputs beside the layers.

# Arguments

  - `networks`: the sizes of each, by name; `arrays`: the dimensions of each, by name, in Julia's order.
"""
struct PartsLayout{N <: NamedTuple, A <: NamedTuple}
    networks::N
    "Where each array starts, and its dimensions."
    arrays::A
    length::Int
end

function PartsLayout(networks::NamedTuple, arrays::NamedTuple)
    start = 0
    layouts = map(networks) do sizes
        layout = Layout(sizes, start)
        start += length(layout)
        layout
    end
    places = map(arrays) do size
        place = (start, Dims(size))
        start += prod(size)
        place
    end
    return PartsLayout(layouts, places, start)
end

Base.length(layout::PartsLayout) = layout.length

"An array of weights. Its pullbacks add to its gradient, if it has one, and have no tangent for it."
struct Learned{A}
    value::A
    gradient::Union{A, Nothing}
end

"A network whose every array is [`Learned`](@ref), and the linear map beside it."
struct LearnedNetwork{M, B}
    matrices::Vector{M}
    biases::Vector{B}
    linear::M
end

"Networks and arrays, by name."
struct LearnedParts{N <: NamedTuple, A <: NamedTuple}
    networks::N
    arrays::A
end

Weights(layout::PartsLayout, θ) = learned_parts(layout, θ, nothing)
Weights(layout::PartsLayout, θ, θ̅) = learned_parts(layout, θ, θ̅)

function learned_parts(layout::PartsLayout, θ, θ̅)
    at(start, size) = learned_at(θ, θ̅, start, size)
    arrays = map(place -> at(place...), layout.arrays)
    networks = map(keys(layout.networks), values(layout.networks)) do name, network
        matrices = [at(start, (outputs, inputs)) for (inputs, outputs, start) in network.sizes]
        biases = [at(start + inputs * outputs, (outputs,)) for (inputs, outputs, start) in network.sizes]
        LearnedNetwork(matrices, biases, arrays[Symbol(name, :_linear)])
    end
    return LearnedParts(NamedTuple{keys(layout.networks)}(networks), arrays)
end

function learned_at(θ, θ̅, start, size)
    part(x) = reshape(view(x, start .+ (1:prod(size))), size)
    return Learned(part(θ), θ̅ === nothing ? nothing : part(θ̅))
end

"Whether there is a network, or an array, of that name."
has_network(parts, name) = haskey(parts.networks, name)
has_array(parts, name) = haskey(parts.arrays, name)
@non_differentiable has_network(::Any, ::Any)
@non_differentiable has_array(::Any, ::Any)

matrix_of(network, i) = network.matrices[i]
bias_of(network, i) = network.biases[i]
is_last(network, i) = i == length(network.matrices)
@non_differentiable matrix_of(::Any, ::Any)
@non_differentiable bias_of(::Any, ::Any)
@non_differentiable is_last(::Any, ::Any)

"The array itself."
learned(x::Learned) = x.value
function ChainRulesCore.rrule(::typeof(learned), x::Learned)
    function learned_pullback(cotangent)
        x̅ = unthunk(cotangent)
        x̅ isa AbstractZero || x.gradient === nothing || (x.gradient .+= x̅)
        return NoTangent(), NoTangent()
    end
    return x.value, learned_pullback
end

"A x of a learned matrix A."
through(A::Learned, x) = A.value * x
function ChainRulesCore.rrule(::typeof(through), A::Learned, x)
    function through_pullback(cotangent)
        y̅ = unthunk(cotangent)
        y̅ isa AbstractZero && return NoTangent(), NoTangent(), ZeroTangent()
        A.gradient === nothing || mul!(A.gradient, y̅, transpose(x), true, true)
        return NoTangent(), NoTangent(), transpose(A.value) * y̅
    end
    return A.value * x, through_pullback
end

"Aᵀy of a learned matrix A."
back_through(A::Learned, y) = transpose(A.value) * y
function ChainRulesCore.rrule(::typeof(back_through), A::Learned, y)
    function back_through_pullback(cotangent)
        x̅ = unthunk(cotangent)
        x̅ isa AbstractZero && return NoTangent(), NoTangent(), ZeroTangent()
        A.gradient === nothing || mul!(A.gradient, y, transpose(x̅), true, true)
        return NoTangent(), NoTangent(), A.value * x̅
    end
    return transpose(A.value) * y, back_through_pullback
end

"f and f' of numbers z."
function with_slope(f::F, z) where {F}
    return first.(value_and_slope.(f, z)), last.(value_and_slope.(f, z))
end

function with_slope(f::F, z::Matrix) where {F}
    y, slope = similar(z), similar(z)
    @inbounds @simd for i in eachindex(z)
        y[i], slope[i] = value_and_slope(f, z[i])
    end
    return y, slope
end

function ChainRulesCore.rrule(::typeof(with_slope), f, z)
    y, slope = with_slope(f, z)
    function with_slope_pullback(cotangents)
        y̅, s̅ = map(unthunk, unthunk(cotangents))
        z̅ = y̅ isa AbstractZero ? zero(z) : y̅ .* slope
        s̅ isa AbstractZero || (z̅ .+= s̅ .* curvature.(f, z))
        return NoTangent(), NoTangent(), z̅
    end
    return (y, slope), with_slope_pullback
end

"f'' of an activation function."
@inline function curvature(::typeof(gelu), x)
    λ, α, half = oftype(x, √(2 / π)), oftype(x, 0.044715), oftype(x, 0.5)
    t = tanh_fast(λ * x * (1 + α * x^2))
    slope, bend = λ * (1 + 3α * x^2), 6λ * α * x
    return (1 - t^2) * (slope + half * x * (bend - 2t * slope^2))
end
curvature(::typeof(tanh), x) = (t = tanh_fast(x); -2t * (1 - t^2))
curvature(::typeof(relu), x) = zero(x)
curvature(::typeof(softplus), x) = (s = sigmoid(x); s * (1 - s))

"What a network gives for inputs x, both `(size, B)`."
outputs(model, network::LearnedNetwork, x) = deeper(model, network, 1, x) .+ through(network.linear, x)

function deeper(model, network, i, x)
    z = through(matrix_of(network, i), x) .+ learned(bias_of(network, i))
    is_last(network, i) && return z
    y, _ = with_slope(model.activation, z)
    return deeper(model, network, i + 1, skips(model, i) ? y .+ x : y)
end

"How what a network gives for inputs x changes along ẋ."
change(model, network::LearnedNetwork, x, ẋ) = deeper_change(model, network, 1, x, ẋ) .+ through(network.linear, ẋ)

function deeper_change(model, network, i, x, ẋ)
    A = matrix_of(network, i)
    is_last(network, i) && return through(A, ẋ)
    y, slope = with_slope(model.activation, through(A, x) .+ learned(bias_of(network, i)))
    ẏ = slope .* through(A, ẋ)
    return skips(model, i) ? deeper_change(model, network, i + 1, y .+ x, ẏ .+ ẋ) : deeper_change(model, network, i + 1, y, ẏ)
end

"The cotangent of a network's inputs x that belongs to that of its outputs."
slope_along(model, network::LearnedNetwork, x, y̅) = deeper_slope(model, network, 1, x, y̅) .+ back_through(network.linear, y̅)

function deeper_slope(model, network, i, x, y̅)
    A = matrix_of(network, i)
    is_last(network, i) && return back_through(A, y̅)
    y, slope = with_slope(model.activation, through(A, x) .+ learned(bias_of(network, i)))
    later = deeper_slope(model, network, i + 1, skips(model, i) ? y .+ x : y, y̅)
    x̅ = back_through(A, later .* slope)
    return skips(model, i) ? x̅ .+ later : x̅
end
