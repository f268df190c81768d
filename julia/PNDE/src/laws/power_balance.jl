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
struct PowerBalance{M <: AbstractMatrix, D <: Union{Nothing, AbstractMatrix}, E} <: AbstractConstraint
    "The rows of Y that belong to the loads."
    conductance::M
    susceptance::M
    "The rows of the unit matrix that belong to the loads, and to the slack."
    loads::M
    slack::M
    demand::D
    "The entries of G, which are linear in the state."
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
    entries = linear_entries(power_entries(G, B, at, pinned), 2 * (length(at) + length(pinned)), 2 * size, along_branches)
    return PowerBalance((along_branches ? parts : map(Matrix, parts))..., demand, entries)
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

constraint_jacobian(law::PowerBalance, u, at) = jacobian_of(law.entries.pattern, entries_of(law.entries, u))

"Voltages at the loads, and the currents injected there."
function at_the_loads(law, u)
    real, imag = halves(u)
    (; conductance, susceptance, loads) = law
    return product(loads, real), product(loads, imag), product(conductance, real) .- product(susceptance, imag),
        product(susceptance, real) .+ product(conductance, imag)
end

"""
With i = Y v and s = v · conj(i): ds = conj(i) dv + v · conj(Y dv) (paper, Appendix I).

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

"The entries of G that are linear in the state: slope times state, and a constant."
struct LinearEntries{P, M <: AbstractMatrix}
    "Where they are: a [`Pattern`](@ref), or, of a dense G, [`Places`](@ref)."
    pattern::P
    slope::M
    constant::Vector{Float64}
end

"Places in a dense matrix of a `size`, counted down its columns; what is elsewhere is 0."
struct Places
    size::NTuple{2, Int}
    at::Vector{Int}
end

"The entries of G `(m, n)`, dense or along the branches, from their parts; see [`power_entries`](@ref)."
function linear_entries(parts, m, n, along_branches)
    rows, columns, states, factors = (getindex.(parts, k) for k in 1:4)
    pattern = sparse(rows, columns, true, m, n)
    number = SparseMatrixCSC(m, n, pattern.colptr, rowvals(pattern), collect(1:nnz(pattern)))
    at, moving, constant = [number[i, j] for (i, j) in zip(rows, columns)], states .> 0, zeros(nnz(pattern))
    constant[at[.!moving]] = factors[.!moving]
    slope = sparse(at[moving], states[moving], factors[moving], nnz(pattern), n)
    along_branches && return LinearEntries(Pattern(pattern), slope, constant)
    return LinearEntries(Places((m, n), LinearIndices((m, n))[findall(pattern)]), Matrix(slope), constant)
end

entries_of(entries::LinearEntries, u) = product(entries.slope, u) .+ cast(entries.constant, u)

# Zygote would sum up the derivative by the constant too.
function ChainRulesCore.rrule(::typeof(entries_of), entries::LinearEntries, u)
    entries_pullback(y̅) = (NoTangent(), NoTangent(), transposed_product(entries.slope, unthunk(y̅)))
    return entries_of(entries, u), entries_pullback
end

"G with its entries `(entries, B)` where a pattern has them."
jacobian_of(pattern::Pattern, values) = SparseJacobian(pattern, values)
function jacobian_of(places::Places, values)
    G = zeros_like(values, prod(places.size), size(values, 2))
    G[places.at, :] = values
    return reshape(G, places.size..., :)
end

function ChainRulesCore.rrule(::typeof(jacobian_of), places::Places, values)
    function jacobian_pullback(cotangent_of_G)
        G̅ = unthunk(cotangent_of_G)
        G̅ isa AbstractZero && return NoTangent(), NoTangent(), ZeroTangent()
        return NoTangent(), NoTangent(), reshape(G̅, prod(places.size), :)[places.at, :]
    end
    return jacobian_of(places, values), jacobian_pullback
end

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
