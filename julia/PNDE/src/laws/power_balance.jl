"""
    PowerBalance(; size, rows, columns, conductance, susceptance, loads, slack)

The law of a grid, state [Re v₁ … Re v_N, Im v₁ … Im v_N] (p.u.): the active power injected at each load, the reactive
power of each (paper, Sec. IV C), then Re v and Im v of the slack buses, which a projection on the loads' rows alone would
move. [`ieee14`](@ref) is that of the paper's grid.

# Keywords

  - `size`: number of buses N.
  - `rows`, `columns`, `conductance`, `susceptance`: the entries of the nodal admittance matrix Y, p.u.; injected currents
    are Y v.
  - `loads`, `slack`: positions of these buses. All positions count from 1.
  - `demand`: what an input adds to each row `(m, k)`, of a grid whose loads' demand is an input; else `nothing`.
  - `along_branches`: whether sums go over the branches and G is a [`SparseJacobian`](@ref); by default for many buses.
"""
struct PowerBalance{M <: AbstractMatrix, E, D <: Union{Nothing, AbstractMatrix}} <: AbstractConstraint
    "The rows of Y that belong to the loads."
    conductance::M
    susceptance::M
    "The rows of the unit matrix that belong to the loads, and to the slack."
    loads::M
    slack::M
    demand::D
    "The entries of a sparse G, which are linear in the state, or `nothing`."
    entries::E
end

"Up to this many buses a dense G is faster."
const DENSE_BUSES = 50

function PowerBalance(;
        size, rows, columns, conductance, susceptance, loads, slack, demand = nothing, along_branches = size > DENSE_BUSES,
    )
    at, pinned = collect(Int, loads), collect(Int, slack)
    G, B = (sparse(rows, columns, collect(Float64, values), size, size) for values in (conductance, susceptance))
    unit = sparse(1.0I, size, size)
    parts = G[at, :], B[at, :], unit[at, :], unit[pinned, :]
    along_branches || return PowerBalance(map(Matrix, parts)..., demand, nothing)
    rows = 2 * (length(at) + length(pinned))
    return PowerBalance(parts..., demand, linear_entries(power_entries(G, B, at, pinned), rows, 2 * size))
end

function value(law::PowerBalance, u, at)
    real, imag, current_real, current_imag = at_the_loads(law, u)
    active = real .* current_real .+ imag .* current_imag
    reactive = imag .* current_real .- real .* current_imag
    rows = vcat(active, reactive, map(half -> product(law.slack, half), halves(u))...)
    return law.demand === nothing ? rows : rows .+ demanded(law, u, at, :w)
end

drift(law::PowerBalance, u, at) = law.demand === nothing ? nothing : demanded(law, u, at, :rate)

"What the inputs, or their derivatives, add to the rows."
demanded(law, u, at, name) = ignore_derivatives(() -> cast(law.demand, u) * like(u, given(at, name)))

"With i = Y v and s = v · conj(i): ds = conj(i) dv + v · conj(Y dv) (paper, Appendix I)."
function constraint_jacobian(law::PowerBalance{<:AbstractMatrix, Nothing}, u, at)
    real, imag, current_real, current_imag = map(each_row, at_the_loads(law, u))
    G, B, E = map(X -> cast(X, u), (law.conductance, law.susceptance, law.loads))
    own_real, own_imag = current_real .* E, current_imag .* E
    parallel, across = real .* G .+ imag .* B, imag .* G .- real .* B
    return vcat(
        hcat(own_real .+ parallel, own_imag .+ across), hcat(across .- own_imag, own_real .- parallel),
        ignore_derivatives(() -> slack_rows(law, u)),
    )
end

constraint_jacobian(law::PowerBalance, u, at) = SparseJacobian(law.entries.pattern, entries_of(law.entries, u))

function slack_rows(law, u)
    E = cast(law.slack, u)
    return repeat(vcat(hcat(E, zero(E)), hcat(zero(E), E)), 1, 1, size(u, 2))
end

"Voltages at the loads, and the currents injected there."
function at_the_loads(law, u)
    real, imag = halves(u)
    (; conductance, susceptance, loads) = law
    return product(loads, real), product(loads, imag), product(conductance, real) .- product(susceptance, imag),
        product(susceptance, real) .+ product(conductance, imag)
