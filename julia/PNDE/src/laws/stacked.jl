"""
    Stacked(laws...)

Several laws at once, the rows of each below those of the one before.
"""
struct Stacked{L <: Tuple} <: AbstractConstraint
    laws::L
end
Stacked(laws::AbstractConstraint...) = Stacked(laws)

value(law::Stacked, u, at) = reduce(vcat, map(part -> value(part, u, at), law.laws))

function constraint_jacobian(law::Stacked, u, at)
    return reduce(vcat, map(part -> dense_rows(constraint_jacobian(part, u, at), u), law.laws))
end

function drift(law::Stacked, u, at)
    parts = map(part -> drift(part, u, at), law.laws)
    all(isnothing, parts) && return nothing
    return reduce(vcat, map((part, d) -> d === nothing ? zero(value(part, u, at)) : d, law.laws, parts))
end

indomain(law::Stacked, u) = reduce((a, b) -> a .& b, map(part -> indomain(part, u), law.laws))

dense_rows(G, u) = for_each_state(dense(G), u)
dense_rows(G::Selection, u) = for_each_state(cast(dense(G), u), u)

"G `(m, n, B)` of a G that all states share."
for_each_state(G, u) = size(G, 3) == size(u, 2) ? G : repeat(G, 1, 1, size(u, 2))
