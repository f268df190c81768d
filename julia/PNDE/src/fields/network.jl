# The network as training and forecasts evaluate it: Lux's, without copies of the weights, with a pullback that adds to one
# gradient in place. A solve evaluates it dozens of times, and the paper's networks have ten million weights.

"""
The matrices `(outputs, inputs)` and biases of the layers, as views of one vector; see [`Layout`](@ref).
"""
struct Layers{M, V}
    matrices::Vector{M}
    biases::Vector{V}
end

function Layers(layout::Layout, θ)
    parts = map(collect(layout.sizes)) do size
        matrix, bias = ranges(size)
        reshape(view(θ, matrix), size[2], size[1]), view(θ, bias)
    end
    return Layers(map(first, parts), map(last, parts))
end

"""
    Weights(layout, θ, [θ̅])

The weights of a network where it is evaluated many times. Each pullback through the network adds to `θ̅`, if that is given,
and has no tangent for the weights.
"""
struct Weights{L <: Layers}
    layers::L
    gradient::Union{L, Nothing}
end
Weights(layout::Layout, θ) = Weights(Layers(layout, θ), nothing)
Weights(layout::Layout, θ, θ̅) = Weights(Layers(layout, θ), Layers(layout, θ̅))

"""
    network_output(model, θ, x)

What the network gives for inputs x, both `(size, B)`, with weights in a vector or as [`Weights`](@ref).
"""
network_output(model, θ::AbstractVector, x) = first(Lux.apply(model.network, x, model.layout(θ), model.network_state))

function network_output(model, weights::Weights, x)
    (; matrices, biases) = weights.layers
    for i in 1:(length(matrices) - 1)
        z = matrices[i] * x
        z .= first.(value_and_slope.(model.activation, z .+ biases[i]))
        x = skips(model, i) ? (z .+= x) : z
    end
    return (last(matrices) * x) .+ last(biases)
end

"Whether the input of hidden layer i is added to its output."
skips(model, i) = model.skip && i > 1

function ChainRulesCore.rrule(::typeof(network_output), model, weights::Weights, x)
    (; layers, gradient) = weights
    (; matrices, biases) = layers
    last_layer = length(matrices)
    inputs, slopes = [x], typeof(x)[]
    for i in 1:(last_layer - 1)
        y, slope = activated(model.activation, matrices[i] * inputs[i], biases[i])
        push!(inputs, skips(model, i) ? (y .+= inputs[i]) : y)
        push!(slopes, slope)
    end
    function network_pullback(cotangent_of_output)
        z̅ = y̅ = unthunk(cotangent_of_output)
        z̅ isa AbstractZero && return ntuple(Returns(ZeroTangent()), 4)
        for i in last_layer:-1:1
            z̅ = i == last_layer ? y̅ : y̅ .* slopes[i]
            if gradient !== nothing
                mul!(gradient.matrices[i], z̅, transpose(inputs[i]), true, true)
                gradient.biases[i] .+= vec(sum(z̅; dims = 2))
            end
            x̅ = transpose(matrices[i]) * z̅
            y̅ = i < last_layer && skips(model, i) ? (x̅ .+= y̅) : x̅
        end
        return NoTangent(), NoTangent(), NoTangent(), y̅
    end
    return (matrices[end] * inputs[end]) .+ biases[end], network_pullback
end

# Julia makes a method for each f only where its type is a parameter.
"f(z .+ b), which may take the place of z, and its derivative there."
function activated(f::F, z, b) where {F}
    slope = last.(value_and_slope.(f, z .+ b))
    z .= first.(value_and_slope.(f, z .+ b))
    return z, slope
end

function activated(f::F, z::Matrix, b) where {F}
    slope = similar(z)
    @inbounds for j in axes(z, 2)
        @simd for i in axes(z, 1)
            z[i, j], slope[i, j] = value_and_slope(f, z[i, j] + b[i])
        end
    end
    return z, slope
end

"""
    value_and_slope(f, x)

f(x) and f'(x) of an activation function, which share most of their work. Only where they are inlined does a loop over them
become one of whole vectors of numbers, eight times as fast.
"""
@inline function value_and_slope(::typeof(gelu), x)
    λ, α, half = oftype(x, √(2 / π)), oftype(x, 0.044715), oftype(x, 0.5)
    squared = α * x^2
    t = tanh_fast(λ * x * (1 + squared))
    return half * x * (1 + t), half * (1 + t) + half * x * (1 - t^2) * λ * (1 + 3squared)
end
@inline value_and_slope(::typeof(tanh), x) = (t = tanh_fast(x); (t, 1 - t^2))
@inline value_and_slope(::typeof(relu), x) = (max(x, zero(x)), ifelse(x > 0, one(x), zero(x)))
@inline value_and_slope(::typeof(softplus), x) = (softplus(x), sigmoid(x))
