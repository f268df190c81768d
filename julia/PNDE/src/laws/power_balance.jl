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
"""
struct PowerBalance{M <: AbstractMatrix} <: AbstractConstraint
    "The rows of Y that belong to the loads."
    conductance::M
    susceptance::M
    "The rows of the unit matrix that belong to the loads, and to the slack."
    loads::M
    slack::M
end

function PowerBalance(; size, rows, columns, conductance, susceptance, loads, slack)
    G, B, unit = zeros(size, size), zeros(size, size), Matrix(1.0I, size, size)
    for (i, j, g, b) in zip(rows, columns, conductance, susceptance)
        G[i, j] += g
        B[i, j] += b
    end
    at, pinned = collect(Int, loads), collect(Int, slack)
    return PowerBalance(G[at, :], B[at, :], unit[at, :], unit[pinned, :])
end

function value(law::PowerBalance, u, t)
    real, imag, current_real, current_imag = at_the_loads(law, u)
    active = real .* current_real .+ imag .* current_imag
    reactive = imag .* current_real .- real .* current_imag
    slack = cast(law.slack, u)
    return vcat(active, reactive, slack * first(halves(u)), slack * last(halves(u)))
end

"With i = Y v and s = v · conj(i): ds = conj(i) dv + v · conj(Y dv) (paper, Appendix I)."
function constraint_jacobian(law::PowerBalance, u, t)
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

# Start, end, and series admittance (p.u.) of the branches of the paper's grid: the IEEE 14-bus example of
# PowerDynamics.jl without its taps, shunts and line charging.
const IEEE14_BRANCHES = [
    (1, 2, 4.999131600798035, -15.263086523179553),
    (1, 5, 1.025897454970189, -4.234983682334831),
    (2, 3, 1.1350191923073958, -4.781863151757718),
    (2, 4, 1.686033150614943, -5.115838325872083),
    (2, 5, 1.7011396670944048, -5.193927397969713),
    (3, 4, 1.9859757099255606, -5.0688169775939205),
    (4, 5, 6.840980661495672, -21.578553981691588),
    (4, 7, 0.0, -4.781943381790359),
    (4, 9, 0.0, -1.7979790715236075),
    (5, 6, 0.0, -3.967939052456154),
    (6, 11, 1.9550285631772604, -4.0940743442404415),
    (6, 12, 1.525967440450974, -3.1759639650294003),
    (6, 13, 3.0989274038379877, -6.102755448193116),
    (7, 8, 0.0, -5.676979846721544),
    (7, 9, 0.0, -9.09008271975275),
    (9, 10, 3.902049552447428, -10.365394127060915),
    (9, 14, 1.4240054870199312, -3.0290504569306034),
    (10, 11, 1.8808847537003996, -4.402943749460521),
    (12, 13, 2.4890245868219187, -2.251974626172212),
    (13, 14, 1.1369941578063267, -2.314963475105352),
]

"""
    ieee14()

[`PowerBalance`](@ref) of the paper's 14-bus grid: slack at bus 2, sources at 1, 3, 6 and 8, loads at the others.
"""
function ieee14()
    start, stop, conductance, susceptance = map(i -> getindex.(IEEE14_BRANCHES, i), 1:4)
    return PowerBalance(;
        size = 14, rows = [start; stop; start; stop], columns = [start; stop; stop; start],
        conductance = [conductance; conductance; -conductance; -conductance],
        susceptance = [susceptance; susceptance; -susceptance; -susceptance], loads = [4, 5, 7, 9:14...], slack = [2],
    )
end
