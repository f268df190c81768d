"""
    PowerBalance(; size, rows, columns, conductance, susceptance, loads, slack, demand = nothing)

The law of a grid, state [Re v₁ … Re v_N, Im v₁ … Im v_N] (p.u.): the active power injected at each load, the reactive
power of each (paper, Sec. IV C), then Re v and Im v of the slack buses, which a projection on the loads' rows alone would
move. [`ieee14`](@ref) is that of the paper's grid.

# Keywords

  - `size`: number of buses N.
  - `rows`, `columns`, `conductance`, `susceptance`: the entries of the nodal admittance matrix Y, p.u.; injected currents
    are Y v.
  - `loads`, `slack`: positions of these buses. All positions count from 1.
  - `demand`: what an input adds to each row `(m, k)`, of a grid whose loads' demand is an input; else `nothing`.
"""
struct PowerBalance{M <: AbstractMatrix, D <: Union{Nothing, AbstractMatrix}} <: AbstractConstraint
    "The rows of Y that belong to the loads."
    conductance::M
    susceptance::M
    "The rows of the unit matrix that belong to the loads, and to the slack."
    loads::M
    slack::M
    demand::D
end

function PowerBalance(; size, rows, columns, conductance, susceptance, loads, slack, demand = nothing)
    G, B, unit = zeros(size, size), zeros(size, size), Matrix(1.0I, size, size)
    for (i, j, g, b) in zip(rows, columns, conductance, susceptance)
        G[i, j] += g
        B[i, j] += b
    end
    at, pinned = collect(Int, loads), collect(Int, slack)
    return PowerBalance(G[at, :], B[at, :], unit[at, :], unit[pinned, :], demand)
end

function value(law::PowerBalance, u, at)
    real, imag, current_real, current_imag = at_the_loads(law, u)
    active = real .* current_real .+ imag .* current_imag
    reactive = imag .* current_real .- real .* current_imag
    slack = cast(law.slack, u)
    rows = vcat(active, reactive, slack * first(halves(u)), slack * last(halves(u)))
    return law.demand === nothing ? rows : rows .+ demanded(law, u, at, :w)
end

drift(law::PowerBalance, u, at) = law.demand === nothing ? nothing : demanded(law, u, at, :rate)

"What the inputs, or their derivatives, add to the rows."
demanded(law, u, at, name) = ignore_derivatives(() -> cast(law.demand, u) * like(u, given(at, name)))

"With i = Y v and s = v · conj(i): ds = conj(i) dv + v · conj(Y dv) (paper, Appendix I)."
function constraint_jacobian(law::PowerBalance, u, at)
    real, imag, current_real, current_imag = map(each_row, at_the_loads(law, u))
    G, B, E = map(X -> cast(X, u), (law.conductance, law.susceptance, law.loads))
    own_real, own_imag = current_real .* E, current_imag .* E
    parallel, across = real .* G .+ imag .* B, imag .* G .- real .* B
    return vcat(
        hcat(own_real .+ parallel, own_imag .+ across), hcat(across .- own_imag, own_real .- parallel),
        ignore_derivatives(() -> slack_rows(law, u)),
    )
end

function slack_rows(law, u)
    E = cast(law.slack, u)
    return repeat(vcat(hcat(E, zero(E)), hcat(zero(E), E)), 1, 1, size(u, 2))
end

"Voltages at the loads, and the currents injected there."
function at_the_loads(law, u)
    real, imag = halves(u)
    G, B, E = map(X -> cast(X, u), (law.conductance, law.susceptance, law.loads))
    return E * real, E * imag, G * real .- B * imag, B * real .+ G * imag
end

each_row(x) = reshape(x, size(x, 1), 1, size(x, 2))

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
