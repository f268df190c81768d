"""
    Layout(sizes, [start])

How the weights lie in one vector, behind the first `start`: of each layer the matrix `(outputs, inputs)`, column by column, then
the bias. This is `layers.{i}.weight` `(inputs, outputs)` row by row in Python. `layout(θ)` gives them as Lux takes them.
"""
struct Layout{names, N}
    sizes::NTuple{N, Tuple{Int, Int, Int}}  # inputs, outputs, and where the layer starts
end

function Layout(sizes, start = 0)
    layers = Tuple{Int, Int, Int}[]
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