end

each_row(x) = reshape(x, size(x, 1), 1, size(x, 2))

"""
The entries of G as parts `(row, column, state, factor)`, an entry being the sum of factor times state over its parts; for the
state 0, of the factor alone.
"""
function power_entries(G, B, loads, slack)
    N, L, parts = size(G, 1), length(loads), Tuple{Int, Int, Int, Float64}[]
    neighbours = SparseMatrixCSC(transpose(abs.(G) .+ abs.(B)))
    for (row, j) in enumerate(loads), k in union(j, rowvals(neighbours)[nzrange(neighbours, j)])
        g, b = G[j, k], B[j, k]
        # The column in the row of P and in that of Q, and the sign of the latter.
        for (of_p, of_q, sign, state, factor) in (
                # v · conj(Y dv)
                (k, k + N, -1, j, g), (k, k + N, -1, j + N, b), (k + N, k, 1, j + N, g), (k + N, k, 1, j, -b),
                # conj(i) dv
                (j, j + N, 1, k, g), (j, j + N, 1, k + N, -b), (j + N, j, -1, k, b), (j + N, j, -1, k + N, g),
            )
            push!(parts, (row, of_p, state, factor), (row + L, of_q, state, sign * factor))
        end
    end
    append!(parts, [(2L + row, column, 0, 1.0) for (row, column) in enumerate([slack; slack .+ N])])
    return parts
end

"The entries of a sparse G that are linear in the state: slope times state, and a constant."
struct LinearEntries
    pattern::Pattern
    slope::SparseMatrixCSC{Float64, Int}
    constant::Vector{Float64}
end

"The entries of G `(m, n)` from their parts; see [`power_entries`](@ref)."
function linear_entries(parts, m, n)
    rows, columns, states, factors = (getindex.(parts, k) for k in 1:4)
    pattern = sparse(rows, columns, true, m, n)
    number = SparseMatrixCSC(m, n, pattern.colptr, rowvals(pattern), collect(1:nnz(pattern)))
    at, moving, constant = [number[i, j] for (i, j) in zip(rows, columns)], states .> 0, zeros(nnz(pattern))
    constant[at[.!moving]] = factors[.!moving]
    return LinearEntries(Pattern(pattern), sparse(at[moving], states[moving], factors[moving], nnz(pattern), n), constant)
end

entries_of(entries::LinearEntries, u) = product(entries.slope, u) .+ cast(entries.constant, u)

"""
    product(A, x)

A x of constants A `(k, n)`, dense or sparse, and states x `(n, B)`. Sparse ones are multiplied on the host.
"""
product(A::Matrix, x) = cast(A, x) * x
product(A::SparseMatrixCSC, x) = beside(x, A * on_host(x))

transposed_product(A::Matrix, y) = transpose(cast(A, y)) * y
transposed_product(A::SparseMatrixCSC, y) = beside(y, transpose(A) * on_host(y))

# Zygote would multiply out the derivative by the constants too.
function ChainRulesCore.rrule(::typeof(product), A, x)
    product_pullback(y̅) = (NoTangent(), NoTangent(), transposed_product(A, unthunk(y̅)))
    return product(A, x), product_pullback
end

# Read when the package is compiled; the Python package reads the same file.
const IEEE14_FILE = joinpath(@__DIR__, "..", "..", "data", "ieee14.toml")
include_dependency(IEEE14_FILE)
const IEEE14 = TOML.parsefile(IEEE14_FILE)

"""
    ieee14(; options...)

[`PowerBalance`](@ref) of the paper's 14-bus grid: slack at bus 2, sources at 1, 3, 6 and 8, loads at the others.
"""
function ieee14(; options...)
    start, stop, conductance, susceptance = map(i -> identity.(getindex.(IEEE14["branches"], i)), 1:4)
    of_kind(kind) = Int[number for (number, k) in IEEE14["buses"] if k == kind]
    return PowerBalance(;
        size = length(IEEE14["buses"]), rows = [start; stop; start; stop], columns = [start; stop; stop; start],
        conductance = [conductance; conductance; -conductance; -conductance],
        susceptance = [susceptance; susceptance; -susceptance; -susceptance], loads = of_kind("load"), slack = of_kind("slack"),
        options...,
    )
end
