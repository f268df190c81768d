# Inequalities lower ≤ h(u, t, w, p) ≤ upper, and what they ask of a velocity.

"""
    States(columns, n)

The rows h(u) = u[columns] of n states.
"""
struct States <: AbstractConstraint
    columns::Vector{Int}
    n::Int
end

value(law::States, u, at) = u[law.columns, :]
constraint_jacobian(law::States, u, at) = ignore_derivatives(() -> Selection(law.columns, law.n))

"""
    Bounds(rows, columns, lower, upper, rates, scale)

m rows of inequalities.

# Arguments

  - `rows`: h, an [`AbstractConstraint`](@ref); those that are states themselves by [`States`](@ref).
  - `columns`: which state each row is `(m,)`, 0 for one that is none.
  - `lower`, `upper`: `(m,)`, infinite where there is no bound.
  - `rates`: α in ∂h/∂u p + ∂h/∂t ≥ -α (h - lower) `(m,)`.
  - `scale`: the size of each row `(m,)`, which deviations are relative to.
"""
struct Bounds{L <: AbstractConstraint}
    rows::L
    columns::Vector{Int}
    lower::Vector{Float64}
    upper::Vector{Float64}
    rates::Vector{Float64}
    scale::Vector{Float64}
end

"""
    limits(bounds, u, at)

lo and hi `(m, B)` of A p: ∂h/∂u p + ∂h/∂t + (∂h/∂w) ẇ ≥ -α (h - lower), and likewise from above.

Nagumo's theorem asks for ḣ ≥ 0 at h = lower alone. With a rate α the bound is felt before, and the field is continuous.

# References

Ames et al. (2019), Control barrier functions: theory and applications.
"""
function limits(bounds::Bounds, u, at)
    h, moved = value(bounds.rows, u, at), drift(bounds.rows, u, at)
    lo, hi = approached(h, map(x -> cast(x, u), (bounds.lower, bounds.upper, bounds.rates))...)
    return moved === nothing ? (lo, hi) : (lo .- moved, hi .- moved)
end

"-α (h - lower) and α (upper - h)."
approached(h, lower, upper, rates) = -rates .* (h .- lower), rates .* (upper .- h)

# Where there is no bound, Zygote would multiply the zero that belongs to it by its infinity.
function ChainRulesCore.rrule(::typeof(approached), h, lower, upper, rates)
    function approached_pullback(cotangents)
        below, above = map(unthunk, unthunk(cotangents))
        sum = below isa AbstractZero ? above : above isa AbstractZero ? below : below .+ above
        return NoTangent(), sum isa AbstractZero ? sum : -rates .* sum, NoTangent(), NoTangent(), NoTangent()
    end
    return approached(h, lower, upper, rates), approached_pullback
end

"The bounds of the states themselves `(n, 1)`, infinite where they have none, of the kind of `u`."
function box(bounds::Bounds, u)
    low, high = fill(-Inf, size(u, 1), 1), fill(Inf, size(u, 1), 1)
    for (column, lower, upper) in zip(bounds.columns, bounds.lower, bounds.upper)
        column == 0 && continue
        low[column], high[column] = max(low[column], lower), min(high[column], upper)
    end
    return cast(low, u), cast(high, u)
end
